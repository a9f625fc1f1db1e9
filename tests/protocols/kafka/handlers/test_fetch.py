from typing import Any
from uuid import UUID

import pytest

from onelog.binary.compression import Codec
from onelog.broker.broker import Append, ProduceRules
from onelog.model import TopicName
from onelog.protocols.kafka.errors import Code
from onelog.protocols.kafka.handlers import fetch as subject
from onelog.protocols.kafka.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
    PartitionData,
)
from onelog.protocols.kafka.recordset import received
from onelog.protocols.kafka.versions import APIS, FETCH, LIST_OFFSETS, OFFSET_FOR_LEADER_EPOCH, PRODUCE
from onelog.records.batch import Batch
from onelog.records.control import Marker, Verdict
from tests.support.kafka_peer import KafkaPeer
from tests.support.kafka_talk import (
    batch,
    create_topic,
    delete_topic,
    fetch_request,
    list_offset,
    only,
    produce_request,
)
from tests.support.virtual_clock import START_MS

VERSIONS = range(APIS[FETCH].version_min, APIS[FETCH].version_max + 1)
LIST_VERSIONS = range(APIS[LIST_OFFSETS].version_min, APIS[LIST_OFFSETS].version_max + 1)


def produce(
    peer: KafkaPeer, *values: bytes, topic: str = "orders", partition: int = 0, **options: Any
) -> int:
    body = produce_request(batch(*values, **options), topic=topic, partition=partition)
    part = only(peer.ask(PRODUCE, 9, body).responses, "partition_responses")
    assert part.error_code == 0
    offset: int = part.base_offset
    return offset


def fetch(peer: KafkaPeer, offset: int, *, version: int = 12, **options: Any) -> PartitionData:
    answer = peer.ask(FETCH, version, fetch_request(offset, **options))
    assert (answer.error_code, answer.session_id) == (0, 0)
    part = only(answer.responses, "partitions")
    assert isinstance(part, PartitionData)
    return part


def batches(part: PartitionData) -> list[Batch]:
    return received(part.records, where="answer")


def values(part: PartitionData) -> list[bytes | None]:
    return [record.value for one in batches(part) for record in one.records()]


@pytest.mark.parametrize("version", VERSIONS)
def test_records_are_fetched_in_every_version(peer: KafkaPeer, version: int) -> None:
    topic_id = create_topic(peer, "orders")
    produce(peer, b"a", b"b")
    produce(peer, b"c")
    part = fetch(peer, 0, version=version, topic_id=topic_id)
    assert values(part) == [b"a", b"b", b"c"]
    assert [one.base_offset for one in batches(part)] == [0, 2]
    assert (part.error_code, part.high_watermark, part.last_stable_offset) == (0, 3, 3)
    assert part.log_start_offset == (0 if version >= 5 else -1)
    assert part.aborted_transactions is None


