"""Which form a payload has, by where it ends; and the document's own encodings."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onelog.binary.errors import BinaryError
from onelog.binary.message import codec
from onelog.protocols.flymq.framing import Opcode
from onelog.protocols.flymq.messages.fetch import Consumed, Fetch
from onelog.protocols.flymq.messages.forms import REQUESTS, decode_exactly
from onelog.protocols.flymq.messages.groups import SeekToTimestamp, Subscribe, SubscribeByDocument
from onelog.protocols.flymq.messages.produce import Produce, Produced
from onelog.protocols.flymq.messages.topics import Done, Metadata, TopicNames
from onelog.protocols.flymq.messages.versions import DOCUMENT, PROGRAMS
from tests.support.flymq_wire import data, i32, text, text8, u64

GROUP = text("t1") + text("g1")


def read(opcode: Opcode, payload: bytes) -> tuple[object, int]:
    message, layout = decode_exactly(REQUESTS[opcode], payload)
    return message, layout.version


def test_texts_bytes_and_lists_are_encoded_as_in_the_document() -> None:
    assert codec(Metadata, PROGRAMS).encode_bytes(Metadata(topic="hello")) == bytes.fromhex(
        "00 05 68 65 6C 6C 6F"
    )
    consumed = Consumed(key=b"", value=bytes.fromhex("DEADBEEF"))
    assert codec(Consumed).encode_bytes(consumed)[4:] == bytes.fromhex("00000004DEADBEEF")
    assert codec(TopicNames).encode_bytes(TopicNames(topics=["a", "bc"])) == bytes.fromhex(
        "00 00 00 02 00 01 61 00 02 62 63"
    )
    assert codec(Done, DOCUMENT).encode_bytes(Done(success=True)) == b"\1"


def test_numbers_are_big_endian_and_signed_where_the_document_says_so() -> None:
    produced = Produced(topic="t", partition=-2, offset=2**64 - 1, timestamp_ms=-3)
    assert codec(Produced).encode_bytes(produced) == (
        text("t") + i32(-2) + b"\xff" * 8 + (2**64 - 3).to_bytes(8, "big") + bytes(8)
    )


def test_a_produce_without_its_partition_leaves_that_to_the_broker() -> None:
    whole = text("test") + data(b"") + data(b"hello")
    assert read(Opcode.PRODUCE, whole) == (Produce(topic="test", value=b"hello"), DOCUMENT)
    assert read(Opcode.PRODUCE, whole + i32(2))[0] == Produce(topic="test", value=b"hello", partition=2)


@pytest.mark.parametrize("mode", ["", "earliest", "latest", "commit", "m" * 200])
def test_a_mode_has_one_length_byte_or_two(mode: str) -> None:
    front = GROUP + i32(3)
    asked: dict[str, Any] = {"topic": "t1", "group": "g1", "partition": 3, "mode": mode}
    assert read(Opcode.SUBSCRIBE, front + text8(mode)) == (Subscribe(**asked), PROGRAMS)
    by_document = SubscribeByDocument(**asked)
    assert read(Opcode.SUBSCRIBE, front + text(mode)) == (by_document, DOCUMENT)


@given(st.text(max_size=60), st.booleans())
def test_no_mode_is_taken_for_one_of_the_other_form(mode: str, by_document: bool) -> None:
    if len(mode.encode()) > 255:
        return
    said = text(mode) if by_document else text8(mode)
    found, version = read(Opcode.SUBSCRIBE, GROUP + i32(0) + said)
    assert getattr(found, "mode", None) == mode
    assert version == (DOCUMENT if by_document else PROGRAMS)


def test_a_fetch_has_a_filter_or_ends_before_it() -> None:
    front = text("t1") + i32(0) + u64(5) + i32(10)
    asked: dict[str, Any] = {"topic": "t1", "partition": 0, "offset": 5, "count_max": 10}
    assert read(Opcode.FETCH, front) == (Fetch(**asked), DOCUMENT)
    assert read(Opcode.FETCH, front + text("")) == (Fetch(**asked), PROGRAMS)
    assert read(Opcode.FETCH, front + text("zip")) == (Fetch(**asked, filter="zip"), PROGRAMS)


@pytest.mark.parametrize("opcode", [Opcode.DESCRIBE_GROUP, Opcode.DELETE_GROUP])
def test_a_group_is_named_with_a_topic_an_empty_one_or_none(opcode: Opcode) -> None:
    def asked(payload: bytes) -> tuple[object, object, int]:
        message, version = read(opcode, payload)
        return getattr(message, "topic", None), getattr(message, "group", None), version

    assert asked(GROUP) == ("t1", "g1", PROGRAMS)
    assert asked(text("") + text("g1")) == ("", "g1", PROGRAMS)
    assert asked(text("g1")) == ("", "g1", DOCUMENT)


def test_a_reset_has_an_offset_behind_any_mode_or_none() -> None:
    front = GROUP + i32(0)
    for mode in ("earliest", "offset"):
        bare, _ = read(Opcode.RESET_OFFSET, front + text8(mode))
        full, _ = read(Opcode.RESET_OFFSET, front + text8(mode) + u64(7))
        assert getattr(bare, "offset", 0) is None
        assert getattr(full, "offset", 0) == 7


def test_a_time_is_sought_with_a_group_or_without() -> None:
    behind = i32(1) + (1234).to_bytes(8, "big")
    asked: dict[str, Any] = {"topic": "t1", "partition": 1, "timestamp_ms": 1234}
    without, with_group = SeekToTimestamp(**asked), SeekToTimestamp(**asked, group="g1")
    assert read(Opcode.SEEK_TO_TIMESTAMP, text("t1") + behind) == (without, DOCUMENT)
    assert read(Opcode.SEEK_TO_TIMESTAMP, GROUP + behind) == (with_group, PROGRAMS)
    assert read(Opcode.SEEK_TO_TIMESTAMP, text("t1") + text("") + behind) == (without, PROGRAMS)


def test_the_clusters_metadata_is_asked_for_with_a_payload_or_none() -> None:
    assert read(Opcode.CLUSTER_METADATA, b"")[0] == read(Opcode.CLUSTER_METADATA, text(""))[0]


@pytest.mark.parametrize(
    ("payload", "wrong"),
    [
        (b"\0\5ab", r"Consume.topic at byte 2: a length of 5; expected 0 to 2"),
        (b"", r"Consume.topic at byte 0"),
        (text("t") + i32(0) + u64(0) + b"x", "1 bytes more; expected its end"),
        (b"\0\1\xff" + i32(0) + u64(0), "expected UTF-8"),
    ],
)
def test_a_payload_that_is_no_form_of_the_request_says_where(payload: bytes, wrong: str) -> None:
    with pytest.raises(BinaryError, match=wrong):
        read(Opcode.CONSUME, payload)
