import pytest

from onelog.binary.errors import BinaryError
from onelog.protocols.flymq.framing import (
    HEADER_BYTES,
    PAYLOAD_BYTES_MAX,
    Header,
    Opcode,
    check_opening,
    framed,
    read_header,
)
from tests.support.flymq_wire import MAX_MESSAGE_SIZE, frame


def test_a_frame_is_a_header_of_eight_bytes_and_its_payload() -> None:
    assert b"".join(framed(Opcode.FETCH, [b"ab", b"c"])) == bytes.fromhex("af010701 00000003") + b"abc"
    assert read_header(bytes.fromhex("af010703 0000000a")) == Header(opcode=7, flags=3, size=10)
    assert HEADER_BYTES == 8


def test_a_payload_may_be_as_long_as_the_bound_and_no_longer() -> None:
    assert PAYLOAD_BYTES_MAX == MAX_MESSAGE_SIZE
    longest = frame(1)[:4] + MAX_MESSAGE_SIZE.to_bytes(4, "big")
    assert read_header(longest).size == MAX_MESSAGE_SIZE
    with pytest.raises(BinaryError, match="33554433; expected at most 33554432"):
        read_header(frame(1)[:4] + (MAX_MESSAGE_SIZE + 1).to_bytes(4, "big"))
    with pytest.raises(BinaryError, match="11; expected at most 10"):
        read_header(frame(1, bytes(11)), size_max=10)


@pytest.mark.parametrize(
    ("start", "field"), [(b"\xae", "magic"), (b"\xaf\x00", "version"), (b"\xaf\x02", "version")]
)
def test_a_wrong_opening_is_seen_before_the_header_is_there(start: bytes, field: str) -> None:
    with pytest.raises(BinaryError) as wrong:
        check_opening(start)
    assert wrong.value.field == field


def test_the_opcodes_of_the_document_have_its_names() -> None:
    assert (Opcode.PRODUCE, Opcode.FETCH_BINARY, Opcode.PRODUCE_WITH_TTL) == (0x01, 0x0B, 0x35)
    assert (Opcode.SEEK_TO_TIMESTAMP, Opcode.ROLE_LIST, Opcode.ERROR) == (0x66, 0x7D, 0xFF)
