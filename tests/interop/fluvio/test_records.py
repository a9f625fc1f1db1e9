"""The wheel writes, reads, tails and remembers."""

import time

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.interop.fluvio.conftest import Open
from tests.interop.fluvio.wheel import Wheel, WheelError
from tests.support.served import Served

pytestmark = pytest.mark.interop

PAIRS = [["k", "a"], ["", "b"], ["\xff\xfe", "\x80\x00"]]


def values(records: list[list[object]]) -> list[object]:
    return [record[2] for record in records]


@pytest.fixture
def topic(wheel: Wheel) -> str:
    wheel("create", topic="records")
    return "records"


def test_records_come_back_with_their_offsets_keys_and_times(wheel: Wheel, topic: str) -> None:
    before_ms = time.time() * 1000
    assert wheel("produce", topic=topic, records=PAIRS) == [[0, 0], [0, 1], [0, 2]]
    found = wheel.records(topic=topic)
    assert [record[:3] for record in found] == [[n, *pair] for n, pair in enumerate(PAIRS)]
    assert all(before_ms - 1000 <= record[3] <= time.time() * 1000 for record in found)


@pytest.mark.parametrize("isolation", ["ReadUncommitted", "ReadCommitted"])
@pytest.mark.parametrize("codec", ["None_", "Gzip", "Snappy", "Lz4", "Zstd"])
def test_every_codec_and_isolation(wheel: Wheel, topic: str, codec: str, isolation: str) -> None:
    records = [[f"k{n}", f"value {n} " * 20] for n in range(200)]
    offsets = wheel("produce", topic=topic, records=records, compression=codec, isolation=isolation)
    assert offsets == [[0, n] for n in range(200)]
    assert [record[:3] for record in wheel.records(topic=topic)] == [[n, *r] for n, r in enumerate(records)]


@pytest.mark.parametrize(
    ("spot", "number", "first"),
    [
        ("beginning", 0, 0),
        ("from_beginning", 3, 3),
        ("absolute", 4, 4),
        ("from_end", 2, 8),
        ("end", 0, 10),
        ("from_beginning", 99, 10),
        ("from_end", 99, 0),
    ],
)
def test_a_reader_begins_where_it_wants(wheel: Wheel, topic: str, spot: str, number: int, first: int) -> None:
    wheel("produce", topic=topic, records=[["k", str(n)] for n in range(10)])
    found = wheel.records(topic=topic, spot=spot, number=number)
    assert [record[0] for record in found] == list(range(first, 10))


def test_an_empty_partition_has_nothing_and_says_so_at_once(wheel: Wheel, topic: str) -> None:
    began = time.monotonic()
    assert wheel.records(topic=topic) == []
    assert time.monotonic() - began < 5


def test_a_reader_behind_the_end_is_told(wheel: Wheel, topic: str) -> None:
    wheel("produce", topic=topic, records=PAIRS)
    with pytest.raises(WheelError, match="start offset: 99 is greater than leo: 3"):
        wheel.records(topic=topic, spot="absolute", number=99, count=1)


def test_a_small_size_loses_nothing(wheel: Wheel, topic: str) -> None:
    for n in range(20):
        wheel("produce", topic=topic, records=[["k", f"{n}-{m} " * 10] for m in range(15)])
    found = wheel.records(topic=topic, bytes_max=100, count=300)
    assert [record[0] for record in found] == list(range(300))


def test_a_tail_gets_what_comes(wheel: Wheel, open_wheel: Open, topic: str) -> None:
    tail = open_wheel()
    tail.begin("consume", topic=topic, spot="beginning", count=5)
    for n in range(5):
        wheel("produce", topic=topic, records=[["k", str(n)]])
    assert values(list(tail.said())) == ["0", "1", "2", "3", "4"]


def test_many_streams_on_one_connection(wheel: Wheel) -> None:
    wheel("create", topic="many", partitions=8)
    placed = wheel("produce", topic="many", records=[[f"k{n}", str(n)] for n in range(200)])
    assert {partition for partition, _ in placed} == set(range(8))
    found = wheel("pair", topic="many", partitions=8)
    assert len(found) == 8
    assert all(record[0] == 0 for record in found)


def test_a_record_of_3_mb(wheel: Wheel, topic: str) -> None:
    record = ["k", "x" * 3_000_000]
    with pytest.raises(WheelError, match=r"(?i)larger|too large|exceed"):
        wheel("produce", topic=topic, records=[record])
    assert wheel("produce", topic=topic, records=[record], max_request_size=33_000_000) == [[0, 0]]
    assert values(wheel.records(topic=topic)) == [record[1]]


