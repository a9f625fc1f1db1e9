"""The command `onelog`: finds the command asked for, imports that one alone, and runs it.

Each cli/<command>.py offers add(parser), which declares its arguments, and run(args), which
returns the exit code. What ends a command early becomes an exit code here: 1 with one line
on stderr, 2 for wrong usage, 130 for Ctrl-C, 141 when the reader of our output has gone.
"""

import argparse
import difflib
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, cast

from onelog.cli.output import CommandFailed
from onelog.client.address import DEFAULT_BOOTSTRAP, DEFAULT_BOOTSTRAPS
from onelog.client.errors import ClientError
from onelog.errors import OnelogError

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130
EXIT_READER_GONE = 141


class Command(NamedTuple):
    """A command: the module that has it, and what it does in one line."""

    module: str
    help: str


class CommandModule(Protocol):
    """What a module of a command offers."""

    def add(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""
        ...

    def run(self, args: argparse.Namespace) -> int:
        """Do it; the exit code."""
        ...


COMMANDS: Mapping[str, Command] = {
    "serve": Command("onelog.cli.serve", "run the broker"),
    "topics": Command("onelog.cli.topics", "list, create, describe, alter and delete topics"),
    "produce": Command("onelog.cli.produce", "write records from lines, a file or arguments to a topic"),
    "consume": Command("onelog.cli.consume", "print the records of a topic"),
    "groups": Command("onelog.cli.groups", "list, describe, reset and delete groups, with their lag"),
    "pipeline": Command("onelog.cli.pipeline", "run the flows of a pipeline.toml on Spark"),
    "land": Command("onelog.cli.land", "land a topic as a table"),
    "audit": Command("onelog.cli.audit", "compare a landed table with the log"),
    "config": Command("onelog.cli.config", "show every setting: value, default, unit, where it came from"),
    "inspect": Command("onelog.cli.inspect", "show what is in a file of the data directory"),
    "verify": Command("onelog.cli.verify", "check a data directory"),
    "doctor": Command("onelog.cli.doctor", "tell what of this machine onelog uses, and what it lacks"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        return _run(words)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else EXIT_OK
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _forget_output()
        return EXIT_READER_GONE
    except ClientError as error:
        return _failed(f"{error} {_advice(error)}")
    except (CommandFailed, OnelogError) as error:
        return _failed(str(error))
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _failed(f"{where}{error.strerror or error}.")


def parser_of(name: str) -> argparse.ArgumentParser:
    """The parser of one command; imports its module."""
    # No abbreviations: a script that says --form today would mean something else tomorrow.
    parser = argparse.ArgumentParser(
        prog=f"onelog {name}", description=_sentence(COMMANDS[name].help), allow_abbrev=False
    )
    _module(name).add(parser)
    return parser


def _run(words: list[str]) -> int:
    if words and words[0] in COMMANDS:
        args = parser_of(words[0]).parse_args(words[1:])
        code = _module(words[0]).run(args)
        # Here, not at the interpreter's end: a reader that has gone is met where it is handled.
        sys.stdout.flush()
        return code
    return _no_command(words)


def _no_command(words: list[str]) -> int:
    parser = _top_parser()
    parser.parse_args(words[:1])
    if not words:
        parser.print_help(sys.stderr)
        return EXIT_USAGE
    close = difflib.get_close_matches(words[0], COMMANDS, n=1)
    hint = f"did you mean {close[0]!r}?" if close else "see onelog --help"
    print(f"onelog: there is no command {words[0]!r}; {hint}", file=sys.stderr)
    return EXIT_USAGE


def _module(name: str) -> CommandModule:
    return cast("CommandModule", importlib.import_module(COMMANDS[name].module))


def _top_parser() -> argparse.ArgumentParser:
    width = max(map(len, COMMANDS))
    lines = "\n".join(f"  {name:{width}}  {command.help}" for name, command in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="onelog",
        usage="onelog [--help] [--version] COMMAND ...",
        description="One durable log that several wire protocols share, and every topic a table.",
        epilog=f"commands:\n{lines}\n\n`onelog COMMAND --help` tells the rest.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"onelog {_version()}")
    parser.add_argument("command", nargs="?", help=argparse.SUPPRESS)
    return parser


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("onelog")
    except PackageNotFoundError:
        return "(not installed)"


def _sentence(help: str) -> str:
    return f"{help[0].upper()}{help[1:]}."


def _failed(message: str) -> int:
    print(f"onelog: {' '.join(message.split())}", file=sys.stderr)
    return EXIT_FAILED


def _advice(error: ClientError) -> str:
    if error.is_stranger:
        return _dialects()
    if error.is_unknown_place:
        return "`onelog topics list` shows which topics there are, with their partitions."
    return ""


def _dialects() -> str:
    """For who knocked at the wrong door: where each dialect is unless the broker was told otherwise."""
    own = ", ".join(f"{name} on {at.rpartition(':')[2]}" for name, at in DEFAULT_BOOTSTRAPS.items())
    shared = DEFAULT_BOOTSTRAP.rpartition(":")[2]
    return f"It may speak another dialect there: {own}, the others on {shared}, unless told otherwise."


def _forget_output() -> None:
    # What is still buffered would be flushed at exit into the broken pipe, with a complaint.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
