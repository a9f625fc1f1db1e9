"""onelog pipeline run: the flows of a pipeline's file, on Spark, until Ctrl-C or once.

Its arguments, and those of everything that runs flows. What it does is in flows.py.
"""

import argparse

from onelog.cli.arguments import bootstrap, seconds
from onelog.cli.output import needs_extra

# Flows run unattended, and wait for a broker that is being restarted.
TIMEOUT_S = 30.0


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    commands = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    runner = commands.add_parser(
        "run", help="run the flows", description="Run the flows of a pipeline's file."
    )
    runner.add_argument("file", metavar="PIPELINE", help="the pipeline's TOML file")
    runner.add_argument("--flow", metavar="NAME", action="append", help="only this flow; may be repeated")
    add_running(runner)


def add_running(parser: argparse.ArgumentParser) -> None:
    """The arguments of everything that runs flows."""
    parser.add_argument("--once", action="store_true", help="end when all that is there now has landed")
    parser.add_argument(
        "--bootstrap",
        metavar="HOST:PORT",
        type=bootstrap,
        help="where a broker listens (default: what the pipeline says, else 127.0.0.1:9092)",
    )
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=seconds,
        default=TIMEOUT_S,
        help="how long to try to reach the broker before giving up (default: %(default)s)",
    )
    parser.add_argument("--master", metavar="URL", help="Spark's master (default: local[*])")


def run(args: argparse.Namespace) -> int:
    """Run the flows of the file."""
    needs_extra("spark", "pyspark", "pyarrow", "deltalake")
    from onelog.cli.flows import run_file  # here, because it loads Spark

    return run_file(args)
