"""Ten thousand connections of all dialects at once, their first bytes in random pieces.

    shared port   Kafka, FlyMQ, RustLog's JSON and binary form, told apart by those bytes
    own ports     TANK, and Fluvio where it is served

None is mistaken for another: each gets the answer to what it asked, then again to a second
request. Meanwhile some say nothing, or one byte, and hold up nobody: what a new connection
waits for its first answer is told beside what it waits without them.

The broker is a process of its own; it and this one take 20 000 handles at most.
"""

import argparse
import itertools
import random
import resource
import select
import socket
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.measure import rss_mb
from tests.crash import greetings
from tests.crash.greetings import Greeting, Maker, Mistaken
from tests.support.served import Served

HANDLES_MAX = 20_000
SILENT = 500
PROBES = 200
# So many pieces of requests leave between two looks at what has come.
PIECES_A_TURN = 200
PATIENCE_S = 60.0


@dataclass
class Peer:
    """One connection: what it has still to send, and what has come."""

    dialect: str
    port: int
    greeting: Greeting
    pieces: list[bytes]
    door: socket.socket
    came: bytes = b""
    is_answered: bool = False

    def look(self) -> bool:
        """Take what is there; whether the answer is whole now."""
        part = self.door.recv(1 << 16)
        if not part:
            raise Mistaken(f"closed after {self.came[:60]!r}")
        self.came += part
        self.is_answered = self.greeting.is_answered(self.came)
        return self.is_answered


@dataclass
class Report:
    """What went wrong, and how many did not."""

    findings: list[str] = field(default_factory=list)
    answered: Counter[str] = field(default_factory=Counter)


