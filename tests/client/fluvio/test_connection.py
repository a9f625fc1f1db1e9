from collections.abc import Callable, Iterator
from typing import Any

import pytest

from onelog.client.errors import BadAnswer, ConnectionLost, UnsupportedByBroker
from onelog.client.fluvio.connection import Connection, with_frames
from onelog.client.retry import Retrier, RetryPolicy
from onelog.model import Address
from onelog.protocols.fluvio.messages.fetch import FetchOffsetsRequest, FetchOffsetsResponse
from onelog.protocols.fluvio.messages.positions import (
    FetchConsumerOffsetsRequest,
    FetchConsumerOffsetsResponse,
)
from onelog.protocols.fluvio.versions import (
    CONTROLLER_APIS,
    FETCH_CONSUMER_OFFSETS,
    FETCH_OFFSETS,
    LIST,
    PRODUCE,
    UNIT_APIS,
)
from tests.support.fake_fluvio import HANG_UP, FakeFluvio
from tests.support.scripted_server import ScriptedServer

RETRIER = Retrier(RetryPolicy(timeout_s=5.0))


@pytest.fixture
def open_to() -> Iterator[Callable[[FakeFluvio], Connection]]:
    made: list[Any] = []

    def open_to(fake: FakeFluvio) -> Connection:
        connection = Connection(Address("127.0.0.1", fake.unit.port), RETRIER.deadline(), apis=UNIT_APIS)
        made.extend((connection, fake.unit, fake.controller))
        return connection

    yield open_to
    for each in made:
        each.close()


def ask(connection: Connection, key: int, request: Any) -> Any:
    return connection.ask(key, request, doing="asking", deadline=RETRIER.deadline())


@pytest.mark.parametrize(("most", "agreed"), [(24, 24), (25, 25), (99, 25), (23, 23)])
def test_the_highest_version_of_both_is_spoken(
    open_to: Callable[[FakeFluvio], Connection], most: int, agreed: int
) -> None:
    fake = FakeFluvio(partitions=[], versions={FETCH_OFFSETS: (23, most)})
    fake.unit_answers[FETCH_OFFSETS] = lambda _: FetchOffsetsResponse()
    ask(open_to(fake), FETCH_OFFSETS, FetchOffsetsRequest())
    assert [version for _, version, _ in fake.asked] == [agreed]


def test_consumer_offsets_go_in_the_version_of_offsets_because_units_do_not_tell(
    open_to: Callable[[FakeFluvio], Connection],
) -> None:
    fake = FakeFluvio(partitions=[], versions={FETCH_OFFSETS: (24, 24)})
    fake.unit_answers[FETCH_CONSUMER_OFFSETS] = lambda _: FetchConsumerOffsetsResponse()
    ask(open_to(fake), FETCH_CONSUMER_OFFSETS, FetchConsumerOffsetsRequest())
    assert [version for _, version, _ in fake.asked] == [24]


@pytest.mark.parametrize(
    ("versions", "said"),
    [({FETCH_OFFSETS: (26, 30)}, "versions 26 to 30; expected one of 0 to 25"), ({}, "is not served there")],
)
def test_without_a_common_version_there_is_no_request(
    open_to: Callable[[FakeFluvio], Connection], versions: dict[int, tuple[int, int]], said: str
) -> None:
    fake = FakeFluvio(partitions=[], versions=versions or {1: (0, 1)})
    with pytest.raises(UnsupportedByBroker, match=said):
        ask(open_to(fake), FETCH_OFFSETS, FetchOffsetsRequest())
    assert fake.asked == []


def test_what_a_stream_pushes_between_answers_is_kept(open_to: Callable[[FakeFluvio], Connection]) -> None:
    fake = FakeFluvio(partitions=[])
    fake.unit_answers[FETCH_OFFSETS] = lambda _: FetchOffsetsResponse()
    connection = open_to(fake)
    deadline = RETRIER.deadline()
    first = connection.begin(FETCH_OFFSETS, FetchOffsetsRequest(), doing="asking", deadline=deadline)
    assert ask(connection, FETCH_OFFSETS, FetchOffsetsRequest()) == FetchOffsetsResponse()
    assert with_frames([connection], 0) == [connection]
    number, body = connection.next(doing="asking", deadline=deadline)
    assert number == first
    assert connection.decoded(FETCH_OFFSETS, body, doing="asking") == FetchOffsetsResponse()
    assert with_frames([connection], 0) == []


def test_a_connection_that_breaks_is_lost(open_to: Callable[[FakeFluvio], Connection]) -> None:
    fake = FakeFluvio(partitions=[])
    fake.unit_answers[FETCH_OFFSETS] = lambda _: HANG_UP
    with pytest.raises(ConnectionLost) as found:
        ask(open_to(fake), FETCH_OFFSETS, FetchOffsetsRequest())
    assert found.value.sent


@pytest.mark.parametrize("answer", [b"", b"\0\0\0\1\0\0\0\0\0\1"])
def test_another_protocol_is_a_bad_answer(answer: bytes) -> None:
    with (
        ScriptedServer(lambda _: answer) as server,
        pytest.raises(BadAnswer, match=r"Is it a Fluvio cluster\?"),
    ):
        Connection(Address("127.0.0.1", server.port), RETRIER.deadline(), apis=UNIT_APIS)


def test_a_unit_is_not_taken_for_a_controller() -> None:
    fake = FakeFluvio(partitions=[], versions={PRODUCE: (0, 25), LIST: (0, 25)})
    with pytest.raises(UnsupportedByBroker, match="found who serves records; expected a controller"):
        Connection(Address("127.0.0.1", fake.unit.port), RETRIER.deadline(), apis=CONTROLLER_APIS)
    fake.unit.close()
    fake.controller.close()
