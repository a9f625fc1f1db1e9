import threading

import pytest

import onelog
from onelog.binary.compression import Codec
from onelog.client.errors import BadAnswer
from onelog.client.kafka.admin import Admin
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.consumer import Consumer, Fetched
from onelog.client.kafka.errors import KafkaError
from onelog.client.kafka.producer import Producer
from onelog.model import Isolation
from onelog.protocols.kafka.errors import Code
from onelog.records.batch import Batch
from onelog.records.control import Aborted, Marker, Verdict, build_marker
from onelog.records.record import Header, Record
from tests.client.kafka.conftest import Cluster
from tests.support.fake_kafka import LOSE_ANSWER, OLD_VERSIONS, Log


def fill(log: Log, *sizes: int) -> None:
    for size in sizes:
        log.append(Batch.build([Record(None, str(log.end + i).encode(), 5) for i in range(size)]).data)


def test_a_fetch_brings_whole_batches_as_views_of_the_frame(cluster: Cluster) -> None:
    fake, client = cluster()
    fill(fake.add_topic("orders", leaders=[0]).logs[0], 2, 3)
    fetched = Consumer(client).fetch("orders", 0, 1)
    assert [(b.base_offset, b.offset_end) for b in fetched.batches] == [(0, 2), (2, 5)]
    assert all(isinstance(batch.data, memoryview) for batch in fetched.batches)
    assert (fetched.log_start, fetched.high_watermark, fetched.next_offset) == (0, 5, 5)
    assert [(offset, record.value) for offset, record in fetched.records()] == [
        (1, b"1"),
        (2, b"2"),
        (3, b"3"),
        (4, b"4"),
    ]


def test_a_batch_cut_short_at_the_end_is_dropped(cluster: Cluster) -> None:
    fake, client = cluster()
    fill(fake.add_topic("orders", leaders=[0]).logs[0], 1, 1, 1)
    fetched = Consumer(client).fetch("orders", 0, 0, bytes_max=150)
    assert fetched.next_offset == 2


def test_at_the_end_there_is_nothing_and_the_place_stays(cluster: Cluster) -> None:
    fake, client = cluster()
    fill(fake.add_topic("orders", leaders=[0]).logs[0], 2)
    fetched = Consumer(client).fetch("orders", 0, 2, wait_ms=0)
    assert (list(fetched.batches), fetched.next_offset) == ([], 2)


def test_outside_of_the_log_is_an_error_that_names_the_offset(cluster: Cluster) -> None:
    fake, client = cluster()
    fake.add_topic("orders", leaders=[0])
    with pytest.raises(KafkaError, match=r"orders/0: OFFSET_OUT_OF_RANGE .*asked for offset 7") as caught:
        Consumer(client).fetch("orders", 0, 7)
    assert caught.value.code == Code.OFFSET_OUT_OF_RANGE
    assert len(fake.requests("Fetch")) == 1


def test_what_was_lost_is_asked_for_again(cluster: Cluster) -> None:
    fake, client = cluster(nodes=2)
    log = fake.add_topic("orders", leaders=[0]).logs[0]
    fill(log, 2)
    fake.fault("Fetch", LOSE_ANSWER, Code.KAFKA_STORAGE_ERROR)
    assert Consumer(client).fetch("orders", 0, 0).next_offset == 2
    log.leader = 1
    assert Consumer(client).fetch("orders", 0, 0).next_offset == 2


def test_several_partitions_take_one_request_to_each_leader(cluster: Cluster) -> None:
    fake, client = cluster(nodes=2)
    logs = fake.add_topic("orders", leaders=[0, 1, 1]).logs
    for log in logs:
        fill(log, 1)
    fetched = Consumer(client).fetch_many("orders", {0: 0, 1: 0, 2: 1}, wait_ms=100)
    assert {p: each.next_offset for p, each in fetched.items()} == {0: 1, 1: 1, 2: 1}
    waits = [(node, body.max_wait_ms) for node, _, body in fake.requests("Fetch")]
    assert waits == [(0, 50), (1, 0)]


def test_iterating_ends_where_the_partition_ended_at_the_beginning(cluster: Cluster) -> None:
    fake, client = cluster()
    log = fake.add_topic("orders", leaders=[0]).logs[0]
    fill(log, 2, 2)
    found = []
    for offset, _ in Consumer(client).iterate("orders", 0, 1, bytes_max=100):
        found.append(offset)
        fill(log, 1)
    assert found == [1, 2, 3]


