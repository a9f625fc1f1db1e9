import pytest

from onelog.errors import (
    DiskFull,
    GroupNotEmpty,
    InvalidName,
    NotAuthorized,
    OffsetOutOfRange,
    OnelogError,
    UnknownPartition,
    UnknownTopic,
    Unsupported,
)
from onelog.protocols.flymq.errors import TEXT_BYTES_MAX, Error, encode_error, error_text, refusal
from tests.support.flymq_wire import error_of_document, error_of_programs


def test_an_error_is_read_whole_by_programs_and_document_alike() -> None:
    payload = encode_error(Error("topic not found"))
    assert payload == bytes.fromhex("00 0012 20 000f") + b"topic not found"
    assert error_of_programs(payload) == "topic not found"
    assert error_of_document(payload).endswith("topic not found")


@pytest.mark.parametrize("size", [*range(300), 511, 512, 640, TEXT_BYTES_MAX, 4000])
def test_an_error_of_any_length_is_utf_8_in_the_documents_reading(size: int) -> None:
    payload = encode_error(Error("x" * size))
    shown = payload[3:].decode()
    assert (payload[0], int.from_bytes(payload[1:3], "big")) == (0, len(payload) - 3)
    assert shown[3:].rstrip() == "x" * min(size, TEXT_BYTES_MAX)
    assert error_of_programs(payload).rstrip() == shown[3:].rstrip()


@pytest.mark.parametrize("text", ["EOF", "", "caf\u00e9", "x" * 300])
def test_our_own_client_reads_it_too(text: str) -> None:
    assert error_text(encode_error(Error(text)), 1) == text


@pytest.mark.parametrize(
    ("payload", "flags", "text"),
    [
        (b"topic not found", 0, "topic not found"),
        (b"EOF", 0, "EOF"),
        (b"\0\0\0\1\0\5fault", 1, "fault"),
        (b"\0\0\5fault", 1, "fault"),
        (b"a bare text", 1, "a bare text"),
        (b"", 1, ""),
        (b"\xff", 0, "\ufffd"),
    ],
)
def test_every_form_of_an_original_brokers_error_is_read(payload: bytes, flags: int, text: str) -> None:
    assert error_text(payload, flags) == text


def test_no_text_sends_a_program_to_another_broker() -> None:
    payload = encode_error(Error("topic not found: Not Leader, leader_addr=evil"))
    assert b"not leader" not in payload.lower()


def test_a_long_text_is_cut_between_characters() -> None:
    text = error_of_programs(encode_error(Error("x" + "\u00e9" * TEXT_BYTES_MAX)))
    assert len(text.rstrip().encode()) == TEXT_BYTES_MAX - 1
    assert text.rstrip().endswith("\u00e9")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (UnknownTopic("a.-2Fb"), "topic not found: a/b"),
        (UnknownPartition("a", 7, 3), "partition 7 not found"),
        (OffsetOutOfRange("a.-2Fb", 0, 1, 5, 9), "offset out of range: a/b/0: asked for offset 1"),
        (InvalidName(".-2F" * 63), "invalid topic name: '////"),
        (NotAuthorized("User:a", "write", "b"), "unauthorized: "),
        (DiskFull("data", "writing"), "disk full: "),
        (GroupNotEmpty("g"), "group has members"),
        (Unsupported("TXN_BEGIN (0x40)"), "TXN_BEGIN (0x40) is not supported."),
    ],
)
def test_refusals_have_the_words_that_programs_look_for(error: OnelogError, text: str) -> None:
    assert refusal(error).text.startswith(text)
