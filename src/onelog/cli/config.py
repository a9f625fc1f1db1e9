"""`onelog config`: every setting as it stands, and who said so."""

import argparse
import os

from onelog.cli.output import CommandFailed, json_line, table
from onelog.config import ConfigError, load


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--config", metavar="FILE", help="settings as TOML")
    parser.add_argument("--json", action="store_true", help="a line of JSON for each setting")


def run(args: argparse.Namespace) -> int:
    """Print all settings."""
    try:
        values = load(args.config, environ=os.environ).values
    except ConfigError as error:
        raise CommandFailed(str(error)) from error
    if args.json:
        for v in values:
            print(
                json_line(
                    {
                        "setting": v.name,
                        "value": v.value,
                        "default": v.default,
                        "unit": v.unit,
                        "from": v.source,
                        "variable": v.variable,
                        "help": v.help,
                    }
                )
            )
    else:
        rows = [[v.name, _shown(v.value), _shown(v.default), v.unit, v.source, v.help] for v in values]
        print(table(rows, header=["setting", "value", "default", "unit", "from", "what it is"]))
    return 0


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if value != "" else "-"
