import pytest

from onelog.binary.compression import Codec
from onelog.client.errors import BrokerUnavailable, OutcomeUnknown
from onelog.client.kafka.delivery import Sent
from onelog.client.kafka.errors import KafkaError
from onelog.client.kafka.partitioner import partition_of
from onelog.client.kafka.producer import Producer
from onelog.protocols.kafka.errors import Code
from onelog.protocols.kafka.versions import PRODUCE
from onelog.records.batch import Batch
from onelog.records.codec import validate
from onelog.records.record import Record
from tests.client.kafka.conftest import Cluster
from tests.support.fake_kafka import LOSE_ANSWER, LOSE_REQUEST, OLD_VERSIONS, Log


def records(*values: bytes, key: bytes | None = None) -> list[Record]:
    return [Record(key, value, 5) for value in values]


def values(log: Log) -> list[bytes | None]:
    return [record.value for batch in log.batches for record in batch.records()]


def test_records_land_in_order_and_their_place_comes_back(cluster: Cluster) -> None:
    fake, client = cluster()
    log = fake.add_topic("orders", leaders=[0]).logs[0]
    producer = Producer(client)
    assert producer.send("orders", records(b"a", b"b")) == [Sent(0, 0, 2)]
    assert producer.send("orders", records(b"c")) == [Sent(0, 2, 3)]
    assert values(log) == [b"a", b"b", b"c"]
    assert [batch.base_sequence for batch in log.batches] == [0, 2]
    assert len({batch.producer_id for batch in log.batches}) == 1
    for batch in log.batches:
        validate(batch.data, where="log")


def test_keys_choose_the_partition_and_the_rest_stays_together(cluster: Cluster) -> None:
    fake, client = cluster()
    logs = fake.add_topic("orders", leaders=[0, 0, 0]).logs
    producer = Producer(client)
    producer.send("orders", records(b"x", key=b"foobar"))
    assert values(logs[partition_of(b"foobar", 3)]) == [b"x"]
    producer.send("orders", records(b"1", b"2"))
    producer.send("orders", records(b"3", b"4"))
    found = [values(log) for log in logs]
    assert sum(found, []).count(b"1") == 1  # noqa: RUF017  # three short lists
    assert any(b"1" in some and b"2" in some for some in found)
    assert not any(b"1" in some and b"3" in some for some in found)


def test_a_partition_may_be_named(cluster: Cluster) -> None:
    fake, client = cluster()
    logs = fake.add_topic("orders", leaders=[0, 0]).logs
    Producer(client).send("orders", records(b"x", key=b"k"), partition=1)
    assert values(logs[1]) == [b"x"]


def test_each_leader_gets_its_own_partitions_in_one_request(cluster: Cluster) -> None:
    fake, client = cluster(nodes=2)
    fake.add_topic("orders", leaders=[0, 1, 1])
    sent = Producer(client).send_batches("orders", {p: [Batch.build(records(b"x"))] for p in range(3)})
    assert sorted(sent) == [Sent(0, 0, 1), Sent(1, 0, 1), Sent(2, 0, 1)]
    assert sorted(
        (node, [p.index for p in body.topic_data[0].partition_data])
        for node, _, body in fake.requests("Produce")
    ) == [(0, [0]), (1, [1, 2])]


def test_more_than_a_batch_goes_in_several(cluster: Cluster) -> None:
    fake, client = cluster()
    log = fake.add_topic("orders", leaders=[0]).logs[0]
    sent = Producer(client, batch_bytes_max=300).send("orders", records(*[b"x" * 100] * 5))
    assert [s.offset for s in sent] == [b.base_offset for b in log.batches]
    assert len(log.batches) > 1
    assert log.end == 5


@pytest.mark.parametrize("codec", list(Codec))
def test_batches_are_compressed_as_told(cluster: Cluster, codec: Codec) -> None:
    fake, client = cluster()
    log = fake.add_topic("orders", leaders=[0]).logs[0]
    Producer(client, codec=codec).send("orders", records(b"x" * 1000))
    assert log.batches[0].codec is codec
    assert values(log) == [b"x" * 1000]


@pytest.mark.parametrize(
    "fault", [LOSE_REQUEST, LOSE_ANSWER, Code.NOT_LEADER_OR_FOLLOWER, Code.REQUEST_TIMED_OUT]
)
def test_what_was_lost_is_sent_again_and_lands_once(cluster: Cluster, fault: Code | str) -> None:
    fake, client = cluster()
    log = fake.add_topic("orders", leaders=[0]).logs[0]
    fake.fault("Produce", fault, fault)
    producer = Producer(client)
    assert producer.send("orders", records(b"a")) == [Sent(0, 0, 1)]
    producer.send("orders", records(b"b"))
    assert values(log) == [b"a", b"b"]
    sequences = [
        Batch.of(body.topic_data[0].partition_data[0].records).base_sequence
        for _, _, body in fake.requests("Produce")
    ]
    assert sequences == [0, 0, 0, 1]


def test_a_new_leader_is_found(cluster: Cluster) -> None:
    fake, client = cluster(nodes=2)
    log = fake.add_topic("orders", leaders=[0]).logs[0]
    producer = Producer(client)
    producer.send("orders", records(b"a"))
    log.leader = 1
    producer.send("orders", records(b"b"))
    assert values(log) == [b"a", b"b"]