def test_a_consumer_goes_on_behind_its_offset_and_over_a_restart(
    wheel: Wheel, open_wheel: Open, broker: Served, topic: str
) -> None:
    wheel("produce", topic=topic, records=[["k", str(n)] for n in range(10)])
    assert not wheel("offsets")
    assert values(wheel("managed", topic=topic, consumer="c1", count=4)) == ["0", "1", "2", "3"]
    [[consumer, where, partition, offset, modified_s]] = wheel("offsets")
    assert [consumer, where, partition, offset] == ["c1", topic, 0, 3]
    assert abs(modified_s - time.time()) < 60
    restart(broker)
    again = open_wheel()
    assert values(again("managed", topic=topic, consumer="c1", count=3)) == ["4", "5", "6"]
    absolute = again("managed", topic=topic, consumer="c1", count=2, spot="absolute", number=1)
    assert values(absolute) == ["1", "2"]
    again("forget", consumer="c1", topic=topic)
    assert not again("offsets")


def test_a_consumers_offset_is_what_kafkas_clients_see(wheel: Wheel, broker: Served, topic: str) -> None:
    wheel("produce", topic=topic, records=[["k", str(n)] for n in range(10)])
    wheel("managed", topic=topic, consumer="c1", count=4)
    consumer = Consumer({"bootstrap.servers": kafka(broker), "group.id": "c1"})
    place = TopicPartition(topic, 0)
    assert consumer.committed([place], timeout=20)[0].offset == 4
    consumer.commit(offsets=[TopicPartition(topic, 0, 7)], asynchronous=False)
    consumer.close()
    assert values(wheel("managed", topic=topic, consumer="c1", count=2)) == ["7", "8"]


def test_kafkas_records_arrive_as_far_as_fluvio_can_say_them(
    wheel: Wheel, broker: Served, topic: str
) -> None:
    producer = Producer({"bootstrap.servers": kafka(broker), "compression.type": "snappy"})
    producer.produce(topic, b"v", key=b"k", partition=0, headers=[("h", b"1")], timestamp=1_700_000_000_000)
    producer.produce(topic, None, key=b"gone", partition=0)
    producer.produce(topic, b"no key", partition=0)
    assert producer.flush(20) == 0
    found = wheel.records(topic=topic)
    assert [record[1:3] for record in found] == [["k", "v"], ["gone", ""], ["No key", "no key"]]
    assert found[0][3] == 1_700_000_000_000


def restart(broker: Served) -> None:
    """After SIGKILL."""
    broker.kill()
    broker.start()


def kafka(broker: Served) -> str:
    return f"127.0.0.1:{broker.ports['kafka']}"


def test_a_smartmodule_is_refused_by_name(wheel: Wheel, topic: str) -> None:
    wheel("produce", topic=topic, records=PAIRS)
    with pytest.raises(WheelError, match="nope"):
        wheel.records(topic=topic, count=1, smartmodule="nope")


def test_a_producer_goes_on_over_a_restart(wheel: Wheel, broker: Served, topic: str) -> None:
    wheel("produce", topic=topic, records=PAIRS)
    restart(broker)
    assert wheel("produce", topic=topic, records=PAIRS) == [[0, 3], [0, 4], [0, 5]]


def test_a_topic_that_is_deleted_ends_a_tail(wheel: Wheel, open_wheel: Open, topic: str) -> None:
    tail = open_wheel()
    wheel("produce", topic=topic, records=PAIRS)
    tail.begin("consume", topic=topic, count=4)
    said = tail.said()
    assert [next(said)[0] for _ in range(3)] == [0, 1, 2]
    wheel("delete", topic=topic)
    with pytest.raises(WheelError, match=r"(?i)delete"):
        next(said)


def test_a_consumer_that_is_cut_off_loses_nothing_and_repeats_nothing(
    wheel: Wheel, open_wheel: Open, broker: Served, topic: str
) -> None:
    tail = open_wheel()
    tail.begin("follow", topic=topic, count=300)
    for lot in range(6):
        records = [["k", str(lot * 50 + n)] for n in range(50)]
        wheel("produce", topic=topic, records=records)
        if lot in (1, 3):
            restart(broker)
    assert values(list(tail.said())) == [str(n) for n in range(300)]
