"""Bytes <-> calls: whole, byte by byte, with the next frame behind, and nonsense."""

import gzip
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onelog.protocols.contract import Call, FrameLimits, InternalError, ProtocolError
from onelog.protocols.flymq.connection import FlyMQConnection, Packed
from onelog.protocols.flymq.errors import Error
from onelog.protocols.flymq.framing import PAYLOAD_BYTES_MAX, Opcode
from onelog.protocols.flymq.messages.admin import Authenticated
from onelog.protocols.flymq.messages.fetch import Consume, Fetch
from onelog.protocols.flymq.messages.forms import InvalidCall, UnservedCall
from onelog.protocols.flymq.messages.groups import GroupDescribed, Place
from onelog.protocols.flymq.messages.produce import Produce
from onelog.protocols.flymq.messages.topics import Done, ListTopics, TopicNames
from onelog.protocols.flymq.recordset import FetchAnswer, Fetched
from tests.support.flymq_wire import (
    MAX_MESSAGE_SIZE,
    Frame,
    commit,
    consume,
    create,
    data,
    error_of_programs,
    fetch,
    fetched,
    frame,
    frames,
    produce,
    subscribe,
    text,
)

LIST = frame(0x08)
ONE = produce("t", b"v", key=b"k", partition=3)
DOCUMENTS_EXAMPLE = bytes.fromhex(
    "AF 01 01 01 00 00 00 13  00 04 74 65 73 74  00 00 00 00  00 00 00 05 68 65 6C 6C 6F  FF FF FF FF"
)


def connection(frame_bytes_max: int = 100 << 20, *, is_program: bool = False) -> FlyMQConnection:
    return FlyMQConnection(FrameLimits(frame_bytes_max=frame_bytes_max), is_program=is_program)


def fed(to: FlyMQConnection, sent: bytes, *, step: int | None = None) -> list[Call]:
    """All calls of the data, handed over in steps as a socket would."""
    calls: list[Call] = []
    while sent:
        lent = to.lend(len(sent))
        count = min(len(lent), len(sent), step or len(sent))
        lent[:count] = sent[:count]
        sent = sent[count:]
        calls += to.received(count)
    return calls


def requests(calls: list[Call]) -> list[object]:
    return [call.message for call in calls]


def sent(by: FlyMQConnection, tag: object, message: object) -> Frame:
    [answer] = frames(b"".join(by.send(tag, message)))
    return answer


def unpacked(payload: bytes, *, opcode: int = 0x01) -> object:
    [call] = fed(connection(), frame(opcode, payload, flags=3))
    assert isinstance(call.message, Packed)
    return call.message.unpack()


@pytest.mark.parametrize("step", [None, 1, 3, 7])
def test_frames_become_calls_in_any_pieces(step: int | None) -> None:
    calls = fed(connection(), LIST + ONE + consume("t", 5) + LIST, step=step)
    assert requests(calls) == [
        ListTopics(),
        Produce(topic="t", key=b"k", value=b"v", partition=3),
        Consume(topic="t", partition=0, offset=5),
        ListTopics(),
    ]


@pytest.mark.parametrize("step", [None, 1, 5])
def test_the_documents_own_frame_is_read_though_it_says_too_little(step: int | None) -> None:
    calls = fed(connection(), DOCUMENTS_EXAMPLE + LIST + DOCUMENTS_EXAMPLE, step=step)
    hello = Produce(topic="test", value=b"hello", partition=-1)
    assert requests(calls) == [hello, ListTopics(), hello]


def test_bytes_behind_the_documents_frame_are_skipped_only_if_they_are_those_four() -> None:
    cut = DOCUMENTS_EXAMPLE[:-4]
    assert len(fed(connection(), cut + LIST)) == 2
    with pytest.raises(ProtocolError, match="magic"):
        fed(connection(), cut + b"\xff" * 5 + LIST)
    with pytest.raises(ProtocolError, match="magic"):
        fed(connection(), ONE + b"\xff" * 4 + LIST)


def test_a_frame_of_the_largest_size_is_read() -> None:
    value = bytes(MAX_MESSAGE_SIZE - 15)
    [call] = fed(connection(), produce("t", value))
    assert call.message.value == value


def test_a_length_that_lies_gets_no_memory() -> None:
    peer = connection()
    assert fed(peer, frame(0x01)[:4] + MAX_MESSAGE_SIZE.to_bytes(4, "big")) == []
    assert len(peer.lend(1 << 20)) <= 64 * 1024


@pytest.mark.parametrize(
    "broken",
    [
        b"\xae",
        b"GET / HTTP/1.1\r\n",
        b"\xaf\x02",
        frame(0x01)[:4] + (MAX_MESSAGE_SIZE + 1).to_bytes(4, "big"),
        frame(0x01)[:4] + b"\xff\xff\xff\xff",
    ],
)
def test_a_break_hands_over_what_came_whole_before_it(broken: bytes) -> None:
    with pytest.raises(ProtocolError) as caught:
        fed(connection(), LIST + ONE + broken)
    assert [type(call.message) for call in caught.value.calls] == [ListTopics, Produce]


