"""A broker that ends while all write: nothing that it acknowledged is missing, nothing is there twice that was sent once.

It is killed, or its disk has no room left. The room ends where RLIMIT_FSIZE says, which needs no root:
the write that would go beyond it fails as one on a full disk does. The limit is the process's own, so
the next one has room again.
"""

import itertools
import resource
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.conformance.driver import Driver, Kind, Message, Refused, texts
from tests.conformance.drivers.all import LISTENERS, PRESENT, addresses_of
from tests.support.blocking_wire import Ended
from tests.support.served import Served

ROOM_BYTES = 1 << 20
VALUE_BYTES = 20_000
RECORDS_MAX = 4 * ROOM_BYTES // VALUE_BYTES
UNDER_WAY = 10
WRITERS = [kind for kind in PRESENT if kind.outlives_its_broker]
# What ends a writer: a refusal, a connection that is gone, a library that gives up.
GIVEN_UP = (Refused, Ended, OSError, AssertionError)


@dataclass
class Writer:
    """Writes one record after the other until it cannot."""

    kind: Kind
    driver: Driver
    sent: list[str] = field(default_factory=list)
    acknowledged: int = 0
    under_way: threading.Event = field(default_factory=threading.Event)

    @property
    def topic(self) -> str:
        return f"of-{self.kind.name}"

    def write(self) -> None:
        self.sent.append(f"{len(self.sent)} {'x' * VALUE_BYTES}")
        self.driver.produce(self.topic, [Message(self.sent[-1].encode())])
        self.acknowledged += 1
        if self.acknowledged == UNDER_WAY:
            self.under_way.set()

    def run(self) -> None:
        with suppress(*GIVEN_UP):
            while len(self.sent) < RECORDS_MAX:
                self.write()


@contextmanager
def all_writing(served: Served, stack: ExitStack, room_bytes: int) -> Iterator[list[Writer]]:
    """Every dialect's writer in a thread of its own; at the end each has stopped."""
    writers = [Writer(k, stack.enter_context(closing(k.open(addresses_of(served))))) for k in WRITERS]
    for writer in writers:
        writer.driver.create_topic(writer.topic)
        writer.write()
    resource.prlimit(served.pid, resource.RLIMIT_FSIZE, (room_bytes, resource.RLIM_INFINITY))
    threads = [threading.Thread(target=writer.run) for writer in writers]
    for thread in threads:
        thread.start()
    yield writers
    # A library that tries by itself goes on with the next broker.
    for thread in threads:
        thread.join()


def test_a_disk_without_room_stops_the_broker_and_loses_nothing_acknowledged(tmp_path: Path) -> None:
    with Served(tmp_path / "data", ports=dict.fromkeys(LISTENERS, 0)) as served, ExitStack() as stack:
        with all_writing(served, stack, ROOM_BYTES) as writers:
            assert served.wait() != 0
            assert any("no space left" in line for line in served.log), served.log[-5:]
            served.start()
        judge(served, writers)


def test_a_broker_that_is_killed_while_all_write_loses_nothing_acknowledged(tmp_path: Path) -> None:
    with Served(tmp_path / "data", ports=dict.fromkeys(LISTENERS, 0)) as served, ExitStack() as stack:
        with all_writing(served, stack, resource.RLIM_INFINITY) as writers:
            for writer in writers:
                assert writer.under_way.wait(30), writer.kind.name
            served.kill()
            served.start()
        judge(served, writers)


def judge(served: Served, writers: list[Writer]) -> None:
    """All that was acknowledged is there, and beyond it at most what was never answered."""
    with closing(PRESENT[0].open(addresses_of(served))) as reader:
        for writer in writers:
            found = texts(reader.read(writer.topic))
            if writer.kind.repeats_itself:
                found = [value for value, _ in itertools.groupby(found)]
            assert writer.acknowledged > 0, writer.kind.name
            assert found[: writer.acknowledged] == writer.sent[: writer.acknowledged], writer.kind.name
            assert found == writer.sent[: len(found)], writer.kind.name
