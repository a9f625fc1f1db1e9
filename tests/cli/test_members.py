import time

import pytest

import onelog
from onelog.cli import members
from onelog.cli.members import MemberReader
from onelog.client.kafka.admin import Admin, OffsetAt, Spot
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.joining import MemberTimes
from onelog.client.kafka.positions import Positions
from onelog.client.kafka.producer import Producer
from onelog.model import Isolation
from onelog.records.record import Record

TIMES = MemberTimes(session_s=6.0, rebalance_s=10.0)


@pytest.fixture
def topic(broker: onelog.Broker, request: pytest.FixtureRequest) -> str:
    """One partition, two batches of three records."""
    name = str(request.node.name)[:200].translate(str.maketrans("[]", ".."))
    with KafkaClient(broker.bootstrap, timeout_s=10) as client:
        Admin(client).create_topic(name, partition_count=1)
        write(client, name, 6)
    return name


def write(client: KafkaClient, topic: str, count: int) -> None:
    for first in range(0, count, 3):
        now_ms = time.time_ns() // 1_000_000
        said = [Record(None, b"%d" % number, now_ms) for number in range(first, first + 3)]
        Producer(client).send(topic, said, partition=0)


def member(broker: onelog.Broker, topic: str, *, start: Spot = Spot.EARLIEST) -> MemberReader:
    return MemberReader(
        broker.bootstrap,
        topic,
        topic,
        start=start,
        timeout_s=10,
        isolation=Isolation.READ_COMMITTED,
        times=TIMES,
    )


def position(broker: onelog.Broker, topic: str) -> int | None:
    with KafkaClient(broker.bootstrap, timeout_s=10) as client:
        found = Positions(client).of(topic).get((topic, 0))
        return None if found is None else found.offset


def test_what_is_there_is_read_to_its_end_and_committed(broker: onelog.Broker, topic: str) -> None:
    with member(broker, topic) as reader:
        found = [each.offset for lot in reader.lots(follow=False, count=None) for each in lot]
    assert found == list(range(6))
    assert position(broker, topic) == 6
    with member(broker, topic) as reader:
        assert list(reader.lots(follow=False, count=None)) == []


def test_a_count_that_ends_inside_of_a_batch_is_committed_there(broker: onelog.Broker, topic: str) -> None:
    for expected in ([0, 1, 2, 3], [4, 5]):
        with member(broker, topic) as reader:
            lots = reader.lots(follow=False, count=4)
            assert [each.offset for lot in lots for each in lot] == expected
        assert position(broker, topic) == expected[-1] + 1


def test_what_was_not_printed_is_not_committed(broker: onelog.Broker, topic: str) -> None:
    with member(broker, topic) as reader:
        lots = reader.lots(follow=False, count=4)
        assert len(next(lots)) == 4  # and then nobody asks for more, as after Ctrl-C
    assert position(broker, topic) is None


def test_records_that_came_after_the_beginning_are_left_for_the_next_time(
    broker: onelog.Broker, topic: str
) -> None:
    with member(broker, topic) as reader, KafkaClient(broker.bootstrap, timeout_s=10) as client:
        lots = reader.lots(follow=False, count=None)
        found = [each.offset for each in next(lots)]
        write(client, topic, 3)
        found += [each.offset for lot in lots for each in lot]
    assert found == list(range(6))
    assert position(broker, topic) == 6


def test_who_follows_hears_of_what_comes(broker: onelog.Broker, topic: str) -> None:
    with member(broker, topic, start=Spot.LATEST) as reader:
        lots = reader.lots(follow=True, count=3)
        with KafkaClient(broker.bootstrap, timeout_s=10) as client:
            Positions(client).commit(topic, {(topic, 0): 6})
            write(client, topic, 3)
        assert [each.offset for lot in lots for each in lot] == [6, 7, 8]


def test_what_was_printed_is_committed_on_the_way(
    broker: onelog.Broker, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(members, "COMMIT_INTERVAL_S", 0.0)
    with member(broker, topic) as reader, KafkaClient(broker.bootstrap, timeout_s=10) as client:
        lots = reader.lots(follow=True, count=None)
        assert len(next(lots)) == 6
        write(client, topic, 3)
        assert len(next(lots)) == 3
        assert position(broker, topic) == 6


def test_records_that_come_while_it_begins_are_left_for_the_next_time(
    broker: onelog.Broker, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier = {0: OffsetAt(4, -1)}
    monkeypatch.setattr(Admin, "offsets", lambda *_, **__: earlier)
    with member(broker, topic) as reader:
        found = [each.offset for lot in reader.lots(follow=False, count=None) for each in lot]
    assert found == [0, 1, 2, 3]
    assert position(broker, topic) == 4
