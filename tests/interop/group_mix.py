"""Groups of real members that join, leave, crash and come back while a producer goes on.

    python -m tests.interop.group_mix                         each client by itself, eager and cooperative
    python -m tests.interop.group_mix --client java --mixed   and all clients together in one group

Every member is a process. It tells what it owns and what it processes; a record is committed
after that. At the end every record was processed, and in the order in which the members told it
no partition went back to a generation before, and none had two owners in one generation. What
is processed twice is counted: only a crash, or a commit that a rebalance refused, may do that.
"""

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.interop import cache
from tests.interop.table import BROKERS, CLIENTS, ROOT

PARTITIONS = 6
PATIENCE_S = 40.0
RECORDS_A_SECOND = 100
# Clients that have no cooperative rebalancing.
EAGER_ONLY = ("aiokafka",)
MEMBERS = ("java", "confluent", "kafka-python", "aiokafka", "franz")


@dataclass
class Story:
    """What all members told, in the order in which it came."""

    processed: dict[tuple[int, int], int] = field(default_factory=dict)
    owners: dict[int, tuple[int, str]] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def record(self, member: str, generation: int, partition: int, offset: int) -> None:
        """One record, processed by one member in a generation."""
        with self.lock:
            place = (partition, offset)
            self.processed[place] = self.processed.get(place, 0) + 1
            before, owner = self.owners.get(partition, (-1, ""))
            if generation < before:
                self.findings.append(
                    f"{member} processed {place} in generation {generation}, after {owner} in {before}"
                )
            elif generation == before and owner != member:
                self.findings.append(
                    f"{member} and {owner} both processed partition {partition} in {generation}"
                )
            else:
                self.owners[partition] = (generation, member)


class Ended(Exception):
    """A member is gone that nobody has asked to go."""


class Process:
    """One member."""

    def __init__(self, name: str, client: str, bootstrap: str, said: str, story: Story) -> None:
        self.name = name
        self.owned: set[int] = set()
        self.generation = -1
        self.generations: list[int] = []
        self._story = story
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  # it lives as long as the process
        command = [*CLIENTS[client].command(), "member", bootstrap, said]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=self._errors, text=True
        )
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            word, *numbers = line.split()
            generation, *rest = map(int, numbers)
            if word == "owns":
                self.generation, self.owned = generation, set(rest)
                self.generations.append(generation)
            else:
                self._story.record(self.name, generation, *rest)

    @property
    def is_alive(self) -> bool:
        """It has not ended by itself."""
        return self._process.poll() is None

    def last_words(self) -> str:
        """The end of what it said on stderr."""
        self._errors.seek(0)
        return self._errors.read()[-500:]

    def end(self, number: signal.Signals) -> None:
        """It leaves, or is gone."""
        self._process.send_signal(number)
        self._process.wait(timeout=30)
        self._thread.join(timeout=30)
        self.owned = set()


