"""Bytes <-> calls: whole, byte by byte, with the next frame behind, and nonsense."""

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onelog.protocols.contract import Call, FrameLimits, InternalError, ProtocolError
from onelog.protocols.rustlog.binary_form import REQUESTS, is_exactly_a_request
from onelog.protocols.rustlog.connection import RustLogConnection
from onelog.protocols.rustlog.framing import FRAME_BYTES_MAX
from onelog.protocols.rustlog.messages import binary
from onelog.protocols.rustlog.messages.json import InvalidCall, ListTopics, Ping, Pong, Produce
from tests.support.rustlog_wire import (
    BINARY_METRICS,
    BINARY_PING,
    binary_describe_topic,
    binary_error,
    encode_frame,
    encode_message,
)

PING = encode_message({"type": "Ping"})
LIST = encode_message({"type": "ListTopics"})


def connection(frame_bytes_max: int = 100 << 20) -> RustLogConnection:
    return RustLogConnection(FrameLimits(frame_bytes_max=frame_bytes_max))


def fed(to: RustLogConnection, data: bytes, *, step: int | None = None) -> list[Call]:
    """All calls of the data, handed over in steps as a socket would."""
    calls: list[Call] = []
    while data:
        lent = to.lend(len(data))
        count = min(len(lent), len(data), step or len(data))
        lent[:count] = data[:count]
        data = data[count:]
        calls += to.received(count)
    return calls


@pytest.mark.parametrize("step", [None, 1, 3, 7])
def test_frames_become_calls_in_any_pieces(step: int | None) -> None:
    produce = encode_message({"type": "Produce", "topic": "t", "partition": 0, "records": ["aGk="] * 50})
    calls = fed(connection(), PING + produce + LIST + PING, step=step)
    assert [call.message for call in calls] == [
        Ping(),
        Produce(topic="t", partition=0, records=[b"hi"] * 50),
        ListTopics(),
        Ping(),
    ]


def test_the_documents_own_frame_is_read_by_its_bytes_not_by_its_caption() -> None:
    payload = b'{"type":"Produce","topic":"logs","partition":0,"records":["SGVsbG8gV29ybGQ="]}'
    [call] = fed(connection(), encode_frame(payload))
    assert call.message.records == [b"Hello World"]


def test_a_frame_of_the_largest_size_is_read() -> None:
    payload = b'{"type":"Ping"}'.ljust(FRAME_BYTES_MAX)
    assert [call.message for call in fed(connection(), encode_frame(payload))] == [Ping()]


def test_a_length_that_lies_gets_no_memory() -> None:
    peer = connection()
    assert fed(peer, FRAME_BYTES_MAX.to_bytes(4, "big") + b"{") == []
    assert len(peer.lend(1 << 20)) <= 64 * 1024


@pytest.mark.parametrize(
    "frame",
    [
        bytes(4),
        (FRAME_BYTES_MAX + 1).to_bytes(4, "big"),
        b"\xff\xff\xff\xff",
        encode_frame(b"{not json}"),
        encode_frame(b'{"type":"\xff"}'),
        encode_frame(b"\xff\xff"),
        encode_frame(b"\t\t"),
        encode_frame(b"[]"),
        encode_frame(b"c"),
        encode_frame(b"\x07\x00\x01tt"),
        encode_frame(b"\x07\x00\x02t"),
        encode_frame(b"\x01binary"),
    ],
)
def test_a_break_hands_over_what_came_whole_before_it(frame: bytes) -> None:
    with pytest.raises(ProtocolError) as broken:
        fed(connection(), PING + LIST + frame + PING)
    assert [call.message for call in broken.value.calls] == [Ping(), ListTopics()]


# ---- which form a frame has


def test_the_first_byte_tells_the_form_frame_by_frame() -> None:
    topic = binary.DescribeTopic(topic="t")
    frames = PING + BINARY_PING + binary_describe_topic("t") + LIST + BINARY_METRICS + BINARY_PING
    found = [call.message for call in fed(connection(), frames)]
    assert found == [Ping(), binary.Ping(), topic, ListTopics(), binary.MetricsFetch(), binary.Ping()]


