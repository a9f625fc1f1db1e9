from collections.abc import Iterator
from typing import Any

import pytest

import onelog
from onelog.binary.compression import Codec
from onelog.client.errors import BadAnswer, BrokerUnavailable, ClientError, OutcomeUnknown
from onelog.client.fluvio.client import BATCH_BYTES_MAX, FluvioClient, Sent, Span, lots
from onelog.client.fluvio.errors import Evicted, FluvioError
from onelog.client.fluvio.tail import Fetched
from onelog.client.kafka.admin import Admin
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.consumer import Consumer
from onelog.client.retry import Retrier, RetryPolicy
from onelog.protocols.fluvio.messages.error import Code
from onelog.protocols.fluvio.messages.objects import Compression
from onelog.protocols.fluvio.messages.produce import ProducedEntry, ProducedTopic, ProduceResponse
from onelog.protocols.fluvio.messages.topics import Status
from onelog.protocols.fluvio.versions import CREATE, PRODUCE
from onelog.records.record import Header, Record
from tests.support.fake_fluvio import HANG_UP, FakeFluvio
from tests.support.hand_clock import HandClock

ONE = Record(b"k", b"v", 1000)


@pytest.fixture
def client(broker: onelog.Broker) -> Iterator[FluvioClient]:
    with FluvioClient(broker.address("fluvio-sc"), timeout_s=10) as client:
        yield client


@pytest.fixture
def fake() -> Iterator[FakeFluvio]:
    with FakeFluvio(partitions=["orders-0"]) as fake:
        yield fake


@pytest.fixture
def patient(fake: FakeFluvio) -> Iterator[FluvioClient]:
    """A client of the fake, whose pauses take no time."""
    clock = HandClock()
    retrier = Retrier(RetryPolicy(timeout_s=5.0), clock=clock, sleep=clock.sleep)
    with FluvioClient(fake.address, retrier=retrier) as client:
        yield client


def produced(*faults: Any, base_offset: int = 7) -> ProduceResponse:
    entries = [ProducedEntry(error=fault, base_offset=base_offset) for fault in faults]
    return ProduceResponse(topics=[ProducedTopic(name="orders", entries=entries)])


def test_what_is_written_is_read_with_its_offsets(client: FluvioClient) -> None:
    client.create_topic("fluvio-written", partition_count=2)
    records = [Record(key, b"%d" % n, 1000 + n) for n, key in enumerate((b"k", None, b""))]
    assert client.produce("fluvio-written", 1, records) == [Sent(1, 0, 3)]
    assert client.spans("fluvio-written") == {0: Span(0, 0), 1: Span(0, 3)}
    assert client.fetch("fluvio-written", 1, 0) == Fetched(list(enumerate(records)), 3)
    assert client.fetch("fluvio-written", 1, 2).records == [(2, records[2])]
    assert client.fetch("fluvio-written", 0, 0) == Fetched((), 0)
    assert [record for _, record in client.iterate("fluvio-written", 1)] == records
    assert [offset for offset, _ in client.iterate("fluvio-written", 1, 2)] == [2]


@pytest.mark.parametrize("codec", list(Codec))
def test_every_codec_reaches_the_log(client: FluvioClient, broker: onelog.Broker, codec: Codec) -> None:
    topic = f"fluvio-codec-{codec.name.lower()}"
    client.create_topic(topic)
    client.produce(topic, 0, [ONE] * 3, codec=codec)
    with KafkaClient(broker.bootstrap) as kafka:
        [batch] = Consumer(kafka).fetch(topic, 0, 0).batches
    assert (batch.codec, list(batch.records())) == (codec, [ONE] * 3)


