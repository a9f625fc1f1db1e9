"""Real consumers in one group: who reads what when members come, go, and are replaced.

A group is watched through the broker's own eyes, so that nothing has to be slept for.
"""

import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol, Self

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

import onelog

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # it reads its schemas the old way
    from kafka import KafkaConsumer

pytestmark = [
    pytest.mark.real,
    pytest.mark.filterwarnings("ignore:read_text is deprecated"),
    # kafka-python leaves sockets to the collector when it closes.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
PATIENCE_S = 30.0
PARTITIONS = 4
SESSION_MS, HEARTBEAT_MS = 6000, 200
SHORT_MS = 1000


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A broker whose groups begin at once, and whose members may be missed soon."""
    settings = {
        "broker.group_initial_rebalance_delay_ms": 0,
        "broker.group_session_timeout_min_ms": SHORT_MS,
    }
    path = tmp_path_factory.mktemp("groups") / "data"
    with onelog.Broker(path, listen="shared=127.0.0.1:0", settings=settings) as broker:
        yield broker.bootstrap


@pytest.fixture
def topic(request: pytest.FixtureRequest, bootstrap: str) -> str:
    """A topic of this test's own, with some partitions."""
    name: str = "groups-" + request.node.name.translate(str.maketrans("[]", "..")).rstrip(".")
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(name, PARTITIONS, 1)])[name].result(PATIENCE_S)
    return name


class Reader(Protocol):
    """A consumer of any make, polled in a thread of its own."""

    def __init__(self, bootstrap: str, topic: str, **options: Any) -> None: ...
    def poll(self) -> list[tuple[int, int]]: ...
    def has(self) -> frozenset[int]: ...
    def close(self, *, leaves: bool) -> None: ...


class Librdkafka:
    """confluent-kafka."""

    def __init__(self, bootstrap: str, topic: str, **options: Any) -> None:
        self._made = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": topic,
                "auto.offset.reset": "earliest",
                "session.timeout.ms": SESSION_MS,
                "heartbeat.interval.ms": HEARTBEAT_MS,
                "auto.commit.interval.ms": 100,
                **{name.replace("_", "."): value for name, value in options.items()},
            }
        )
        self._made.subscribe([topic])

    def poll(self) -> list[tuple[int, int]]:
        found = self._made.consume(100, timeout=0.05)
        return [(int(m.partition()), int(m.offset())) for m in found if m.error() is None]

    def has(self) -> frozenset[int]:
        return frozenset(int(each.partition) for each in self._made.assignment())

    def close(self, *, leaves: bool) -> None:
        self._made.close()


class Python:
    """kafka-python."""

    def __init__(self, bootstrap: str, topic: str, **options: Any) -> None:
        self._made = KafkaConsumer(
            bootstrap_servers=bootstrap,
            group_id=topic,
            auto_offset_reset="earliest",
            session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=HEARTBEAT_MS,
            auto_commit_interval_ms=100,
            **options,
        )
        self._made.subscribe([topic])

    def poll(self) -> list[tuple[int, int]]:
        # It loses the answer to a join that comes just as a poll gives up, and then waits for ever.
        found = self._made.poll(timeout_ms=1000)
        return [(r.partition, r.offset) for records in found.values() for r in records]

    def has(self) -> frozenset[int]:
        return frozenset(each.partition for each in self._made.assignment())

    def close(self, *, leaves: bool) -> None:
        self._made.close(autocommit=leaves)


class Member:
    """A reader at work; what it has and what it read may be looked at from outside."""

    def __init__(self, make: type[Reader], bootstrap: str, topic: str, **options: Any) -> None:
        self.read: list[tuple[int, int]] = []
        self.has: frozenset[int] = frozenset()
        self.fault: BaseException | None = None
        self._stop = threading.Event()
        self._polls = threading.Lock()
        self._make: Callable[[], Reader] = lambda: make(bootstrap, topic, **options)
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._stop.set()
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()
        assert self.fault is None

    @contextmanager
    def held_up(self) -> Iterator[None]:
        """It is busy with something else, and does not poll."""
        with self._polls:
            yield

    def _work(self) -> None:
        try:
            reader = self._make()
            try:
                while not self._stop.is_set():
                    with self._polls:
                        pass
                    self.read += reader.poll()
                    self.has = reader.has()
            finally:
                self.has = frozenset()
                reader.close(leaves=True)
        except Exception as error:
            self.fault = error


def eventually(holds: Callable[[], bool], *members: Member) -> None:
    """It holds before patience ends."""
    until_s = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < until_s, [sorted(member.has) for member in members]
        assert not [member.fault for member in members if member.fault is not None]
        threading.Event().wait(0.02)


def share(*members: Member) -> bool:
    """Whether all partitions are had, each by one, and nobody has none."""
    parts = sorted(partition for member in members for partition in member.has)
    return parts == list(range(PARTITIONS)) and all(member.has for member in members)


