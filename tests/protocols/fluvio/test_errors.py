"""Codes, and what they carry."""

import pytest

from onelog.binary.fields import i16
from onelog.binary.message import codec, message
from onelog.errors import InvalidRequest, TimedOut, UnknownTopic
from onelog.protocols.fluvio.errors import TEXT_CHARS_MAX, FluvioRefusal, fault_of
from onelog.protocols.fluvio.messages.error import (
    CARRYING,
    Code,
    Fault,
    Other,
    RequestTimedOut,
    SystemSpecDeletionAttempt,
    code_of,
    error_code,
)


@message()
class Answer:
    error: Fault = error_code()
    behind: int = i16()


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (UnknownTopic(topic="x"), Code.TOPIC_NOT_FOUND),
        (InvalidRequest("not so"), Other(text="not so")),
        (TimedOut(doing="it", timeout_ms=5), RequestTimedOut(timeout_ms=5)),
        (FluvioRefusal(Code.COMPRESSION_ERROR, "gzip only"), Code.COMPRESSION_ERROR),
    ],
)
def test_a_refusal_has_its_code_and_what_the_code_carries(error: Exception, fault: Fault) -> None:
    assert fault_of(error) == fault


def test_what_is_no_refusal_is_our_fault_and_raised_on() -> None:
    with pytest.raises(RuntimeError):
        fault_of(RuntimeError("a bug"))


def test_a_text_is_never_longer_than_clients_can_read() -> None:
    fault = fault_of(InvalidRequest("x" * 100_000))
    assert len(fault.text) == TEXT_CHARS_MAX


@pytest.mark.parametrize("code", list(Code))
def test_every_code_is_written_with_what_it_carries_and_read_again(code: Code) -> None:
    cls = CARRYING.get(code.value)
    fault = code.value if cls is None else cls()
    data = codec(Answer).encode_bytes(Answer(error=fault, behind=7))
    assert data[:2] == code.value.to_bytes(2, "big", signed=True)
    assert codec(Answer).decode(data) == (Answer(error=fault, behind=7), len(data))
    assert code_of(fault) is code


def test_what_a_code_carries_stands_right_behind_it() -> None:
    fault = SystemSpecDeletionAttempt(kind="topic", name="me")
    data = codec(Answer).encode_bytes(Answer(error=fault, behind=7))
    assert data == bytes.fromhex("2ee1 0005") + b"topic" + bytes.fromhex("0002") + b"me" + bytes.fromhex(
        "0007"
    )


def test_a_number_that_nobody_knows_is_an_unknown_error() -> None:
    assert code_of(4242) is Code.UNKNOWN_SERVER_ERROR
