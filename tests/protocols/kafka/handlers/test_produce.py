from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from onelog.binary.compression import Codec
from onelog.protocols.contract import ProtocolError
from onelog.protocols.kafka.errors import Code
from onelog.protocols.kafka.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
)
from onelog.protocols.kafka.recordset import received
from onelog.protocols.kafka.versions import APIS, FETCH, PRODUCE
from onelog.records.batch import Batch
from onelog.records.codec import validate
from onelog.records.record import TimestampType
from tests.support.kafka_peer import KafkaHouse, KafkaPeer
from tests.support.kafka_talk import batch, create_topic, delete_topic, fetch_request, only, produce_request
from tests.support.virtual_clock import START_MS

VERSIONS = range(APIS[PRODUCE].version_min, APIS[PRODUCE].version_max + 1)
HOUR_MS = 3_600_000


def produce(
    peer: KafkaPeer, records: bytes | None, *, version: int = 9, topic: str = "orders", **options: Any
) -> PartitionProduceResponse:
    answer = peer.ask(PRODUCE, version, produce_request(records, topic=topic, **options))
    part = only(answer.responses, "partition_responses")
    assert isinstance(part, PartitionProduceResponse)
    return part


def stored(peer: KafkaPeer, topic: str = "orders") -> list[Batch]:
    part = only(peer.ask(FETCH, 12, fetch_request(0, topic=topic)).responses, "partitions")
    batches = received(part.records, where=topic)
    for one in batches:
        validate(one.data, where=topic)
    return batches


@pytest.mark.parametrize("version", VERSIONS)
def test_a_batch_is_acknowledged_with_its_offset_in_every_version(peer: KafkaPeer, version: int) -> None:
    topic_id = create_topic(peer, "orders")
    for expected in (0, 2):
        body = produce_request(batch(b"a", b"b"), topic_id=topic_id)
        part = only(peer.ask(PRODUCE, version, body).responses, "partition_responses")
        assert (part.error_code, part.base_offset, part.log_append_time_ms) == (0, expected, -1)
        assert part.log_start_offset == (0 if version >= 5 else -1)


@pytest.mark.parametrize("acks", [1, -1])
def test_acknowledgements_by_one_and_by_all_mean_the_same(peer: KafkaPeer, acks: int) -> None:
    create_topic(peer, "orders")
    assert produce(peer, batch(), acks=acks).base_offset == 0