def farewell(broken: bytes) -> bytes:
    peer = connection()
    with pytest.raises(ProtocolError) as caught:
        fed(peer, broken)
    return b"".join(peer.farewell(caught.value))


def test_a_peer_that_does_not_speak_flymq_hears_nothing() -> None:
    assert farewell(b"\xae\x01\x01\x01\0\0\0\0") == b""
    assert farewell(LIST + b"x") == b""


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (b"\xaf\x07", "invalid protocol version"),
        (frame(0x01)[:4] + (MAX_MESSAGE_SIZE + 1).to_bytes(4, "big"), "message too large"),
    ],
)
def test_a_peer_that_does_is_told_what_was_wrong(broken: bytes, said: str) -> None:
    [answer] = frames(farewell(broken))
    assert answer.opcode == 0xFF
    assert error_of_programs(answer.payload).startswith(said)


def test_a_fault_of_ours_is_told_as_ours() -> None:
    [answer] = frames(b"".join(connection().farewell(InternalError("a bug"))))
    assert error_of_programs(answer.payload) == "internal error: a bug"


def test_a_smaller_bound_of_the_server_holds() -> None:
    with pytest.raises(ProtocolError, match="at most 10"):
        fed(connection(frame_bytes_max=10), ONE)


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (frame(0x01, b"\0\5ab"), "buffer too small: Produce.topic"),
        (frame(0x02), "buffer too small"),
        (frame(0x08, b"x"), "invalid binary format: payload at byte 0: 1 bytes more"),
        (frame(0x04, b"\0\1\xff"), "invalid binary format"),
        (frame(0x99), "unknown opcode: 153"),
        (frame(0x71), "unknown opcode: 113"),
        (frame(0xFF), "unknown opcode: 255"),
        (frame(0x00), "unknown opcode: 0"),
    ],
)
def test_a_frame_that_is_no_request_is_a_call_that_will_be_refused(request_: bytes, reason: str) -> None:
    [first, second] = fed(connection(), request_ + LIST)
    assert isinstance(first.message, InvalidCall)
    assert first.message.reason.startswith(reason)
    assert second.message == ListTopics()


@pytest.mark.parametrize("opcode", [0x10, 0x15, 0x22, 0x31, 0x43, 0x73, 0x7D, 0x80])
def test_a_request_that_is_to_come_is_known_by_name(opcode: int) -> None:
    [call] = fed(connection(), frame(opcode, b"anything"))
    assert isinstance(call.message, UnservedCall)
    assert call.message.opcode == opcode


# ---- compressed requests


def test_a_gzipped_request_is_the_same_request() -> None:
    plain = text("t") + data(b"k") + data(b"v") + b"\xff\xff\xff\xff"
    assert unpacked(gzip.compress(plain)) == Produce(topic="t", key=b"k", value=b"v")


def test_a_gzipped_request_is_left_as_it_came_until_its_turn() -> None:
    bomb = gzip.compress(bytes(MAX_MESSAGE_SIZE))
    calls = fed(connection(), frame(0x01, bomb, flags=3) * 5)
    assert [type(call.message) for call in calls] == [Packed] * 5


def test_what_inflates_beyond_a_frame_is_refused() -> None:
    found = unpacked(gzip.compress(bytes(MAX_MESSAGE_SIZE + 1)))
    assert isinstance(found, InvalidCall)
    assert "33554432 once decompressed" in found.reason


@pytest.mark.parametrize("payload", [b"", b"no gzip at all", gzip.compress(b"x" * 99)[:-9]])
def test_what_does_not_inflate_is_refused(payload: bytes) -> None:
    found = unpacked(payload)
    assert isinstance(found, InvalidCall)
    assert found.reason.startswith("invalid compressed payload")


@pytest.mark.parametrize("flags", [0x05, 0x07, 0x09, 0x0B, 0x0F])
def test_other_compressions_are_refused(flags: int) -> None:
    [call] = fed(connection(), frame(0x01, b"x", flags=flags))
    assert call.message.reason.startswith("unsupported compression")


def test_the_binary_flag_is_not_asked_for() -> None:
    assert requests(fed(connection(), frame(0x08, flags=0))) == [ListTopics()]


# ---- answers


def test_answers_carry_the_requests_opcode_and_the_binary_flag() -> None:
    peer = connection()
    [call] = fed(peer, LIST)
    assert sent(peer, call.tag, TopicNames(topics=["a"])) == (0x08, 1, bytes.fromhex("00000001 0001") + b"a")
    [call] = fed(peer, consume("t", 0))
    assert sent(peer, call.tag, Error("EOF")).opcode == Opcode.ERROR


def test_auth_is_answered_with_the_opcode_behind_it() -> None:
    peer = connection()
    [call] = fed(peer, frame(0x70, text("al") + text("secret")))
    answer = sent(peer, call.tag, Authenticated(success=True, user="al"))
    assert answer == (0x71, 1, b"\1" + text("al") + bytes(4) + bytes(2))