@pytest.mark.parametrize("space", [b" ", b"\n", b"\r", b"\t"])
def test_white_space_opens_json_and_a_tab_alone_is_metrics_fetch(space: bytes) -> None:
    [first, second] = fed(connection(), BINARY_METRICS + encode_frame(space + b'{"type":"Ping"}'))
    assert (first.message, second.message) == (binary.MetricsFetch(), Ping())


@pytest.mark.parametrize("kind", [*range(1, 9), 0xFF])
def test_who_has_spoken_json_leaves_it_for_exactly_a_binary_request_only(kind: int) -> None:
    exact = next(size for size in range(30) if is_exactly_a_request(bytes((kind,)) + bytes(size)))
    peer = connection()
    [_, call, _] = fed(peer, PING + encode_frame(bytes((kind,)) + bytes(exact)) + PING)
    assert type(call.message) is REQUESTS[kind]
    with pytest.raises(ProtocolError, match="expected a JSON object, or exactly a binary request"):
        fed(peer, encode_frame(bytes((kind,)) + bytes(exact + 1)))


def test_who_has_not_may_send_bytes_behind_a_request_and_kinds_that_are_none() -> None:
    frames = encode_frame(b"\x06more") + encode_frame(b"c") + encode_frame(b"\x07") + BINARY_PING
    found = [call.message for call in fed(connection(), frames)]
    assert [type(message) for message in found] == [
        binary.ListTopics,
        binary.Undecodable,
        binary.Undecodable,
        binary.Ping,
    ]


def test_an_answer_has_the_form_of_its_request() -> None:
    peer = connection()
    assert b"".join(peer.send(None, Pong())) == encode_frame(b'{"type":"Pong"}')
    assert b"".join(peer.send(None, binary.Pong())) == BINARY_PING


@pytest.mark.parametrize(
    ("before", "is_json"),
    [(b"", False), (PING, True), (BINARY_PING, False), (PING + BINARY_PING, False)],
)
def test_the_last_words_have_the_form_that_was_spoken_last(before: bytes, is_json: bool) -> None:
    peer = connection()
    with pytest.raises(ProtocolError) as broken:
        fed(peer, before + bytes(4))
    last = b"".join(peer.farewell(broken.value))
    if is_json:
        assert json.loads(last[4:])["code"] == 400
    else:
        assert binary_error(last) == (1, "Frame error: invalid protocol: zero-length frame")


def test_a_smaller_bound_of_the_server_holds() -> None:
    with pytest.raises(ProtocolError, match=r"frame too large: 16 bytes \(max: 10\)"):
        fed(connection(frame_bytes_max=10), PING)


def test_an_object_that_is_no_request_is_a_call_that_will_be_refused() -> None:
    [first, second] = fed(connection(), encode_message({"type": "Nope"}) + PING)
    assert first.message == InvalidCall("unknown request type 'Nope'")
    assert second.message == Ping()


def test_answers_are_frames() -> None:
    [frame] = connection().send(None, Pong())
    assert bytes(frame) == b'\x00\x00\x00\x0f{"type":"Pong"}'


@pytest.mark.parametrize(("error", "code"), [(ProtocolError("bad"), 400), (InternalError("bug"), 500)])
def test_the_farewell_says_whose_fault_it_was(error: ProtocolError, code: int) -> None:
    peer = connection()
    fed(peer, PING)
    [frame] = peer.farewell(error)
    assert json.loads(bytes(frame)[4:])["code"] == code


@given(st.binary(max_size=60), st.integers(1, 9))
@settings(max_examples=100, deadline=None)
def test_nonsense_gives_calls_or_a_protocol_error(data: bytes, step: int) -> None:
    with suppress(ProtocolError):
        fed(connection(), data, step=step)


@given(st.lists(st.sampled_from([PING, LIST, encode_message({"type": "x"})]), max_size=6), st.data())
@settings(max_examples=50, deadline=None)
def test_pieces_of_any_size_give_the_same_calls(frames: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(frames)
    step = data.draw(st.integers(1, max(1, len(stream))))
    assert fed(connection(), stream, step=step) == fed(connection(), stream)
