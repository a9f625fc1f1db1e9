"""Under strace: no answer to a write, a commit or a create leaves before its sync.

One client per dialect sends one request at a time, once its connections are made: what a client
asks in the background while they are being made may be answered beside a write. Between two answers on its socket the
broker has to have written to a data file and completed a sync of that same file after the
write; then, and not earlier, may the answer go. The trace is read line by line: what the
broker says of itself is not asked.
"""

import argparse
import contextlib
import re
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.crash.fluvio_unit import FluvioUnit
from tests.support import fluvio_wire
from tests.support.flymq_client import FlyMQClient
from tests.support.rustlog_client import BinaryClient, JsonClient
from tests.support.served import Served
from tests.support.tank_bundles import Message
from tests.support.tank_client import TankClient

_CALL = re.compile(
    r"^(?P<pid>\d+)\s+(?P<at>[\d.]+) (?:(?P<name>\w+)\((?P<args>.*)|<\.\.\. (?P<resumed>\w+) resumed>(?P<rest>.*))$"
)
_FILE = re.compile(r"^\d+<(?P<path>[^>]*)>")
_WRITES = ("write", "writev", "pwrite64", "pwritev", "pwritev2")
_SENDS = (*_WRITES, "sendto", "sendmsg")
_SYNCS = ("fsync", "fdatasync")
WARM_UP = 5
PORTS = ("shared", "tank", "fluvio-sc", "fluvio-spu", "console")


@dataclass
class Trace:
    """What is written but not yet synced, and what was answered meanwhile."""

    dirty: dict[str, int] = field(default_factory=dict)
    syncing: dict[str, tuple[str, int]] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)
    syncs: int = 0
    answers: int = 0
    lines: int = 0


