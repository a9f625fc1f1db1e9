"""onelog land: a topic becomes a table, every record a row, unchanged."""

import argparse

from onelog.cli.output import CommandFailed
from onelog.cli.pipeline import add_running, run_pipeline
from onelog.pipeline.errors import FlowError
from onelog.pipeline.flow import Pipeline, landing


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("topic", metavar="TOPIC", help="the topic to land")
    parser.add_argument(
        "--to", metavar="PATH", required=True, help="the folder of the table; made if need be"
    )
    add_running(parser)


def run(args: argparse.Namespace) -> int:
    """Land the topic."""
    try:
        pipeline = Pipeline(flows=(landing(args.topic, args.to),))
    except FlowError as error:
        raise CommandFailed(str(error)) from error
    return run_pipeline(pipeline, args)
