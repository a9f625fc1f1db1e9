"""The product at work: broker, orders through every dialect, Spark, a table, and its audit.

    python examples/orders/run.py [--once]

Without --once it goes on serving and landing until Ctrl-C. Data lies in ./onelog-data and
./onelog-tables; the next run goes on with both and adds more orders.
"""

import argparse
import dataclasses
import io
import json
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

import duckdb
import orders  # type: ignore[import-not-found]  # a script's own folder is on its path
from deltalake import DeltaTable

from onelog.cli.audit_report import text as audit_text
from onelog.cli.output import Progress
from onelog.client.errors import ClientError
from onelog.pipeline.audit import audit
from onelog.pipeline.errors import PipelineError
from onelog.pipeline.flow import Pipeline
from onelog.pipeline.flow_file import load
from onelog.pipeline.log import OnelogLog
from onelog.pipeline.progress import state_line, summary
from onelog.pipeline.run import run, started
from onelog.spark import session

PIPELINE = Path(__file__).with_name("pipeline.toml")
FREE_PORTS = tuple(
    f"--listen={name}=127.0.0.1:0" for name in ("shared", "tank", "fluvio-sc", "fluvio-spu", "console")
)
START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 15.0
PORT_TAKEN = "the port is taken"
SAID_LINES_MAX = 100


def main() -> int:
    """Run it; the exit code."""
    parser = argparse.ArgumentParser(description="Broker, orders, Spark, a table, its audit.")
    parser.add_argument("--once", action="store_true", help="end after the audit")
    once = parser.parse_args().once
    if isinstance(sys.stdout, io.TextIOWrapper):
        # In a pipe or a file, too, each stage is seen when it begins.
        sys.stdout.reconfigure(line_buffering=True)
    try:
        with serving() as listeners:
            bootstrap = _address(listeners["shared"])
            own = {name: _address(at) for name, at in listeners.items()}
            written = orders.write(bootstrap, own=own, now=datetime.now(UTC))
            print("orders written:", ", ".join(f"{n} through {dialect}" for dialect, n in written.items()))
            print("the newest order of partition 0, as each dialect reads it:")
            for dialect, value in orders.read_back(bootstrap, own=own).items():
                print(f"  {dialect:8}{(value or b'').decode()}")
            return work(dataclasses.replace(load(str(PIPELINE)), bootstrap=bootstrap), once=once)
    except (ClientError, PipelineError, session.SessionError, BrokerFailed) as error:
        print(f"run: {error}", file=sys.stderr)
        return 1


def work(pipeline: Pipeline, *, once: bool) -> int:
    """Land what there is, show and audit it; then go on, unless it is only once."""
    stop = threading.Event()
    print("pipeline: starting Spark ...")
    spark = started(pipeline)
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda *_: stop.set())
    try:
        print("pipeline: landing into", ", ".join(flow.sink.path for flow in pipeline.flows), "...")
        progress = Progress()
        states = run(pipeline, once=True, spark=spark, stop=stop, watch=lambda s: progress.say(state_line(s)))
        progress.end()
        for state in states:
            print(f"pipeline: {summary(state)}")
        clean = stop.is_set() or show(pipeline)
        if not once and not stop.is_set():
            print(f"\nserving on {pipeline.bootstrap} and landing until Ctrl-C. Try, from another terminal:")
            print(f"  echo hello | kcat -P -b {pipeline.bootstrap} -t orders")
            run(pipeline, spark=spark, stop=stop, watch=lambda s: progress.say(state_line(s)))
            progress.end()
            print("\nstopped.")
    finally:
        spark.stop()
    return 0 if clean else 1


def show(pipeline: Pipeline) -> bool:
    """Print the tables as DuckDB reads them, and audit them; whether all are clean."""
    by_name = {flow.name: flow.sink for flow in pipeline.flows}
    connection = duckdb.connect()
    sink = by_name["orders_by_minute"]
    for name, path in (("orders_by_minute", sink.path), ("dead_letters", sink.dead_letters_path)):
        connection.register(name, DeltaTable(path).to_pyarrow_dataset())
    print("\norders_by_minute, the newest ten, as DuckDB reads it:")
    connection.sql(
        "select minute.start::timestamp as minute, customer, orders, cents / 100 as spent "
        "from orders_by_minute order by minute desc, customer limit 10"
    ).show()
    print("dead letters:")
    connection.sql("select rule, reason, count(*) as records from dead_letters group by all").show()
    clean = True
    with OnelogLog(pipeline.bootstrap) as log:
        for flow in pipeline.flows:
            report = audit(flow.sink.path, log)
            clean = clean and report.is_clean
            print(f"audit of {audit_text(report)}\n")
    return clean


class BrokerFailed(Exception):
    """The broker did not start."""


@contextmanager
def serving() -> Iterator[Mapping[str, Any]]:
    """A broker of our own, for as long as the block lasts; where it listens."""
    with tempfile.TemporaryDirectory() as folder:
        ready = Path(folder) / "ready.json"
        broker, said = _begun(ready, ())
        if broker.returncode is not None and PORT_TAKEN in said:
            print("run: the default ports are taken (see above); trying free ones", file=sys.stderr)
            broker, said = _begun(ready, FREE_PORTS)
        if broker.returncode is not None:
            raise BrokerFailed("the broker does not start; see above for its reason.")
        try:
            listeners: Mapping[str, Any] = json.loads(ready.read_text())["listeners"]
            for name, address in listeners.items():
                print(f"broker: {name} on {_address(address)}")
            yield listeners
        finally:
            broker.terminate()
            broker.wait(STOP_TIMEOUT_S)


def _begun(ready: Path, listen: tuple[str, ...]) -> "tuple[subprocess.Popen[str], str]":
    """A broker that listens, or that has ended, with what it had to say by then."""
    command = [sys.executable, "-m", "onelog", "serve", "--ready-file", str(ready), "--log-level", "warning"]
    # A session of its own: Ctrl-C is for us, and we end the broker when the last batch has landed.
    broker = subprocess.Popen([*command, *listen], start_new_session=True, stderr=subprocess.PIPE, text=True)
    said: list[str] = []
    passing_on = threading.Thread(target=_pass_on, args=(broker.stderr, said), daemon=True)
    passing_on.start()
    waited = threading.Event()
    for _ in range(int(START_TIMEOUT_S / 0.05)):
        if ready.exists() or broker.poll() is not None:
            break
        waited.wait(0.05)
    else:
        broker.kill()
        broker.wait()
    if broker.returncode is not None:
        passing_on.join()
    return broker, "".join(said)


def _pass_on(stream: TextIO, said: list[str]) -> None:
    """What the broker says, to our own stderr, and kept while it starts."""
    for line in stream:
        sys.stderr.write(line)
        if len(said) < SAID_LINES_MAX:
            said.append(line)


def _address(address: Mapping[str, Any]) -> str:
    return f"{address['host']}:{address['port']}"


if __name__ == "__main__":
    sys.exit(main())
