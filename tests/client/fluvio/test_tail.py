from collections.abc import Iterator
from typing import Any

import pytest

import onelog
from onelog.client.errors import BadAnswer, ClientError
from onelog.client.fluvio.client import FluvioClient
from onelog.client.fluvio.errors import Evicted, FluvioError
from onelog.client.fluvio.tail import FETCH_BYTES_END, Tail
from onelog.client.retry import Retrier, RetryPolicy
from onelog.protocols.fluvio.messages.error import Code, OffsetEvicted
from onelog.protocols.fluvio.messages.fetch import FetchedPartition, StreamFetchRequest, StreamFetchResponse
from onelog.protocols.fluvio.messages.positions import (
    StreamOffset,
    UpdatedOffset,
    UpdateOffsetsRequest,
    UpdateOffsetsResponse,
)
from onelog.protocols.fluvio.versions import STREAM_FETCH, UPDATE_OFFSETS
from onelog.records.record import Record
from tests.support.fake_fluvio import HANG_UP, FakeFluvio
from tests.support.fluvio_records import batch_of
from tests.support.hand_clock import HandClock

ONE = batch_of(b"one")
TWO = batch_of(b"two", base_offset=1)
LONG_MS = 5_000


@pytest.fixture
def fake() -> Iterator[FakeFluvio]:
    with FakeFluvio(partitions=["orders-0"]) as fake:
        fake.unit_answers[UPDATE_OFFSETS] = lambda _: UpdateOffsetsResponse()
        yield fake


@pytest.fixture
def client(fake: FakeFluvio) -> Iterator[FluvioClient]:
    clock = HandClock()
    retrier = Retrier(RetryPolicy(timeout_s=5.0), clock=clock, sleep=clock.sleep)
    with FluvioClient(fake.address, retrier=retrier) as client:
        yield client


def frame(
    records: bytes = b"", *, stream_id: int = 1, error: Any = 0, following: int = 0
) -> StreamFetchResponse:
    fetched = FetchedPartition(records=records, error=error, next_filter_offset=following)
    return StreamFetchResponse(topic="orders", stream_id=stream_id, fetched=fetched)


def values(tail: Tail, wait_ms: int = LONG_MS) -> list[bytes | None]:
    return [record.value for fetched in tail.read(wait_ms=wait_ms).values() for _, record in fetched.records]


def asked(fake: FakeFluvio, kind: type[Any]) -> list[Any]:
    return [body for _, _, body in fake.asked if isinstance(body, kind)]


def test_a_tail_follows_partitions_as_records_come(broker: onelog.Broker) -> None:
    with FluvioClient(broker.address("fluvio-sc"), timeout_s=10) as client:
        client.create_topic("fluvio-tailed", partition_count=2)
        with client.tail("fluvio-tailed", {0: 0, 1: 0}) as tail:
            assert tail.read(wait_ms=1) == {}
            for number in range(4):
                partition = number % 2
                client.produce("fluvio-tailed", partition, [Record(None, b"%d" % number, 1000)])
                [(found, fetched)] = tail.read(wait_ms=LONG_MS).items()
                assert (found, [r.value for _, r in fetched.records]) == (partition, [b"%d" % number])
            assert tail.offsets == {0: 2, 1: 2}


def test_each_frame_is_acknowledged_with_where_it_ended(fake: FakeFluvio, client: FluvioClient) -> None:
    fake.unit_answers[STREAM_FETCH] = lambda _: frame(ONE + TWO, stream_id=9)
    with client.tail("orders", {0: 0}) as tail:
        assert values(tail) == [b"one", b"two"]
        assert tail.read(wait_ms=100) == {}  # the answer to the acknowledgement
    assert asked(fake, UpdateOffsetsRequest) == [
        UpdateOffsetsRequest(offsets=[StreamOffset(offset=2, stream_id=9)])
    ]


def test_records_before_the_place_asked_for_are_left_out(fake: FakeFluvio, client: FluvioClient) -> None:
    fake.unit_answers[STREAM_FETCH] = lambda _: frame(batch_of(b"a", b"b", b"c"))
    with client.tail("orders", {0: 2}) as tail:
        assert values(tail) == [b"c"]


