"""A thousand Fluvio watchers while topics come and go: each hears of every one, once there and once gone.

Topics are made and deleted through the controller and through Kafka by turns. Half of the
watchers watch topics, half partitions.
How long the last of them waits for a push is told; what is asserted is what they hear.
"""

import argparse
import resource
import select
import socket
import struct
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks.measure import rss_mb
from tests.crash.connections import HANDLES_MAX
from tests.crash.fluvio_unit import FluvioUnit
from tests.support import fluvio_wire
from tests.support.served import Served

PATIENCE_S = 30.0
KINDS = ("Topic", "Partition")
WATCH = 7


@dataclass
class Watcher:
    """One connection with one watch, and all that it was pushed."""

    kind: str
    door: socket.socket
    came: bytearray

    def heard(self, topic: str) -> tuple[bool, bool]:
        """Of it as there, and of it as gone."""
        name = fluvio_wire.text(topic if self.kind == "Topic" else f"{topic}-0")
        return b"\x00" + name in self.came, b"\x01" + name in self.came


def main(argv: list[str] | None = None) -> int:
    """Watch, change, compare; 0 when everybody heard of everything."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash.watchers")
    parser.add_argument("--watchers", type=int, default=1_000)
    parser.add_argument("--topics", type=int, default=20)
    args = parser.parse_args(argv)
    resource.setrlimit(resource.RLIMIT_NOFILE, (HANDLES_MAX, HANDLES_MAX))
    names = [f"come-and-go-{number}" for number in range(args.topics)]
    ports = dict.fromkeys(("shared", "fluvio-sc", "fluvio-spu", "console"), 0)
    with (
        tempfile.TemporaryDirectory(prefix="onelog-watchers-") as folder,
        Served(Path(folder) / "data", ports=ports) as served,
        ExitStack() as stack,
    ):
        poll = select.epoll()
        watchers = dict(_watching(served, poll, stack) for _ in range(args.watchers))
        kinds = [kind for kind in KINDS for _ in range(args.watchers // len(KINDS))]
        for watcher, kind in zip(watchers.values(), kinds, strict=True):
            watcher.kind = kind
            watcher.door.sendall(fluvio_wire.watch(kind, correlation_id=WATCH))
        findings = _first_frames(poll, watchers)
        slowest_s = 0.0
        for number, name in enumerate(names):
            slowest_s = max(slowest_s, _came_and_went(served, number, name, poll, watchers, findings))
        memory_mb = rss_mb(served.pid)
    print(
        f"{args.watchers} watchers heard of {args.topics} topics, there and gone: the slowest change reached "
        f"the last of them after {slowest_s * 1000:.0f} ms; memory {memory_mb:.0f} MB"
    )
    for line in findings[:20]:
        print(f"FINDING {line}")
    return 1 if findings else 0


def _watching(served: Served, poll: select.epoll, stack: ExitStack) -> tuple[int, Watcher]:
    door = stack.enter_context(
        socket.create_connection(("127.0.0.1", served.ports["fluvio-sc"]), timeout=PATIENCE_S)
    )
    door.sendall(fluvio_wire.api_versions())
    (size,) = struct.unpack(">i", _exactly(door, 4))
    _exactly(door, size)
    poll.register(door.fileno(), select.EPOLLIN)
    return door.fileno(), Watcher("", door, bytearray())


def _first_frames(poll: select.epoll, watchers: dict[int, Watcher]) -> list[str]:
    """Every watch begins at once with what is there, which is never nothing."""
    waiting = set(watchers)
    _until(poll, watchers, waiting, lambda watcher: len(watcher.came) > 8)
    return [f"a watch of {watchers[number].kind} began with nothing" for number in waiting]


def _came_and_went(
    served: Served,
    number: int,
    name: str,
    poll: select.epoll,
    watchers: dict[int, Watcher],
    findings: list[str],
) -> float:
    """One topic, made and deleted; how long the slower of both took to the last watcher."""
    slowest_s = 0.0
    for gone in (False, True):
        begin = time.monotonic()
        _change(served, name, by_kafka=number % 2 == 0, gone=gone)
        waiting = set(watchers)
        _until(poll, watchers, waiting, partial(_has_heard, name, gone))
        slowest_s = max(slowest_s, time.monotonic() - begin)
        what = "gone" if gone else "there"
        findings += [f"a watch of {watchers[one].kind} never heard that {name} is {what}" for one in waiting]
    return slowest_s


def _has_heard(name: str, gone: bool, watcher: Watcher) -> bool:
    return watcher.heard(name)[gone]


def _change(served: Served, name: str, *, by_kafka: bool, gone: bool) -> None:
    if by_kafka:
        admin = AdminClient({"bootstrap.servers": served.bootstrap, "log_level": 0})
        answers = admin.delete_topics([name]) if gone else admin.create_topics([NewTopic(name, 1, 1)])
        answers[name].result(PATIENCE_S)
        return
    with FluvioUnit(f"127.0.0.1:{served.ports['fluvio-sc']}") as controller:
        controller.ask(_delete(name) if gone else fluvio_wire.create(name))


def _delete(name: str) -> bytes:
    """By its name, without force."""
    inner = fluvio_wire.text(name) + b"\x00"
    return fluvio_wire.frame(1002, fluvio_wire.CONTROLLER_VERSION, fluvio_wire.wrapped("Topic", inner))


def _until(
    poll: select.epoll,
    watchers: dict[int, Watcher],
    waiting: set[int],
    holds: Callable[[Watcher], bool],
) -> None:
    """Take what is pushed until it holds for all, or patience is over; waiting keeps those without."""
    end = time.monotonic() + PATIENCE_S
    while waiting and time.monotonic() < end:
        for number, _ in poll.poll(0.1):
            watcher = watchers[number]
            part = watcher.door.recv(1 << 16)
            assert part, "a watch was closed"
            watcher.came += part
            if number in waiting and holds(watcher):
                waiting.discard(number)


def _exactly(door: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        part = door.recv(count - len(data))
        assert part, "closed"
        data += part
    return data


if __name__ == "__main__":
    raise SystemExit(main())
