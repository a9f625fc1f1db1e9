"""Frames and headers: what comes whole, what comes in pieces, what is no request at all."""

import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onelog.protocols.contract import Call, Connection, FrameLimits, ProtocolError
from onelog.protocols.fluvio.connection import Request
from onelog.protocols.fluvio.endpoint import FluvioEndpoint
from onelog.protocols.fluvio.framing import FRAME_BYTES_MAX
from tests.support import fluvio_wire as wire

DOORS = pytest.mark.parametrize("is_unit", [False, True])


def connection(*, is_unit: bool = False, frame_bytes_max: int = 100 << 20) -> Connection:
    return FluvioEndpoint(is_unit=is_unit).connection(FrameLimits(frame_bytes_max))


def fed(to: Connection, data: bytes, step: int | None = None) -> list[Call]:
    calls: list[Call] = []
    while data:
        room = to.lend(len(data))
        count = min(len(room), len(data), step or len(data))
        room[:count] = data[:count]
        data = data[count:]
        calls += to.received(count)
    return calls


def said(calls: list[Call]) -> list[tuple[int, int, str, int]]:
    found = []
    for call in calls:
        assert isinstance(call.message, Request)
        request = call.message
        found.append((request.key, request.version, request.client_id, call.tag.correlation_id))
    return found


@DOORS
@pytest.mark.parametrize("step", [None, 1, 3, 50])
def test_requests_come_in_any_pieces_and_several_at_once(is_unit: bool, step: int | None) -> None:
    data = wire.api_versions() + wire.frame(18, 0, b"", correlation_id=1, client_id="dummy")
    assert (
        said(fed(connection(is_unit=is_unit), data * 2, step))
        == [
            (18, 2, "test", 1),
            (18, 0, "dummy", 1),
        ]
        * 2
    )


def test_a_client_names_itself_as_it_likes() -> None:
    calls = fed(connection(), b"".join(wire.frame(18, 0, b"", client_id=n) for n in ("", "fluvio", "ümlaut")))
    assert [call.message.client_id for call in calls] == ["", "fluvio", "ümlaut"]


def test_what_stands_behind_a_body_counts_for_nothing() -> None:
    [call] = fed(connection(), wire.frame(18, 0, b"left over"))
    assert call.message.version == 0


@pytest.mark.parametrize("length", [-1, 0, 9, FRAME_BYTES_MAX + 1, (1 << 31) - 1, -(1 << 31)])
def test_a_length_that_no_request_has_is_refused_at_once(length: int) -> None:
    with pytest.raises(ProtocolError, match=f"a frame of {length} bytes"):
        fed(connection(), struct.pack(">i", length))


def test_the_servers_own_bound_holds_where_it_is_smaller() -> None:
    with pytest.raises(ProtocolError, match="expected 10 to 100"):
        fed(connection(frame_bytes_max=100), struct.pack(">i", 101))


@DOORS
@pytest.mark.parametrize("key", [2, 17, 1007 + 100, 2000, 65535])
def test_a_key_that_is_not_served_closes_before_its_body_has_come(is_unit: bool, key: int) -> None:
    with pytest.raises(ProtocolError, match=f"the key {key}"):
        fed(connection(is_unit=is_unit), struct.pack(">iHh", 1 << 20, key, 19))


def test_calls_before_the_break_are_handed_over() -> None:
    with pytest.raises(ProtocolError) as broken:
        fed(connection(), wire.api_versions() + wire.frame(9999, 0, b""))
    assert said(list(broken.value.calls)) == [(18, 2, "test", 1)]


def test_a_body_that_is_not_whole_closes() -> None:
    with pytest.raises(ProtocolError):
        fed(connection(), wire.frame(18, 2, b"\x00\x09too few"))


@given(st.binary(max_size=200), st.integers(1, 50))
def test_nonsense_makes_calls_or_a_protocol_error_and_never_a_third_thing(data: bytes, step: int) -> None:
    for is_unit in (False, True):
        with suppress(ProtocolError):
            fed(connection(is_unit=is_unit), data, step)


def test_nothing_is_said_first_nor_last() -> None:
    made = connection()
    assert not made.opening()
    assert not made.farewell(ProtocolError("anything"))