def test_what_one_partition_has_got_is_not_sent_again_for_another(cluster: Cluster) -> None:
    fake, client = cluster(nodes=2)
    logs = fake.add_topic("orders", leaders=[0, 1]).logs
    fake.node(1).hang_up()
    fake.fault("Produce", Code.NONE, LOSE_REQUEST)
    both = {p: [Batch.build(records(b"x"))] for p in range(2)}
    assert sorted(Producer(client).send_batches("orders", both)) == [Sent(0, 0, 1), Sent(1, 0, 1)]
    assert [len(log.batches) for log in logs] == [1, 1]
    assert len(fake.requests("Produce")) == 3


def test_after_a_failure_no_sequence_is_used_again(cluster: Cluster) -> None:
    fake, client = cluster()
    log = fake.add_topic("orders", leaders=[0]).logs[0]
    producer = Producer(client)
    fake.fault("Produce", *[LOSE_ANSWER] * 50)
    with pytest.raises(BrokerUnavailable, match="while producing to orders/0"):
        producer.send("orders", records(b"maybe"))
    fake.faults.clear()
    producer.send("orders", records(b"after"))
    assert values(log) == [b"maybe", b"after"]
    assert len({batch.producer_id for batch in log.batches}) == 2


def test_a_broker_that_forgot_the_producer_gets_a_new_one(cluster: Cluster) -> None:
    fake, client = cluster()
    log = fake.add_topic("orders", leaders=[0]).logs[0]
    producer = Producer(client)
    producer.send("orders", records(b"a"))
    fake.fault("Produce", Code.OUT_OF_ORDER_SEQUENCE_NUMBER)
    producer.send("orders", records(b"b"))
    assert values(log) == [b"a", b"b"]
    assert [batch.base_sequence for batch in log.batches] == [0, 0]


def test_a_gap_after_a_lost_answer_is_an_error(cluster: Cluster) -> None:
    fake, client = cluster()
    fake.add_topic("orders", leaders=[0])
    fake.fault("Produce", LOSE_REQUEST, Code.OUT_OF_ORDER_SEQUENCE_NUMBER)
    with pytest.raises(KafkaError, match="OUT_OF_ORDER_SEQUENCE_NUMBER"):
        Producer(client).send("orders", records(b"a"))
    assert len(fake.requests("InitProducerId")) == 1


def test_a_refusal_that_is_final_is_not_repeated(cluster: Cluster) -> None:
    fake, client = cluster()
    fake.add_topic("orders", leaders=[0])
    fake.fault("Produce", Code.MESSAGE_TOO_LARGE)
    with pytest.raises(KafkaError, match="orders/0: MESSAGE_TOO_LARGE") as caught:
        Producer(client).send("orders", records(b"a"))
    assert caught.value.attempts == 1
    assert len(fake.requests("Produce")) == 1


def test_without_sequences_a_lost_answer_ends_it(cluster: Cluster) -> None:
    fake, client = cluster()
    log = fake.add_topic("orders", leaders=[0]).logs[0]
    producer = Producer(client, idempotent=False)
    fake.fault("Produce", LOSE_ANSWER)
    with pytest.raises(OutcomeUnknown):
        producer.send("orders", records(b"a"))
    fake.fault("Produce", Code.REQUEST_TIMED_OUT)
    with pytest.raises(KafkaError, match="REQUEST_TIMED_OUT"):
        producer.send("orders", records(b"b"))
    fake.fault("Produce", Code.NOT_LEADER_OR_FOLLOWER)
    producer.send("orders", records(b"c"))
    assert values(log) == [b"a", b"c"]
    assert not fake.requests("InitProducerId")


def test_a_topic_is_made_when_that_is_wanted(cluster: Cluster) -> None:
    fake, client = cluster()
    Producer(client).send("new", records(b"a"))
    assert values(fake.topics["new"].logs[0]) == [b"a"]
    with pytest.raises(KafkaError, match="UNKNOWN_TOPIC_OR_PARTITION"):
        Producer(client, create_topics=False).send("newer", records(b"a"))


def test_a_topic_made_anew_is_counted_anew(cluster: Cluster) -> None:
    fake, client = cluster()
    fake.add_topic("orders", leaders=[0])
    producer = Producer(client)
    producer.send("orders", records(b"a"))
    del fake.topics["orders"]
    log = fake.add_topic("orders", leaders=[0]).logs[0]
    fake.fault("Produce", Code.UNKNOWN_TOPIC_ID)
    producer.send("orders", records(b"b"))
    assert values(log) == [b"b"]


def test_an_old_cluster_is_spoken_to_by_name(cluster: Cluster) -> None:
    fake, client = cluster(versions=OLD_VERSIONS)
    log = fake.add_topic("orders", leaders=[0]).logs[0]
    producer = Producer(client)
    producer.send("orders", records(b"a"))
    producer.send("orders", records(b"b"))
    assert values(log) == [b"a", b"b"]
    assert [version for _, version, _ in fake.requests("Produce")] == [7, 7]


def test_without_topic_ids_names_are_used_up_to_the_version_that_knows_them(cluster: Cluster) -> None:
    fake, client = cluster(versions={3: (0, 9)})
    fake.add_topic("orders", leaders=[0])
    Producer(client).send("orders", records(b"a"))
    assert [version for _, version, _ in fake.requests("Produce")] == [12]
    assert PRODUCE == 0


def test_nothing_is_sent_for_nothing(cluster: Cluster) -> None:
    fake, client = cluster()
    fake.add_topic("orders", leaders=[0])
    assert Producer(client).send("orders", []) == []
    assert not fake.requests("Produce")