@pytest.mark.parametrize("request_", [create("t", 1), commit("t", "g", 1), frame(0x09, text("t"))])
def test_what_is_done_is_told_with_the_documents_empty_text(request_: bytes) -> None:
    peer = connection()
    [call] = fed(peer, request_)
    assert sent(peer, call.tag, Done(success=True)).payload == b"\1\0\0"


ANSWER = FetchAnswer([Fetched(7, b"k", b"v")], 8)


def layout(peer: FlyMQConnection, request: bytes) -> str:
    """In which layout a FETCH is answered."""
    *_, call = fed(peer, request)
    payload = sent(peer, call.tag, ANSWER).payload
    for name, by_document in (("document", True), ("programs", False)):
        with suppress(AssertionError, Exception):
            if fetched(payload, by_document=by_document) == ([(7, b"k", b"v")], 8):
                return name
    raise AssertionError(payload)


def test_a_fetch_with_a_filter_field_is_answered_as_programs_read_it() -> None:
    assert layout(connection(), fetch("t", 0, filter="")) == "programs"
    assert layout(connection(), fetch("t", 0, filter="x")) == "programs"


def test_a_fetch_without_is_answered_as_the_document_has_it() -> None:
    assert layout(connection(), fetch("t", 0, filter=None)) == "document"
    by_document = subscribe("t", "g", "latest", by_document=True)
    assert layout(connection(), by_document + fetch("t", 0, filter=None)) == "document"


@pytest.mark.parametrize(
    "before",
    [
        subscribe("t", "g", "latest"),
        frame(0x61, text("t") + text("g") + bytes(4) + b"\x06latest"),
        frame(0x61, text("t") + text("g") + bytes(4) + b"\x06latest" + bytes(8)),
        fetch("t", 0, filter=""),
    ],
)
def test_a_peer_that_has_sent_what_only_programs_send_is_one(before: bytes) -> None:
    assert layout(connection(), before + fetch("t", 0, filter=None)) == "programs"


def test_a_door_for_programs_takes_every_peer_for_one() -> None:
    assert layout(connection(is_program=True), fetch("t", 0, filter=None)) == "programs"


def test_fetch_binary_is_always_answered_as_programs_read_it() -> None:
    request = frame(0x0B, fetch("t", 0, filter=None)[8:])
    assert layout(connection(), request) == "programs"
    peer = connection()
    [call] = fed(peer, request)
    assert sent(peer, call.tag, ANSWER).opcode == 0x0B


def test_a_group_is_described_in_the_form_that_asked() -> None:
    described = GroupDescribed(topic="t", group="g", member_count=1, state="Stable", members=["m"])
    peer = connection()
    [with_topic] = fed(peer, frame(0x63, text("t") + text("g")))
    [alone] = fed(peer, frame(0x63, text("g")))
    assert sent(peer, with_topic.tag, described).payload == text("t") + text("g") + b"\0\0\0\1" + bytes(4)
    assert sent(peer, alone.tag, described).payload == (
        text("g") + text("Stable") + b"\0\0\0\1" + text("m") + bytes(4) + text("")
    )


def test_an_answer_that_no_frame_holds_is_an_error_that_says_so() -> None:
    peer = connection()
    [call] = fed(peer, LIST)
    answer = sent(peer, call.tag, TopicNames(topics=["x" * 65_000] * 600))
    assert answer.opcode == 0xFF
    assert str(PAYLOAD_BYTES_MAX) in error_of_programs(answer.payload)


# ---- nonsense


@given(st.binary(max_size=60), st.integers(1, 9), st.booleans())
@settings(max_examples=100, deadline=None)
def test_nonsense_gives_calls_or_a_protocol_error(junk: bytes, step: int, framed: bool) -> None:
    if framed and junk:
        junk = frame(junk[0], junk[1:]) + LIST
    with suppress(ProtocolError):
        for call in fed(connection(), junk, step=step):
            if isinstance(call.message, Packed):
                call.message.unpack()


@given(
    st.lists(
        st.sampled_from([LIST, ONE, fetch("t", 1), frame(0x99), DOCUMENTS_EXAMPLE, subscribe("t", "g", "")]),
        max_size=6,
    ),
    st.data(),
)
@settings(max_examples=50, deadline=None)
def test_pieces_of_any_size_give_the_same_calls(some: list[bytes], drawn: st.DataObject) -> None:
    stream = b"".join(some)
    step = drawn.draw(st.integers(1, max(1, len(stream))))

    def shown(calls: list[Call]) -> list[object]:
        return [getattr(call.message, "reason", call.message) for call in calls]

    assert shown(fed(connection(), stream, step=step)) == shown(fed(connection(), stream))


def test_a_fetch_is_the_same_request_in_either_form() -> None:
    asked = Fetch(topic="t", partition=0, offset=1, count_max=100)
    for request in (fetch("t", 1, filter=""), fetch("t", 1, filter=None)):
        assert requests(fed(connection(), request)) == [asked]


def test_an_offset_is_an_answer_of_eight_bytes() -> None:
    peer = connection()
    [call] = fed(peer, subscribe("t", "g", "latest"))
    assert sent(peer, call.tag, Place(offset=3)).payload == (3).to_bytes(8, "big")