@dataclass
class Group:
    """One group at work: its members, and a producer beside."""

    bootstrap: str
    topic: str
    protocol: str
    story: Story = field(default_factory=Story)
    members: dict[str, Process] = field(default_factory=dict)
    sent: int = 0
    stop: threading.Event = field(default_factory=threading.Event)

    def produce(self) -> None:
        """Records for all partitions, until told to stop."""
        producer = Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 5, "log_level": 0})
        while not self.stop.wait(1 / RECORDS_A_SECOND):
            producer.produce(self.topic, value=b"%d" % self.sent, partition=self.sent % PARTITIONS)
            self.sent += 1
            producer.poll(0)
        assert producer.flush(PATIENCE_S) == 0

    def joins(self, name: str, client: str, instance: str = "") -> None:
        said = f"{self.topic},{self.protocol},{instance}"
        self.members[name] = Process(name, client, self.bootstrap, said, self.story)

    def ends(self, name: str, number: signal.Signals) -> Process:
        member = self.members.pop(name)
        member.end(number)
        return member

    def settles(self, what: str) -> None:
        """Until every member owns some, and all partitions are owned once."""

        def settled() -> bool:
            owned = [partition for member in self.members.values() for partition in member.owned]
            return all(m.owned for m in self.members.values()) and sorted(owned) == list(range(PARTITIONS))

        self._awaited(settled, what)

    def catches_up(self) -> None:
        """The producer ends, and everything that it sent is processed."""
        self.stop.set()
        self._awaited(lambda: len(self.story.processed) >= self.sent, "every record is processed")

    def _awaited(self, holds: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + PATIENCE_S
        while not holds():
            dead = [m for m in self.members.values() if not m.is_alive]
            if dead:
                raise Ended(f"{dead[0].name} ended by itself: {dead[0].last_words()}")
            if time.monotonic() > end:
                owned = {name: (m.generation, sorted(m.owned)) for name, m in self.members.items()}
                self.story.findings.append(
                    f"not within {PATIENCE_S:g} s: {what}; {owned}, {len(self.story.processed)} of {self.sent}"
                )
                return
            time.sleep(0.05)


def played(bootstrap: str, topic: str, protocol: str, clients: Sequence[str]) -> Group:
    """One group through everything: join, leave, crash, a static member that comes back."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result(PATIENCE_S)
    group = Group(bootstrap, topic, protocol)
    with ThreadPoolExecutor() as pool:
        producing = pool.submit(group.produce)
        try:
            _play(group, clients)
        except Ended as ended:
            group.story.findings.append(str(ended))
        finally:
            group.stop.set()
            for name in list(group.members):
                group.ends(name, signal.SIGKILL)
        producing.result()
    return group


def _play(group: Group, clients: Sequence[str]) -> None:
    turn = random.Random(group.topic).sample(clients, len(clients)) * 4
    for name in ("one", "two"):
        group.joins(name, turn.pop())
    group.settles("two members share")
    group.joins("three", turn.pop())
    group.settles("a third joins")
    group.ends("two", signal.SIGTERM)
    group.settles("one leaves")
    group.joins("static", client := turn.pop(), instance="static")
    group.settles("a static member joins")
    _restarted(group, client)
    group.ends("three", signal.SIGKILL)
    group.settles("one crashes")
    group.catches_up()


def _restarted(group: Group, client: str) -> None:
    """A static member ends and is there again before its session is over: nobody else is disturbed."""
    others = {name: len(m.generations) for name, m in group.members.items() if name != "static"}
    before = group.members["static"]
    had = set(before.owned)
    group.ends("static", signal.SIGTERM)
    group.joins("static", client, instance="static")
    group.settles("the static member is back")
    after = group.members["static"]
    if after.owned != had:
        group.story.findings.append(
            f"the static member had {sorted(had)} and came back to {sorted(after.owned)}"
        )
    for name, count in others.items():
        if len(group.members[name].generations) != count:
            group.story.findings.append(f"{name} rebalanced while the static member was away")


def main(argv: Sequence[str] | None = None) -> int:
    """Each client's groups; 0 when nothing was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.interop.group_mix")
    parser.add_argument("--client", action="append", choices=MEMBERS)
    parser.add_argument("--protocol", action="append", choices=("range", "cooperative-sticky"))
    parser.add_argument("--mixed", action="store_true", help="all clients in one group, too")
    parser.add_argument("--against", choices=BROKERS, default="onelog")
    args = parser.parse_args(argv)
    clients = args.client or list(MEMBERS)
    plays = [
        (f"{client}-{protocol}", protocol, [client])
        for client in clients
        for protocol in args.protocol or ("range", "cooperative-sticky")
        if protocol == "range" or client not in EAGER_ONLY
    ]
    if args.mixed:
        plays.append(("mixed-range", "range", list(MEMBERS)))
    failed = False
    try:
        with (
            tempfile.TemporaryDirectory(prefix="onelog-groups-") as folder,
            BROKERS[args.against](Path(folder)) as addresses,
        ):
            for name, protocol, of in plays:
                begin = time.monotonic()
                group = played(addresses["shared"], name, protocol, of)
                twice = sum(count > 1 for count in group.story.processed.values())
                print(
                    f"{name}: {group.sent} records, {len(group.story.processed)} processed, {twice} of them more "
                    f"than once, {time.monotonic() - begin:.0f} s",
                    flush=True,
                )
                for line in group.story.findings:
                    print(f"FINDING {name}: {line}", flush=True)
                failed |= bool(group.story.findings)
    except cache.Missing as missing:
        print(f"interop: {missing}", file=sys.stderr)
        return 2
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