@contextmanager
def producing(bootstrap: str, topic: str) -> Iterator[Callable[[], int]]:
    """Records come all the time; at the end, how many of each partition there are."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5})
    sent = [0]
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            producer.produce(topic, b"%d" % sent[0], partition=sent[0] % PARTITIONS)
            sent[0] += 1
            producer.poll(0)
            stop.wait(0.002)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()

    def finish() -> int:
        stop.set()
        thread.join(PATIENCE_S)
        assert producer.flush(PATIENCE_S) == 0
        return sent[0]

    try:
        yield finish
    finally:
        stop.set()
        thread.join(PATIENCE_S)


def wanted(count: int) -> set[tuple[int, int]]:
    """Every record, by partition and offset."""
    return {(number % PARTITIONS, number // PARTITIONS) for number in range(count)}


MAKES = [
    pytest.param(Librdkafka, {"partition_assignment_strategy": "range"}, id="librdkafka-eager"),
    pytest.param(
        Librdkafka, {"partition_assignment_strategy": "cooperative-sticky"}, id="librdkafka-cooperative"
    ),
    pytest.param(Python, {}, id="kafka-python"),
]


@pytest.mark.parametrize(("make", "options"), MAKES)
def test_members_come_and_go_while_records_come_and_none_is_missed(
    bootstrap: str, topic: str, make: type[Reader], options: dict[str, Any]
) -> None:
    with producing(bootstrap, topic) as finish, ExitStack() as members:
        first = members.enter_context(Member(make, bootstrap, topic, **options))
        eventually(lambda: share(first), first)
        second = members.enter_context(Member(make, bootstrap, topic, **options))
        eventually(lambda: share(first, second), first, second)
        third = members.enter_context(Member(make, bootstrap, topic, **options))
        everybody = (first, second, third)
        eventually(lambda: share(*everybody), *everybody)
        second.close()
        eventually(lambda: share(first, third), first, third)
        count = finish()
        eventually(lambda: wanted(count) <= {r for member in everybody for r in member.read}, *everybody)


@pytest.mark.parametrize("make", [Librdkafka, Python])
def test_an_instance_that_starts_anew_has_what_it_had_and_the_other_does_not_notice(
    bootstrap: str, topic: str, make: type[Reader]
) -> None:
    with ExitStack() as members:
        first = members.enter_context(Member(make, bootstrap, topic, group_instance_id="one"))
        second = Member(make, bootstrap, topic, group_instance_id="two")
        with second:
            eventually(lambda: share(first, second), first, second)
            had, left = first.has, second.has
        again = members.enter_context(Member(make, bootstrap, topic, group_instance_id="two"))
        eventually(lambda: share(first, again), first, again)
        assert (first.has, again.has) == (had, left)
        admin = AdminClient({"bootstrap.servers": bootstrap})
        found = admin.describe_consumer_groups([topic])[topic].result(PATIENCE_S)
        assert sorted(member.group_instance_id for member in found.members) == ["one", "two"]


CRASHING = """
import sys
from confluent_kafka import Consumer
bootstrap, topic, session = sys.argv[1:]
made = Consumer({"bootstrap.servers": bootstrap, "group.id": topic, "session.timeout.ms": int(session),
                 "heartbeat.interval.ms": 100})
made.subscribe([topic])
while not made.assignment():
    made.poll(0.05)
print("here", flush=True)
while True:
    made.poll(0.05)
"""


def test_what_a_member_had_that_was_killed_goes_to_the_others_after_its_session(
    bootstrap: str, topic: str
) -> None:
    with Member(Librdkafka, bootstrap, topic) as survivor:
        eventually(lambda: share(survivor), survivor)
        arguments = [sys.executable, "-c", CRASHING, bootstrap, topic, str(SHORT_MS)]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as crashing:
            assert crashing.stdout is not None
            assert crashing.stdout.readline() == "here\n"
            eventually(lambda: 0 < len(survivor.has) < PARTITIONS, survivor)
            crashing.kill()
        eventually(lambda: share(survivor), survivor)


def test_what_a_member_has_that_works_for_too_long_goes_to_the_others(bootstrap: str, topic: str) -> None:
    with ExitStack() as members:
        survivor = members.enter_context(Member(Librdkafka, bootstrap, topic))
        slow = members.enter_context(
            Member(Librdkafka, bootstrap, topic, session_timeout_ms=SHORT_MS, max_poll_interval_ms=SHORT_MS)
        )
        eventually(lambda: share(survivor, slow), survivor, slow)
        with slow.held_up():
            eventually(lambda: len(survivor.has) == PARTITIONS, survivor)
        eventually(lambda: share(survivor, slow), survivor, slow)


def test_clients_of_different_makes_share_a_group(bootstrap: str, topic: str) -> None:
    with producing(bootstrap, topic) as finish, ExitStack() as members:
        mine = members.enter_context(
            Member(Librdkafka, bootstrap, topic, partition_assignment_strategy="range")
        )
        theirs = members.enter_context(Member(Python, bootstrap, topic))
        eventually(lambda: share(mine, theirs), mine, theirs)
        count = finish()
        eventually(lambda: wanted(count) <= {*mine.read, *theirs.read}, mine, theirs)


def test_a_group_goes_on_where_it_was(bootstrap: str, topic: str) -> None:
    with producing(bootstrap, topic) as finish:
        with Member(Python, bootstrap, topic) as first:
            eventually(lambda: len(first.read) > 100, first)
        count = finish()
    with Member(Librdkafka, bootstrap, topic) as second:
        eventually(lambda: wanted(count) <= {*first.read, *second.read}, second)
        assert not {*first.read} & {*second.read}


def test_administrators_see_a_group_and_may_delete_it_when_it_is_empty(bootstrap: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    with Member(Librdkafka, bootstrap, topic) as member:
        eventually(lambda: share(member), member)
        found = admin.describe_consumer_groups([topic])[topic].result(PATIENCE_S)
        assert (found.state.name, len(found.members)) == ("STABLE", 1)
        assert len(found.members[0].assignment.topic_partitions) == PARTITIONS
        refused = admin.delete_consumer_groups([topic])[topic].exception(PATIENCE_S)
        assert "NON_EMPTY_GROUP" in str(refused)
    listed = admin.list_consumer_groups().result(PATIENCE_S).valid
    assert {group.group_id: group.state.name for group in listed}[topic] == "EMPTY"
    assert admin.delete_consumer_groups([topic])[topic].result(PATIENCE_S) is None
    listed = admin.list_consumer_groups().result(PATIENCE_S).valid
    assert topic not in {group.group_id for group in listed}