def test_without_acknowledgement_there_is_no_answer_and_the_connection_goes_on(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    assert peer.ask(PRODUCE, 9, produce_request(batch(b"quiet"), acks=0)) is None
    assert produce(peer, batch(b"loud")).base_offset == 1


@pytest.mark.parametrize(
    "records", [batch()[:-1], None, batch(transactional=True)], ids=["torn", "null", "transactional"]
)
def test_without_acknowledgement_a_refusal_closes_the_connection(
    peer: KafkaPeer, records: bytes | None
) -> None:
    create_topic(peer, "orders")
    with pytest.raises(ProtocolError):
        peer.ask(PRODUCE, 9, produce_request(records, acks=0))


def test_without_acknowledgement_a_refusal_that_comes_later_closes_the_connection(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    with pytest.raises(ProtocolError):
        peer.ask(PRODUCE, 9, produce_request(batch(), partition=7, acks=0))


def test_other_acknowledgements_are_refused(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    assert produce(peer, batch(), acks=2).error_code == Code.INVALID_REQUIRED_ACKS
    assert stored(peer) == []


@pytest.mark.parametrize(
    ("records", "code"),
    [
        pytest.param(None, Code.INVALID_RECORD, id="null"),
        pytest.param(b"", Code.INVALID_RECORD, id="empty"),
        pytest.param(batch() + batch(), Code.INVALID_RECORD, id="two"),
        pytest.param(batch(base_offset=5), Code.INVALID_RECORD, id="based"),
        pytest.param(batch(control=True), Code.INVALID_RECORD, id="control"),
        pytest.param(batch(producer_id=4, producer_epoch=0), Code.INVALID_RECORD, id="no-sequence"),
        pytest.param(batch(offset_deltas=[3]), Code.INVALID_RECORD, id="gap"),
        pytest.param(batch()[:16] + b"\x01" + batch()[17:], Code.INVALID_RECORD, id="magic-1"),
        pytest.param(batch()[:-1] + b"\x7f", Code.CORRUPT_MESSAGE, id="bit-flipped"),
        pytest.param(batch()[:40], Code.CORRUPT_MESSAGE, id="torn"),
        pytest.param(batch(timestamp_ms=START_MS + 2 * HOUR_MS), Code.INVALID_TIMESTAMP, id="too-late"),
        pytest.param(
            batch(timestamp_type=TimestampType.LOG_APPEND_TIME), Code.INVALID_TIMESTAMP, id="claims-log-time"
        ),
    ],
)
def test_a_batch_that_may_not_be_is_refused_with_kafkas_code(
    peer: KafkaPeer, records: bytes | None, code: Code
) -> None:
    create_topic(peer, "orders")
    part = produce(peer, records)
    assert (Code(part.error_code), part.base_offset, part.log_append_time_ms) == (code, -1, -1)
    assert part.error_message
    assert stored(peer) == []


def test_zstd_is_refused_where_the_version_does_not_know_it(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    records = batch(codec=Codec.ZSTD)
    assert produce(peer, records, version=6).error_code == Code.UNSUPPORTED_COMPRESSION_TYPE
    assert produce(peer, records, version=7).error_code == 0


@pytest.mark.parametrize("codec", list(Codec))
def test_a_batch_keeps_its_bytes_but_for_its_place(peer: KafkaPeer, codec: Codec) -> None:
    create_topic(peer, "orders")
    records = batch(b"a" * 500, b"b", codec=codec)
    produce(peer, records)
    (one,) = stored(peer)
    assert bytes(one.data)[16:] == records[16:]


def test_a_batch_may_be_as_large_as_is_allowed_and_not_one_byte_more(peer: KafkaPeer) -> None:
    limit = 1_048_588
    create_topic(peer, "orders")
    around = len(batch(b"x" * (limit - 100))) - (limit - 100)
    largest, larger = batch(b"x" * (limit - around)), batch(b"x" * (limit - around + 1))
    assert (len(largest), len(larger)) == (limit, limit + 1)
    assert produce(peer, largest).error_code == 0
    assert produce(peer, larger).error_code == Code.MESSAGE_TOO_LARGE


def test_a_topic_may_have_a_bound_of_its_own(peer: KafkaPeer) -> None:
    create_topic(peer, "orders", settings={"max.message.bytes": "200"})
    assert produce(peer, batch(b"x" * 200)).error_code == Code.MESSAGE_TOO_LARGE
    assert produce(peer, batch(b"x" * 20)).error_code == 0


def test_a_topic_may_allow_times_far_ahead(peer: KafkaPeer) -> None:
    create_topic(peer, "orders", settings={"message.timestamp.after.max.ms": str(3 * HOUR_MS)})
    assert produce(peer, batch(timestamp_ms=START_MS + 2 * HOUR_MS)).error_code == 0


def test_a_topic_may_have_the_logs_time_and_the_answer_tells_it(peer: KafkaPeer) -> None:
    create_topic(peer, "orders", settings={"message.timestamp.type": "LogAppendTime"})
    part = produce(peer, batch(timestamp_ms=START_MS - 9 * HOUR_MS))
    assert part.log_append_time_ms == START_MS
    (one,) = stored(peer)
    assert one.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert [record.timestamp_ms for record in one.records()] == [START_MS]


def test_an_unknown_topic_is_not_made_by_producing(peer: KafkaPeer) -> None:
    assert produce(peer, batch(), topic="nowhere").error_code == Code.UNKNOWN_TOPIC_OR_PARTITION
    assert peer.house.broker.topics() == []


def test_an_unknown_partition_is_unknown(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    for partition in (1, -1):
        code = produce(peer, batch(), partition=partition).error_code
        assert code == Code.UNKNOWN_TOPIC_OR_PARTITION


def test_an_unknown_id_is_unknown_also_when_its_topic_was_made_again(peer: KafkaPeer) -> None:
    old = create_topic(peer, "orders")
    delete_topic(peer, "orders")
    new = create_topic(peer, "orders")
    for topic_id, code in (
        (old, Code.UNKNOWN_TOPIC_ID),
        (UUID(int=0), Code.UNKNOWN_TOPIC_ID),
        (new, Code.NONE),
    ):
        answer = peer.ask(PRODUCE, 13, produce_request(batch(), topic="", topic_id=topic_id))
        assert only(answer.responses, "partition_responses").error_code == code


@pytest.mark.parametrize("name", ["__consumer_offsets", "__transaction_state", "__share_group_state"])
def test_the_names_that_kafka_keeps_are_invalid_topics(peer: KafkaPeer, name: str) -> None:
    assert produce(peer, batch(), topic=name).error_code == Code.INVALID_TOPIC_EXCEPTION


def test_a_batch_of_a_transaction_is_refused_with_all_that_came_beside_it(peer: KafkaPeer) -> None:
    create_topic(peer, "orders", partitions=2)
    parts = [
        PartitionProduceData(index=0, records=batch()),
        PartitionProduceData(
            index=1, records=batch(transactional=True, producer_id=1, producer_epoch=0, base_sequence=0)
        ),
    ]
    body = ProduceRequest(acks=-1, topic_data=[TopicProduceData(name="orders", partition_data=parts)])
    (topic,) = peer.ask(PRODUCE, 9, body).responses
    codes = {part.error_code for part in topic.partition_responses}
    assert codes == {Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED}
    assert stored(peer) == []


def test_partitions_of_one_request_are_judged_one_by_one(peer: KafkaPeer) -> None:
    create_topic(peer, "orders", partitions=3)
    parts = [
        PartitionProduceData(index=0, records=batch(b"a")),
        PartitionProduceData(index=1, records=batch()[:-1]),
        PartitionProduceData(index=2, records=batch(b"c")),
        PartitionProduceData(index=3, records=batch(b"d")),
    ]
    body = ProduceRequest(acks=-1, topic_data=[TopicProduceData(name="orders", partition_data=parts)])
    (topic,) = peer.ask(PRODUCE, 9, body).responses
    assert [part.index for part in topic.partition_responses] == [0, 1, 2, 3]
    assert [Code(part.error_code) for part in topic.partition_responses] == [
        Code.NONE,
        Code.CORRUPT_MESSAGE,
        Code.NONE,
        Code.UNKNOWN_TOPIC_OR_PARTITION,
    ]


def numbered(sequence: int, *, producer_id: int = 7, epoch: int = 0, count: int = 1) -> bytes:
    values = [b"%d" % number for number in range(count)]
    return batch(*values, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)


def test_a_batch_that_is_sent_again_gets_its_first_offset_and_is_kept_once(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    assert [produce(peer, numbered(n)).base_offset for n in range(6)] == list(range(6))
    assert [produce(peer, numbered(n)).base_offset for n in range(1, 6)] == list(range(1, 6))
    assert len(stored(peer)) == 6


def test_a_batch_that_is_sent_again_after_a_restart_is_kept_once(tmp_path: Path) -> None:
    house = KafkaHouse(tmp_path / "data")
    create_topic(house.peer(), "orders")
    assert produce(house.peer(), numbered(0)).base_offset == 0
    house.restart()
    assert produce(house.peer(), numbered(0)).base_offset == 0
    assert produce(house.peer(), numbered(1)).base_offset == 1
    assert len(stored(house.peer())) == 2
    house.close()


def test_a_gap_in_the_sequence_is_out_of_order(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    produce(peer, numbered(0))
    assert produce(peer, numbered(2)).error_code == Code.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_an_older_epoch_is_invalid_and_a_newer_one_begins_at_0(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    produce(peer, numbered(0, epoch=3))
    assert produce(peer, numbered(1, epoch=2)).error_code == Code.INVALID_PRODUCER_EPOCH
    assert produce(peer, numbered(1, epoch=4)).error_code == Code.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert produce(peer, numbered(0, epoch=4)).error_code == 0


def test_a_sequence_begins_again_at_0_behind_the_largest(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    largest = (1 << 31) - 1
    assert produce(peer, numbered(largest - 1, count=2)).error_code == 0
    assert produce(peer, numbered(0)).error_code == 0


def test_a_batch_goes_to_the_disk_while_the_connection_is_free(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    answers = [peer.begin(PRODUCE, 9, produce_request(batch(b"%d" % number))) for number in range(10)]
    offsets = [only(answer.body().responses, "partition_responses").base_offset for answer in answers]
    assert offsets == list(range(10))


def test_an_administrators_tool_may_name_what_kafka_keeps(peer: KafkaPeer) -> None:
    body = produce_request(batch(), topic="__consumer_offsets")
    answer = peer.ask(PRODUCE, 9, body, client_id="__admin_client")
    part = only(answer.responses, "partition_responses")
    assert part.error_code == Code.UNKNOWN_TOPIC_OR_PARTITION
