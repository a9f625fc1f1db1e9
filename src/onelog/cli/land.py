"""onelog land: a topic becomes a table, every record a row, unchanged. What it does is in flows.py."""

import argparse

from onelog.cli.output import needs_extra
from onelog.cli.pipeline import add_running


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("topic", metavar="TOPIC", help="the topic to land")
    parser.add_argument(
        "--to", metavar="PATH", required=True, help="the folder of the table; made if need be"
    )
    add_running(parser)


def run(args: argparse.Namespace) -> int:
    """Land the topic."""
    needs_extra("spark", "pyspark", "pyarrow", "deltalake")
    from onelog.cli.flows import run_landing  # here, because it loads Spark

    return run_landing(args)