def test_an_offset_inside_a_batch_gets_the_whole_batch(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    produce(peer, b"a", b"b", b"c")
    assert values(fetch(peer, 1)) == [b"a", b"b", b"c"]


def test_the_end_of_the_log_is_empty_and_no_error(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    produce(peer, b"a")
    part = fetch(peer, 1)
    assert (part.error_code, part.high_watermark, batches(part)) == (0, 1, [])


@pytest.mark.parametrize("offset", [2, -1, 1 << 62])
def test_an_offset_outside_of_the_log_is_out_of_range(peer: KafkaPeer, offset: int) -> None:
    create_topic(peer, "orders")
    produce(peer, b"a")
    part = fetch(peer, offset)
    assert part.error_code == Code.OFFSET_OUT_OF_RANGE
    assert (part.high_watermark, part.last_stable_offset, part.log_start_offset) == (-1, -1, -1)


@pytest.mark.parametrize("bounds", [{"partition_max_bytes": 1}, {"max_bytes": 1}, {"partition_max_bytes": 0}])
def test_one_whole_batch_comes_however_small_the_bounds(peer: KafkaPeer, bounds: dict[str, int]) -> None:
    create_topic(peer, "orders")
    produce(peer, b"a" * 1000)
    produce(peer, b"b")
    assert values(fetch(peer, 0, **bounds)) == [b"a" * 1000]


def test_only_the_first_partition_with_records_may_exceed_its_bound(peer: KafkaPeer) -> None:
    create_topic(peer, "orders", partitions=3)
    for partition in (1, 2):
        produce(peer, b"x" * 500, partition=partition)
    parts = [FetchPartition(partition=n, fetch_offset=0, partition_max_bytes=10) for n in range(3)]
    body = FetchRequest(max_bytes=1 << 20, topics=[FetchTopic(topic="orders", partitions=parts)])
    (topic,) = peer.ask(FETCH, 11, body).responses
    assert [len(batches(part)) for part in topic.partitions] == [0, 1, 0]


def test_a_reader_at_the_end_is_answered_when_a_record_comes(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    waiting = peer.begin(FETCH, 12, fetch_request(0, max_wait_ms=60_000))
    assert not waiting.is_there()
    produce(peer.house.peer(), b"a")
    assert waiting.is_there()
    assert values(only(waiting.body().responses, "partitions")) == [b"a"]


def test_a_reader_at_the_end_is_answered_when_its_time_is_up_and_not_before(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    waiting = peer.begin(FETCH, 12, fetch_request(0, max_wait_ms=500))
    peer.house.advance(499)
    assert not waiting.is_there()
    peer.house.advance(1)
    assert waiting.is_there()
    assert only(waiting.body().responses, "partitions").error_code == 0


def test_a_reader_waits_for_as_many_bytes_as_it_wants(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    waiting = peer.begin(FETCH, 12, fetch_request(0, max_wait_ms=60_000, min_bytes=700))
    produce(peer.house.peer(), b"a" * 300)
    assert not waiting.is_there()
    produce(peer.house.peer(), b"b" * 300)
    assert waiting.is_there()
    assert len(values(only(waiting.body().responses, "partitions"))) == 2


def test_a_reader_does_not_wait_beside_a_partition_that_cannot_be_read(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    parts = [FetchPartition(partition=n, fetch_offset=0, partition_max_bytes=100) for n in (0, 1)]
    topics = [FetchTopic(topic="orders", partitions=parts), FetchTopic(topic="nowhere", partitions=parts[:1])]
    for asked, codes in ((topics[:1], [0, 3]), (topics[1:], [3]), (topics, [0, 3, 3])):
        waiting = peer.begin(FETCH, 12, FetchRequest(max_wait_ms=60_000, min_bytes=1, topics=asked))
        assert waiting.is_there()
        found = [part.error_code for topic in waiting.body().responses for part in topic.partitions]
        assert found == codes


def test_a_request_for_nothing_is_answered_at_once(peer: KafkaPeer) -> None:
    waiting = peer.begin(FETCH, 12, FetchRequest(max_wait_ms=60_000, min_bytes=1, topics=[]))
    assert waiting.is_there()
    assert waiting.body().responses == []


def test_a_reader_is_answered_when_its_topic_goes(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    waiting = peer.begin(FETCH, 12, fetch_request(0, max_wait_ms=60_000))
    delete_topic(peer.house.peer(), "orders")
    assert waiting.is_there()
    assert only(waiting.body().responses, "partitions").error_code == Code.UNKNOWN_TOPIC_OR_PARTITION


def test_an_id_that_was_deleted_is_unknown_also_when_its_topic_was_made_again(peer: KafkaPeer) -> None:
    old = create_topic(peer, "orders")
    delete_topic(peer, "orders")
    new = create_topic(peer, "orders")
    for topic_id, code in (
        (old, Code.UNKNOWN_TOPIC_ID),
        (UUID(int=0), Code.UNKNOWN_TOPIC_ID),
        (new, Code.NONE),
    ):
        assert fetch(peer, 0, version=13, topic="", topic_id=topic_id).error_code == code


def test_a_leader_epoch_that_is_not_ours_is_refused(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    produce(peer, b"a")
    ours = peer.house.broker.describe_partition("orders", 0).leader_epoch
    for epoch, code in ((-1, 0), (ours, 0), (ours - 2, 74), (ours + 1, 75)):
        assert fetch(peer, 0, leader_epoch=epoch).error_code == code


@pytest.mark.parametrize(("session_id", "epoch"), [(0, 0), (0, -1), (5, -1), (5, 0)])
def test_a_client_that_begins_or_ends_a_session_fetches_fully(
    peer: KafkaPeer, session_id: int, epoch: int
) -> None:
    create_topic(peer, "orders")
    produce(peer, b"a")
    assert values(fetch(peer, 0, session_id=session_id, session_epoch=epoch)) == [b"a"]


@pytest.mark.parametrize("session_id", [0, 5])
def test_there_is_no_session_to_go_on_with(peer: KafkaPeer, session_id: int) -> None:
    create_topic(peer, "orders")
    answer = peer.ask(FETCH, 12, fetch_request(0, session_id=session_id, session_epoch=1))
    assert (answer.error_code, answer.responses) == (Code.FETCH_SESSION_ID_NOT_FOUND, [])


def test_committed_reads_get_a_list_of_aborted_transactions(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    produce(peer, b"a")
    part = fetch(peer, 0, isolation_level=1)
    assert (values(part), part.aborted_transactions, part.last_stable_offset) == ([b"a"], [], 1)


def test_committed_reads_end_before_what_is_open_and_name_what_was_aborted(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    produce(peer, b"a")
    for number, verdict in enumerate((Verdict.ABORTED, Verdict.COMMITTED, None)):
        _append_in_transaction(peer, sequence=number)
        if verdict is not None:
            _end_transaction(peer, verdict)
    produce(peer, b"e")
    part = fetch(peer, 0, isolation_level=1)
    found = [(each.producer_id, each.first_offset) for each in part.aborted_transactions or ()]
    assert found == [(7, 1)]
    assert (part.last_stable_offset, part.high_watermark) == (5, 7)
    assert [batch.base_offset for batch in batches(part)] == [0, 1, 2, 3, 4]
    assert len(batches(fetch(peer, 0))) == 7
    assert fetch(peer, 0).aborted_transactions is None
    part_of = ListOffsetsPartition(partition_index=0, timestamp=-1)
    for isolation_level, offset in ((1, 5), (0, 7)):
        body = ListOffsetsRequest(
            replica_id=-1,
            isolation_level=isolation_level,
            topics=[ListOffsetsTopic(name="orders", partitions=[part_of])],
        )
        assert peer.ask(LIST_OFFSETS, 11, body).topics[0].partitions[0].offset == offset


def _append_in_transaction(peer: KafkaPeer, *, sequence: int) -> None:
    """As the coordinator will let it."""
    records = batch(b"t", producer_id=7, producer_epoch=0, base_sequence=sequence, transactional=True)
    append = Append(TopicName("orders"), 0, [Batch.of(records)])
    rules = ProduceRules(dialect="kafka", batch_bytes_max=1 << 20)

    async def appended() -> None:
        (ticket,) = peer.house.broker.produce([append], rules=rules)
        await ticket

    peer.house.loop.run_until_complete(appended())


def _end_transaction(peer: KafkaPeer, verdict: Verdict) -> None:
    async def ended() -> None:
        await peer.house.broker.end_transaction(
            "orders", 0, Marker(verdict, 0), producer_id=7, producer_epoch=0
        )

    peer.house.loop.run_until_complete(ended())


def test_zstd_is_refused_to_a_reader_that_does_not_know_it(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    produce(peer, b"a", codec=Codec.ZSTD)
    assert fetch(peer, 0, version=9).error_code == Code.UNSUPPORTED_COMPRESSION_TYPE
    assert values(fetch(peer, 0, version=10)) == [b"a"]


def test_the_bytes_of_batches_are_handed_on_and_not_copied(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    produce(peer, b"a" * 100_000)
    answer = peer.begin(FETCH, 12, fetch_request(0))
    message = peer.house.loop.run_until_complete(answer.message())
    (one,) = only(message.responses, "partitions").records
    assert any(buffer is one for buffer in peer.connection.send(answer.tag, message))


# ListOffsets


@pytest.mark.parametrize("version", LIST_VERSIONS)
def test_the_ends_of_a_log_are_listed_in_every_version(peer: KafkaPeer, version: int) -> None:
    create_topic(peer, "orders")
    assert [list_offset(peer, at, version=version).offset for at in (-1, -2)] == [0, 0]
    produce(peer, b"a", b"b")
    assert [list_offset(peer, at, version=version).offset for at in (-1, -2)] == [2, 0]
    assert list_offset(peer, -1, version=version).timestamp == -1


def test_the_greatest_time_is_that_of_the_true_maximum(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    found = list_offset(peer, -3)
    assert (found.error_code, found.offset, found.timestamp) == (0, -1, -1)
    produce(peer, b"a", b"b", timestamp_ms=START_MS)
    produce(peer, b"c", timestamp_ms=START_MS - 5000)
    found = list_offset(peer, -3)
    assert (found.offset, found.timestamp) == (1, START_MS + 1)


def test_without_tiers_the_earliest_local_is_the_earliest_and_nothing_is_tiered(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    produce(peer, b"a")
    assert list_offset(peer, -4).offset == 0
    for at in (-5, -6):
        found = list_offset(peer, at)
        assert (found.error_code, found.offset, found.timestamp) == (0, -1, -1)


@pytest.mark.parametrize(("at", "version"), [(-3, 6), (-4, 7), (-5, 8), (-6, 10), (-7, 11)])
def test_a_special_time_that_the_version_does_not_know_is_unsupported(
    peer: KafkaPeer, at: int, version: int
) -> None:
    create_topic(peer, "orders")
    assert list_offset(peer, at, version=version).error_code == Code.UNSUPPORTED_VERSION


@pytest.mark.parametrize("codec", list(Codec))
def test_a_time_leads_to_the_first_record_of_it_inside_a_batch(peer: KafkaPeer, codec: Codec) -> None:
    create_topic(peer, "orders")
    produce(peer, b"a", b"b", b"c", timestamp_ms=START_MS, codec=codec)
    produce(peer, b"d", timestamp_ms=START_MS + 100, codec=codec)
    for at, offset, timestamp in ((0, 0, 0), (1, 1, 1), (2, 2, 2), (3, 3, 100), (100, 3, 100)):
        found = list_offset(peer, START_MS + at)
        assert (found.offset, found.timestamp) == (offset, START_MS + timestamp)
        assert found.leader_epoch >= 0


def test_a_time_behind_the_last_record_leads_nowhere(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    produce(peer, b"a")
    found = list_offset(peer, START_MS + 1)
    assert (found.error_code, found.offset, found.timestamp, found.leader_epoch) == (0, -1, -1, -1)


def test_what_does_not_exist_has_no_offsets(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    assert list_offset(peer, -1, topic="nowhere").error_code == Code.UNKNOWN_TOPIC_OR_PARTITION
    for at in (-1, -5):
        part = ListOffsetsPartition(partition_index=1, timestamp=at)
        body = ListOffsetsRequest(topics=[ListOffsetsTopic(name="orders", partitions=[part])])
        found = only(peer.ask(LIST_OFFSETS, 9, body).topics, "partitions")
        assert found.error_code == Code.UNKNOWN_TOPIC_OR_PARTITION


def test_a_partition_that_is_asked_for_twice_is_an_invalid_request(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    part = ListOffsetsPartition(partition_index=0, timestamp=-1)
    body = ListOffsetsRequest(topics=[ListOffsetsTopic(name="orders", partitions=[part, part])])
    (topic,) = peer.ask(LIST_OFFSETS, 5, body).topics
    assert [one.error_code for one in topic.partitions] == [Code.INVALID_REQUEST] * 2


def test_a_leader_epoch_of_the_future_is_unknown_to_the_list_as_well(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    ours = peer.house.broker.describe_partition("orders", 0).leader_epoch
    assert list_offset(peer, -1, current_leader_epoch=ours + 1).error_code == Code.UNKNOWN_LEADER_EPOCH


def test_every_special_time_has_a_meaning() -> None:
    assert set(subject.SPECIAL_SINCE) == {-1, -2, -3, -4, -5, -6}


# OffsetForLeaderEpoch

EPOCH_VERSIONS = range(
    APIS[OFFSET_FOR_LEADER_EPOCH].version_min, APIS[OFFSET_FOR_LEADER_EPOCH].version_max + 1
)


def epoch_end(
    peer: KafkaPeer, epoch: int, *, topic: str = "orders", version: int = 4, **options: Any
) -> tuple[int, int, int]:
    part = OffsetForLeaderPartition(partition=0, leader_epoch=epoch, **options)
    body = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic=topic, partitions=[part])])
    found = only(peer.ask(OFFSET_FOR_LEADER_EPOCH, version, body).topics, "partitions")
    return found.error_code, found.leader_epoch, found.end_offset


@pytest.mark.parametrize("version", EPOCH_VERSIONS)
def test_the_epoch_of_the_log_ends_where_the_log_does_in_every_version(peer: KafkaPeer, version: int) -> None:
    create_topic(peer, "orders")
    assert epoch_end(peer, 0, version=version) == (0, 0, 0)
    produce(peer, b"a", b"b")
    assert epoch_end(peer, 0, version=version) == (0, 0, 2)
    assert epoch_end(peer, 0, version=version, current_leader_epoch=0) == (0, 0, 2)


@pytest.mark.parametrize("epoch", [-1, 1, 7])
def test_an_epoch_that_never_was_ends_nowhere(peer: KafkaPeer, epoch: int) -> None:
    create_topic(peer, "orders")
    produce(peer, b"a")
    assert epoch_end(peer, epoch) == (0, -1, -1)


def test_who_asks_for_the_end_of_an_epoch_has_to_know_who_leads(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    assert epoch_end(peer, 0, current_leader_epoch=1) == (Code.UNKNOWN_LEADER_EPOCH, -1, -1)
    assert epoch_end(peer, 0, topic="nowhere") == (Code.UNKNOWN_TOPIC_OR_PARTITION, -1, -1)