def test_a_batch_that_a_unit_cut_is_asked_for_again(fake: FakeFluvio, client: FluvioClient) -> None:
    def acknowledged(_: UpdateOffsetsRequest) -> UpdateOffsetsResponse:
        fake.push(1, frame(TWO))
        return UpdateOffsetsResponse()

    fake.unit_answers[STREAM_FETCH] = lambda _: frame(ONE + TWO[:30])
    fake.unit_answers[UPDATE_OFFSETS] = acknowledged
    with client.tail("orders", {0: 0}) as tail:
        assert values(tail) == [b"one"]
        assert values(tail) == [b"two"]


def test_a_batch_that_is_larger_than_a_frame_is_asked_for_in_larger_ones(
    fake: FakeFluvio, client: FluvioClient
) -> None:
    def opened(request: StreamFetchRequest) -> StreamFetchResponse:
        return frame(ONE[: request.bytes_max])

    fake.unit_answers[STREAM_FETCH] = opened
    with client.tail("orders", {0: 0}, bytes_max=20) as tail:
        assert values(tail) == [b"one"]
    assert [each.bytes_max for each in asked(fake, StreamFetchRequest)] == [20, 40, 80]


def test_there_is_an_end_to_larger_frames(fake: FakeFluvio, client: FluvioClient) -> None:
    fake.unit_answers[STREAM_FETCH] = lambda _: frame(ONE[:30])
    with (
        client.tail("orders", {0: 0}, bytes_max=FETCH_BYTES_END) as tail,
        pytest.raises(ClientError, match="the next batch has more than"),
    ):
        tail.read(wait_ms=LONG_MS)


def test_what_a_unit_left_out_is_passed_over(fake: FakeFluvio, client: FluvioClient) -> None:
    fake.unit_answers[STREAM_FETCH] = lambda _: frame(ONE, following=9)
    with client.tail("orders", {0: 0}) as tail:
        assert values(tail) == [b"one"]
        assert tail.offsets == {0: 9}


def test_a_tail_goes_on_where_it_was_when_its_connection_breaks(
    fake: FakeFluvio, client: FluvioClient
) -> None:
    answers = iter([frame(ONE), HANG_UP, frame(TWO, stream_id=1)])
    fake.unit_answers[STREAM_FETCH] = lambda _: next(answers)
    fake.unit_answers[UPDATE_OFFSETS] = lambda _: HANG_UP
    with client.tail("orders", {0: 0}) as tail:
        assert values(tail) == [b"one"]
        assert values(tail) == [b"two"]
    assert [each.fetch_offset for each in asked(fake, StreamFetchRequest)] == [0, 1, 1]


@pytest.mark.parametrize(
    ("fault", "kind"),
    [(Code.TOPIC_DELETED, FluvioError), (OffsetEvicted(offset=0, next_available=7), Evicted)],
)
def test_what_ends_a_stream_is_raised(
    fake: FakeFluvio, client: FluvioClient, fault: Any, kind: type[FluvioError]
) -> None:
    fake.unit_answers[STREAM_FETCH] = lambda _: frame(error=fault)
    with client.tail("orders", {0: 0}) as tail, pytest.raises(kind):
        tail.read(wait_ms=LONG_MS)


def test_a_stream_that_a_unit_does_not_know_any_more_is_told(fake: FakeFluvio, client: FluvioClient) -> None:
    unknown = UpdatedOffset(stream_id=1, error=Code.FETCH_SESSION_NOT_FOUND)
    fake.unit_answers[STREAM_FETCH] = lambda _: frame(ONE)
    fake.unit_answers[UPDATE_OFFSETS] = lambda _: UpdateOffsetsResponse(offsets=[unknown])
    with client.tail("orders", {0: 0}) as tail:
        tail.read(wait_ms=LONG_MS)
        with pytest.raises(FluvioError, match="FETCH_SESSION_NOT_FOUND"):
            tail.read(wait_ms=LONG_MS)


def test_a_batch_that_lies_is_a_bad_answer(fake: FakeFluvio, client: FluvioClient) -> None:
    fake.unit_answers[STREAM_FETCH] = lambda _: frame(ONE[:-1] + b"\1")
    with client.tail("orders", {0: 0}) as tail, pytest.raises(BadAnswer, match="checksum"):
        tail.read(wait_ms=LONG_MS)


def test_nothing_can_be_kept_before_anything_was_read(client: FluvioClient) -> None:
    with (
        client.tail("orders", {0: 0}, consumer_id="c") as tail,
        pytest.raises(ClientError, match="nothing was read yet"),
    ):
        tail.commit(0, 1)