def main(argv: list[str] | None = None) -> int:
    """Trace a broker under each dialect; 0 when every answer came after its sync."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash.sync_order")
    parser.add_argument("--requests", type=int, default=50)
    args = parser.parse_args(argv)
    if shutil.which("strace") is None:
        print("strace is not installed (Debian: apt install strace)", file=sys.stderr)
        return 2
    failed = False
    with tempfile.TemporaryDirectory(prefix="onelog-strace-") as folder:
        for number, (name, drive) in enumerate(_DRIVERS.items()):
            trace = _traced(Path(folder) / str(number), drive, args.requests)
            print(
                f"{name}: {trace.answers} answers, {trace.syncs} syncs, {len(trace.findings)} before their sync"
            )
            for finding in trace.findings[:10]:
                print(f"FINDING {name}: {finding}")
            failed |= bool(trace.findings) or trace.syncs < args.requests or trace.answers < args.requests
    return 1 if failed else 0


def _traced(folder: Path, drive: Callable[[Served, int], float], requests: int) -> Trace:
    folder.mkdir()
    output = folder / "trace"
    calls = ",".join(("sendto,sendmsg", *_WRITES, *_SYNCS))
    wrapper = ["strace", "-f", "-y", "-ttt", "-s", "0", "-o", str(output), "-e", f"trace={calls}"]
    with Served(folder / "data", wrapper=wrapper, ports=dict.fromkeys(PORTS, 0)) as served:
        begin_s = drive(served, requests)
        served.stop()
    trace = Trace()
    for line in output.read_text(errors="replace").splitlines():
        _follow(trace, line, data=str(folder / "data"), begin_s=begin_s)
    return trace


def _follow(trace: Trace, line: str, *, data: str, begin_s: float) -> None:
    """One line. A call that another thread interrupts is begun here and ended there."""
    trace.lines += 1
    found = _CALL.match(line)
    if found is None:
        return
    pid = found["pid"]
    if found["resumed"] is not None:
        if found["resumed"] in _SYNCS and pid in trace.syncing:
            _synced(trace, *trace.syncing.pop(pid), ok=found["rest"].rstrip().endswith("= 0"))
        return
    place = _FILE.match(found["args"])
    path = place["path"] if place else ""
    if found["name"] in _SYNCS:
        seen = trace.dirty.get(path, 0)
        if "unfinished" in found["args"]:
            trace.syncing[pid] = (path, seen)
        else:
            _synced(trace, path, seen, ok=found["args"].rstrip().endswith("= 0"))
    elif path.startswith(data) and found["name"] in _WRITES and _counts(path):
        trace.dirty[path] = trace.dirty.get(path, 0) + 1
    elif path.startswith(("TCP:", "socket:", "TCPv6:")) and found["name"] in _SENDS:
        trace.answers += float(found["at"]) >= begin_s
        late = [p for p, writes in trace.dirty.items() if writes]
        if late and float(found["at"]) >= begin_s:
            trace.findings.append(f"line {trace.lines}: an answer while {late} was not synced")


def _counts(path: str) -> bool:
    """What an answer waits for. Segments and the root are written in the background."""
    name = path.rpartition("/")[2]
    is_commit_log = name.startswith("onelog.commit.") and not name.endswith(".new")
    return is_commit_log or name.endswith("-wal")


def _synced(trace: Trace, path: str, seen: int, *, ok: bool) -> None:
    """A sync covers what was written before it began, and nothing later."""
    if ok and path in trace.dirty:
        trace.dirty[path] -= seen
        trace.syncs += 1


def _kafka(served: Served, requests: int) -> float:
    admin = AdminClient({"bootstrap.servers": served.bootstrap})
    admin.create_topics([NewTopic("traced", 2, 1)])["traced"].result(timeout=30)
    producer = Producer({"bootstrap.servers": served.bootstrap, "linger.ms": 0, "acks": "all"})
    consumer = Consumer({"bootstrap.servers": served.bootstrap, "group.id": "g", "enable.auto.commit": False})
    begin_s = 0.0
    for number in range(requests + WARM_UP):
        if number == WARM_UP:
            threading.Event().wait(0.5)
            begin_s = time.time()
        producer.produce("traced", value=b"x" * 100, partition=number % 2)
        assert producer.flush(30) == 0
        consumer.commit(offsets=[TopicPartition("traced", 0, number)], asynchronous=False)
    consumer.close()
    return begin_s


def _rustlog_json(served: Served, requests: int) -> float:
    return _rustlog(JsonClient.connect(served.bootstrap), requests)


def _rustlog_binary(served: Served, requests: int) -> float:
    return _rustlog(BinaryClient.connect(served.bootstrap), requests)


def _rustlog(client: JsonClient | BinaryClient, requests: int) -> float:
    with contextlib.closing(client):
        client.create_topic("traced", 2)
        for number in range(requests):
            client.produce("traced", number % 2, [b"x" * 100])
            assert client.commit("g", "traced", 0, number)
    return 0.0


def _tank(served: Served, requests: int) -> float:
    with contextlib.closing(TankClient.connect(f"127.0.0.1:{served.ports['tank']}")) as client:
        assert client.create_topic("traced", 2) == 0
        for number in range(requests):
            assert client.produce("traced", number % 2, [Message(b"x" * 100)]) == 0
    return 0.0


def _flymq(served: Served, requests: int) -> float:
    with contextlib.closing(FlyMQClient.connect(served.bootstrap)) as client:
        client.create_topic("traced/by flymq", 2)
        for number in range(requests):
            # The first record of each of these makes its topic.
            topic = f"made by {number}" if number % 10 == 0 else "traced/by flymq"
            client.produce(topic, -1, b"", b"x" * 100)
            client.commit("traced/by flymq", "g", 0, number)
    return 0.0


def _fluvio(served: Served, requests: int) -> float:
    controller, unit = (f"127.0.0.1:{served.ports[name]}" for name in ("fluvio-sc", "fluvio-spu"))
    with FluvioUnit(controller) as talk:
        # Without a watch, so that nothing is pushed to anybody in between.
        talk.ask(fluvio_wire.create("traced", partitions=2))
    with FluvioUnit(unit) as talk:
        talk.produce("traced", 0, b"x" * 100)
        stream = talk.stream("traced", 0, 0, "g")
        stream.taken()
        for number in range(requests):
            talk.produce("traced", 1, b"x" * 100)
            stream.keep(number)
    return 0.0


_DRIVERS: dict[str, Callable[[Served, int], float]] = {
    "kafka": _kafka,
    "rustlog JSON": _rustlog_json,
    "rustlog binary": _rustlog_binary,
    "tank": _tank,
    "flymq": _flymq,
    "fluvio": _fluvio,
}


if __name__ == "__main__":
    raise SystemExit(main())