def test_many_records_go_in_batches_of_a_bounded_size(client: FluvioClient) -> None:
    client.create_topic("fluvio-many")
    half = Record(None, bytes(BATCH_BYTES_MAX // 2 - 32), 1000)
    assert client.produce("fluvio-many", 0, [half] * 5) == [Sent(0, 0, 2), Sent(0, 2, 4), Sent(0, 4, 5)]
    assert len(list(client.iterate("fluvio-many", 0))) == 5
    large = Record(None, bytes(BATCH_BYTES_MAX + 1), 1000)
    assert [len(lot) for lot in lots([ONE, large, ONE, ONE])] == [1, 1, 2]


def test_without_a_partition_keys_decide_and_the_others_take_turns(client: FluvioClient) -> None:
    client.create_topic("fluvio-placed", partition_count=3)
    keyed = [Record(key, key, 1000) for key in (b"a", b"b", b"c", b"d", b"", b"hello")]
    assert client.produce("fluvio-placed", None, keyed) == [Sent(1, 0, 1), Sent(0, 0, 2), Sent(2, 0, 3)]
    assert [record.value for _, record in client.iterate("fluvio-placed", 2)] == [b"c", b"", b"hello"]
    unkeyed = [Record(None, b"v", 1000)] * 2
    turns = [client.produce("fluvio-placed", None, unkeyed)[0].partition for _ in range(3)]
    assert sorted(turns) == [0, 1, 2]


@pytest.mark.parametrize("record", [Record(None, None, 1), Record(None, b"", 1, (Header("h", b""),))])
def test_what_fluvio_cannot_say_is_refused_before_it_is_sent(client: FluvioClient, record: Record) -> None:
    with pytest.raises(ClientError, match="Fluvio cannot say"):
        client.produce("nowhere", 0, [record])


def test_topics_are_made_listed_widened_and_removed(client: FluvioClient, broker: onelog.Broker) -> None:
    client.create_topic("fluvio-made", partition_count=2)
    assert client.topics()["fluvio-made"] == 2
    assert "consumer-offset" not in client.topics()
    client.add_partitions("fluvio-made", 1)
    assert sorted(client.spans("fluvio-made")) == [0, 1, 2]
    with pytest.raises(FluvioError, match="TOPIC_ALREADY_EXISTS") as found:
        client.create_topic("fluvio-made")
    assert (found.value.code, found.value.retriable) == (Code.TOPIC_ALREADY_EXISTS, False)
    client.delete_topic("fluvio-made")
    with pytest.raises(FluvioError, match="TOPIC_NOT_FOUND"):
        client.spans("fluvio-made")
    with KafkaClient(broker.bootstrap) as kafka:
        assert "fluvio-made" not in {topic.name for topic in Admin(kafka).topics()}


def test_a_codec_that_the_topic_does_not_allow_is_told(client: FluvioClient) -> None:
    client.create_topic("fluvio-strict", compression=Compression.GZIP)
    client.produce("fluvio-strict", 0, [ONE], codec=Codec.GZIP)
    with pytest.raises(FluvioError, match="COMPRESSION_ERROR"):
        client.produce("fluvio-strict", 0, [ONE])


def test_what_is_not_there_is_told_at_once(client: FluvioClient) -> None:
    for ask in (
        lambda: client.produce("missing", 0, [ONE]),
        lambda: client.produce("missing", None, [ONE]),
        lambda: client.fetch("missing", 0, 0),
        lambda: client.spans("missing"),
    ):
        with pytest.raises(FluvioError) as found:
            ask()
        assert found.value.code is Code.TOPIC_NOT_FOUND


def test_places_where_there_is_nothing_are_told(client: FluvioClient, broker: onelog.Broker) -> None:
    client.create_topic("fluvio-short")
    client.produce("fluvio-short", 0, [ONE] * 3)
    with pytest.raises(FluvioError, match="start offset: 99 is greater than leo: 3"):
        client.fetch("fluvio-short", 0, 99)
    with pytest.raises(Evicted, match="offset -1 is gone") as found:
        client.fetch("fluvio-short", 0, -1)
    assert found.value.next_available == 0


def test_consumers_offsets_are_kept_listed_and_deleted(client: FluvioClient) -> None:
    client.create_topic("fluvio-kept")
    client.produce("fluvio-kept", 0, [ONE] * 3)
    with client.tail("fluvio-kept", {0: 0}, consumer_id="reader") as tail:
        [fetched] = tail.read(wait_ms=5000).values()
        tail.commit(0, fetched.next_offset)
    [kept] = client.consumer_offsets("reader")
    assert (kept.topic, kept.partition, kept.offset) == ("fluvio-kept", 0, 2)
    assert kept in client.consumer_offsets()
    client.delete_consumer_offset("reader", "fluvio-kept", 0)
    assert client.consumer_offsets("reader") == []


def test_a_leader_that_has_moved_is_looked_up_anew(fake: FakeFluvio, patient: FluvioClient) -> None:
    answers = iter([produced(Code.NOT_LEADER_FOR_PARTITION), produced(0)])
    fake.unit_answers[PRODUCE] = lambda _: next(answers)
    assert patient.produce("orders", 0, [ONE]) == [Sent(0, 7, 8)]
    assert fake.keys() == [PRODUCE, PRODUCE]


def test_requests_go_in_the_highest_version_of_both(fake: FakeFluvio, patient: FluvioClient) -> None:
    fake.unit_answers[PRODUCE] = lambda _: produced(0)
    patient.produce("orders", 0, [ONE])
    assert [version for _, version, _ in fake.asked] == [24]


def test_a_produce_whose_answer_was_lost_is_not_sent_again(fake: FakeFluvio, patient: FluvioClient) -> None:
    fake.unit_answers[PRODUCE] = lambda _: HANG_UP
    with pytest.raises(OutcomeUnknown, match="producing to orders/0"):
        patient.produce("orders", 0, [ONE])
    assert fake.keys() == [PRODUCE]


def test_a_creation_whose_answer_was_lost_and_that_turns_out_to_be_made_counts(
    fake: FakeFluvio, patient: FluvioClient
) -> None:
    answers = iter([HANG_UP, Status(name="orders", error=Code.TOPIC_ALREADY_EXISTS)])
    fake.controller_answers[CREATE] = lambda _: next(answers)
    patient.create_topic("orders")


@pytest.mark.parametrize("count", [0, 2])
def test_an_answer_for_another_number_of_entries_is_a_bad_one(
    fake: FakeFluvio, patient: FluvioClient, count: int
) -> None:
    fake.unit_answers[PRODUCE] = lambda _: produced(*[0] * count)
    with pytest.raises(BadAnswer, match=f"{count} entries in an answer for one"):
        patient.produce("orders", 0, [ONE])


def test_nobody_there_is_told_with_the_address() -> None:
    clock = HandClock()
    retrier = Retrier(RetryPolicy(timeout_s=1.0), clock=clock, sleep=clock.sleep)
    with (
        FluvioClient("127.0.0.1:1", retrier=retrier) as client,
        pytest.raises(BrokerUnavailable, match=r"127\.0\.0\.1:1"),
    ):
        client.topics()
