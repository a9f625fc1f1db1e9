"""The codes of both forms, and the binary form's words."""

import pytest

from onelog.errors import DiskFull, ErrorCode, InvalidName, OffsetOutOfRange, OnelogError, RecordTooLarge
from onelog.protocols.rustlog.errors import (
    BINARY_CODES,
    CODES,
    BinaryCode,
    Code,
    binary_error,
    binary_oversized,
    binary_refusal,
)
from onelog.protocols.rustlog.messages import binary


def test_both_maps_are_total() -> None:
    assert CODES.keys() == BINARY_CODES.keys() == set(ErrorCode)


def test_our_faults_are_500_and_the_peers_are_not() -> None:
    for error, code in BINARY_CODES.items():
        is_ours = CODES[error] in (Code.INTERNAL_SERVER_ERROR, Code.STORAGE_ERROR, Code.INSUFFICIENT_SPACE)
        assert (code is BinaryCode.STORAGE) == is_ours


@pytest.mark.parametrize(
    ("request_", "error", "code", "text"),
    [
        (binary.Produce(topic="t"), DiskFull(path="d", doing="writing"), 500, "d"),
        (binary.Produce(topic="t"), RecordTooLarge(topic="t", partition=0, size=9, size_max=5), 2, "t/0"),
        (binary.CreateTopic(topic=""), InvalidName("", "expected more"), 2, "expected more"),
        (
            binary.Fetch(topic="t"),
            OffsetOutOfRange(topic="t", partition=0, offset=3, start=4, end=10),
            4,
            "Fetch failed: t/0: asked for offset 3",
        ),
    ],
)
def test_a_refusal_has_the_code_of_what_was_asked(
    request_: object, error: OnelogError, code: int, text: str
) -> None:
    told = binary_refusal(request_, error)
    assert (told.code, text in told.message) == (code, True)


def test_a_long_text_is_cut_between_characters() -> None:
    told = binary_error(BinaryCode.INVALID, "ä" * 40_000)
    assert told.message == "ä" * 32_767


def test_a_record_that_no_frame_holds_names_the_next_offset() -> None:
    told = binary_oversized(offset=7, size=20_000_000)
    assert (told.code, "go on at 8" in told.message) == (4, True)