def main(argv: list[str] | None = None) -> int:
    """Connect, ask twice, report; 0 when each was answered what it asked."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash.connections")
    parser.add_argument("--connections", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(argv)
    resource.setrlimit(resource.RLIMIT_NOFILE, (HANDLES_MAX, HANDLES_MAX))
    rng = random.Random(args.seed)
    report = Report()
    with tempfile.TemporaryDirectory(prefix="onelog-connections-") as folder, _served(Path(folder)) as served:
        _beside_the_silent(served.ports["shared"], rng, report)
        before_mb = rss_mb(served.pid)
        doors = _doors(served)
        with ExitStack() as stack:
            peers = list(_connected(args.connections, doors, rng, stack))
            print(f"{len(peers)} connections are open, their first bytes to come in pieces")
            _exchanged(peers, rng, report, "first")
            print(
                f"memory of the broker: {before_mb:.0f} MB before, {rss_mb(served.pid):.0f} MB with all of them"
            )
            for peer in peers:
                _renew(peer, doors[peer.dialect][1], rng)
            _exchanged(peers, rng, report, "second")
        if served.process is None or served.process.poll() is not None:
            report.findings.append("the broker has ended")
    for dialect, count in sorted(report.answered.items()):
        print(f"{dialect}: {count} answers, each the one to what was asked")
    for line in report.findings[:20]:
        print(f"FINDING {line}")
    return 1 if report.findings else 0


def _served(folder: Path) -> Served:
    settings = folder / "onelog.toml"
    settings.write_text("[server]\nconnections_max = 15000\n")
    ports = dict.fromkeys(("shared", "tank", "fluvio-sc", "fluvio-spu", "console"), 0)
    return Served(folder / "data", ports=ports, options=[f"--config={settings}"])


def _doors(served: Served) -> dict[str, tuple[int, Maker]]:
    """Which port each dialect is greeted at."""
    own = {"tank": greetings.tank, "fluvio-sc": greetings.fluvio, "fluvio-spu": greetings.fluvio}
    shared = {name: (served.ports["shared"], maker) for name, maker in greetings.SHARED.items()}
    return shared | {name: (served.ports[name], own[name]) for name in own if name in served.ports}


def _connected(
    count: int, doors: dict[str, tuple[int, Maker]], rng: random.Random, stack: ExitStack
) -> Iterator[Peer]:
    names = sorted(doors)
    for number in range(count):
        name = names[number % len(names)]
        port, maker = doors[name]
        door = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S))
        door.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        greeting = maker(rng)
        yield Peer(name, port, greeting, _split(greeting.request, rng), door)


def _split(request: bytes, rng: random.Random) -> list[bytes]:
    """In up to six pieces, the cuts mostly where dialects are told apart; often byte by byte there."""
    cuts = set(rng.choices(range(1, min(len(request), 12)), k=rng.randrange(6)))
    cuts |= {rng.randrange(1, len(request))}
    edges = [0, *sorted(cuts), len(request)]
    return [request[a:b] for a, b in itertools.pairwise(edges)]


def _renew(peer: Peer, maker: Maker, rng: random.Random) -> None:
    """Another request on the same connection, in one piece."""
    peer.greeting = maker(rng)
    peer.pieces = [peer.greeting.request]
    # Only a new connection begins with the server's ping.
    peer.came = greetings.PING if peer.dialect == "tank" else b""
    peer.is_answered = False


def _exchanged(peers: list[Peer], rng: random.Random, report: Report, which: str) -> None:
    """Every piece of every peer, in an order that is random but for each peer's own; then all answers."""
    poll = select.epoll()
    waiting = {peer.door.fileno(): peer for peer in peers}
    for number in waiting:
        poll.register(number, select.EPOLLIN)
    turns = [peer for peer in peers for _ in peer.pieces]
    rng.shuffle(turns)
    end = time.monotonic() + PATIENCE_S
    while waiting and time.monotonic() < end:
        for peer in turns[:PIECES_A_TURN]:
            if peer.door.fileno() in waiting:
                _pushed(peer)
        del turns[:PIECES_A_TURN]
        for number, _ in poll.poll(0 if turns else 0.2):
            peer = waiting[number]
            try:
                done = peer.look()
            except (Mistaken, OSError, ValueError) as error:
                report.findings.append(
                    f"{peer.dialect}, {which} request {peer.greeting.request!r:.120}: {error}"
                )
                done = True
            if done:
                poll.unregister(number)
                del waiting[number]
                report.answered[peer.dialect] += peer.is_answered
    for peer in waiting.values():
        report.findings.append(f"{peer.dialect}, {which} request {peer.greeting.request!r:.120}: no answer")
    poll.close()


def _pushed(peer: Peer) -> None:
    # What the broker has to say to it, if anything, is read where all answers are.
    with suppress(OSError):
        peer.door.sendall(peer.pieces.pop(0))


def _beside_the_silent(port: int, rng: random.Random, report: Report) -> None:
    alone = _probed(port, rng, report)
    with ExitStack() as stack:
        for number in range(2 * SILENT):
            door = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S))
            if number % 2:
                door.sendall(bytes([rng.choice((0x00, 0xAF))]))
        beside = _probed(port, rng, report)
    print(
        f"connect, ask, be answered, in ms, median / worst of {PROBES}: {alone} alone, "
        f"{beside} beside {SILENT} that say nothing and {SILENT} that said one byte"
    )


def _probed(port: int, rng: random.Random, report: Report) -> str:
    taken: list[float] = []
    for number in range(PROBES):
        name, maker = list(greetings.SHARED.items())[number % len(greetings.SHARED)]
        greeting = maker(rng)
        begin = time.perf_counter()
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as door:
            door.sendall(greeting.request)
            peer = Peer(name, port, greeting, [], door)
            try:
                while not peer.look():
                    pass
            except (Mistaken, OSError, ValueError) as error:
                report.findings.append(f"{name}, beside the silent: {error}")
        taken.append((time.perf_counter() - begin) * 1000)
    taken.sort()
    return f"{taken[len(taken) // 2]:.2f} / {taken[-1]:.2f}"


if __name__ == "__main__":
    raise SystemExit(main())