def test_iterating_may_be_told_where_to_end(cluster: Cluster) -> None:
    fake, client = cluster()
    fill(fake.add_topic("orders", leaders=[0]).logs[0], 5)
    assert [o for o, _ in Consumer(client).iterate("orders", 0, 0, offset_end=3)] == [0, 1, 2]
    assert list(Consumer(client).iterate("orders", 0, 5, offset_end=5)) == []


def test_aborted_records_and_markers_are_left_out_but_moved_over() -> None:
    def mine(offset: int) -> Batch:
        batch = Batch.build(
            [Record(None, b"x", 1)], producer_id=9, producer_epoch=0, base_sequence=0, transactional=True
        )
        return batch.renumbered(base_offset=offset, leader_epoch=0)

    marker = build_marker(
        Marker(Verdict.ABORTED, 0), producer_id=9, producer_epoch=0, timestamp_ms=1, base_offset=2
    )
    batches = [mine(0), Batch.build([Record(None, b"y", 1)], base_offset=1), marker, mine(3)]
    fetched = Fetched("orders", 0, 0, batches, 4, 4, 0, aborted=[Aborted(9, 0)])
    assert [offset for offset, _ in fetched.records()] == [1, 3]
    assert fetched.next_offset == 4


def test_the_isolation_goes_with_the_request(cluster: Cluster) -> None:
    fake, client = cluster()
    fake.add_topic("orders", leaders=[0])
    consumer = Consumer(client, isolation=Isolation.READ_COMMITTED)
    consumer.fetch("orders", 0, 0)
    consumer.fetch("orders", 0, 0, isolation=Isolation.READ_UNCOMMITTED)
    assert [body.isolation_level for _, _, body in fake.requests("Fetch")] == [1, 0]


def test_a_batch_with_a_wrong_checksum_is_not_handed_out(cluster: Cluster) -> None:
    fake, client = cluster()
    log = fake.add_topic("orders", leaders=[0]).logs[0]
    fill(log, 1)
    broken = bytearray(log.batches[0].data)
    broken[-1] ^= 1
    log.batches[0] = Batch.of(bytes(broken))
    with pytest.raises(BadAnswer, match="orders/0, batch at offset 0"):
        Consumer(client).fetch("orders", 0, 0)
    assert Consumer(client, check_crc=False).fetch("orders", 0, 0).next_offset == 1


def test_an_old_cluster_is_asked_by_name(cluster: Cluster) -> None:
    fake, client = cluster(versions=OLD_VERSIONS)
    fill(fake.add_topic("orders", leaders=[0]).logs[0], 1)
    assert Consumer(client).fetch("orders", 0, 0).next_offset == 1
    assert [version for _, version, _ in fake.requests("Fetch")] == [10]


@pytest.mark.parametrize("codec", list(Codec))
def test_a_real_broker_gives_back_what_it_was_given(broker: onelog.Broker, codec: Codec) -> None:
    topic = f"given-{codec.name}"
    said = [
        Record(b"k%d" % i if i % 3 else None, b"v" * i if i % 5 else None, 1000 + i, (Header("h", b"\xff"),))
        for i in range(500)
    ]
    with KafkaClient(broker.bootstrap, timeout_s=10) as client:
        Admin(client).create_topic(topic, partition_count=2)
        producer = Producer(client, codec=codec, batch_bytes_max=20_000)
        producer.send(topic, said[:250], partition=1)
        producer.send(topic, said[250:], partition=1)
        found = list(Consumer(client).iterate(topic, 1, 0, bytes_max=30_000))
        assert found == list(enumerate(said))
        assert list(Consumer(client).iterate(topic, 0, 0, wait_ms=0)) == []


def test_a_waiting_fetch_of_a_real_broker_ends_when_something_comes(broker: onelog.Broker) -> None:
    with KafkaClient(broker.bootstrap, timeout_s=10) as client:
        Admin(client).create_topic("awaited", partition_count=1)
        consumer = Consumer(client)
        found: list[Fetched] = []
        waiting = threading.Thread(
            target=lambda: found.append(consumer.fetch("awaited", 0, 0, wait_ms=60_000))
        )
        waiting.start()
        Producer(client).send("awaited", [Record(None, b"now", 1)])
        waiting.join(30)
        assert found[0].next_offset == 1
