"""What `onelog pipeline run` and `onelog land` do: flows on Spark, until Ctrl-C or once.

Signals, the terminal's line, and how a failure is told. Imported when such a command runs, since
it loads Spark; the commands' arguments stand in pipeline.py and land.py.
"""

import argparse
import dataclasses
import signal
import threading
from collections.abc import Sequence
from types import FrameType

from onelog.cli.output import CommandFailed, Progress
from onelog.pipeline.errors import FlowError, PipelineError
from onelog.pipeline.flow import Flow, Pipeline, landing
from onelog.pipeline.flow_file import load
from onelog.pipeline.progress import FlowState, state_line, summary
from onelog.pipeline.run import run as run_flows
from onelog.pipeline.run import started
from onelog.spark import session


def run_file(args: argparse.Namespace) -> int:
    """Run the flows of the file."""
    try:
        pipeline = load(args.file)
        if args.flow:
            pipeline = dataclasses.replace(pipeline, flows=_chosen(pipeline, args.flow))
    except FlowError as error:
        raise CommandFailed(str(error)) from error
    return run_pipeline(pipeline, args)


def run_landing(args: argparse.Namespace) -> int:
    """Land the topic."""
    try:
        pipeline = Pipeline(flows=(landing(args.topic, args.to),))
    except FlowError as error:
        raise CommandFailed(str(error)) from error
    return run_pipeline(pipeline, args)


def run_pipeline(pipeline: Pipeline, args: argparse.Namespace) -> int:
    """Run a pipeline with what the command line says about it. Ends cleanly on SIGINT and SIGTERM."""
    said = {"bootstrap": args.bootstrap, "master": args.master}
    pipeline = dataclasses.replace(pipeline, **{k: v for k, v in said.items() if v is not None})
    progress = Progress()
    stop = threading.Event()
    try:
        spark = started(pipeline)
        # After the session: Spark sets a handler of its own, which kills what is at work.
        _stop_on_signals(stop)
        states = run_flows(
            pipeline,
            once=args.once,
            spark=spark,
            stop=stop,
            watch=lambda states: progress.say(state_line(states)),
            timeout_s=args.timeout,
        )
        spark.stop()
    except (PipelineError, session.SessionError) as error:
        progress.end()
        raise CommandFailed(str(error)) from error
    progress.end(_last_word(states))
    return 0


def _stop_on_signals(stop: threading.Event) -> None:
    def ask(signum: int, frame: FrameType | None) -> None:
        # The second one means it.
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, signal.SIG_DFL)
        stop.set()

    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, ask)


def _chosen(pipeline: Pipeline, names: Sequence[str]) -> tuple[Flow, ...]:
    known = {flow.name: flow for flow in pipeline.flows}
    for name in names:
        if name not in known:
            raise FlowError(f"--flow {name}: there is no such flow; known are {', '.join(known)}.")
    return tuple(flow for flow in pipeline.flows if flow.name in names)


def _last_word(states: Sequence[FlowState]) -> str:
    return "\n".join(summary(state) for state in states)
