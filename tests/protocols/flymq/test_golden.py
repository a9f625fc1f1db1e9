"""Captured exchanges: bytes to values, and values back to the same bytes."""

import pytest

from onelog.binary.compression import Codec, decompress
from onelog.binary.message import codec
from onelog.protocols.contract import FrameLimits
from onelog.protocols.flymq.connection import FlyMQConnection
from onelog.protocols.flymq.errors import error_text
from onelog.protocols.flymq.framing import Opcode, read_header
from onelog.protocols.flymq.messages.admin import PartitionState, TopicState
from onelog.protocols.flymq.messages.forms import ANSWERS, REQUESTS, UnservedCall, decode_exactly
from onelog.protocols.flymq.messages.groups import Lag
from onelog.protocols.flymq.messages.versions import DOCUMENT, PROGRAMS
from onelog.protocols.flymq.recordset import decode_fetched, encode_fetched
from tests.support.flymq_golden import Capture, capture, names

ALL = [capture(name) for name in names()]
FETCHES = (Opcode.FETCH, Opcode.FETCH_BINARY)
GZIP = 0x02
# The captured frames that are wrong on purpose: PRODUCE cut short, and two opcodes with a
# payload of two zeros that the broker did not know.
BROKEN = ("35_opcode_66", "36_truncated")


def named(captures: list[Capture]) -> list[object]:
    return [pytest.param(each, id=each.name) for each in captures]


def is_served(each: Capture) -> bool:
    return each.request.opcode in REQUESTS and each.name not in BROKEN


def is_error(each: Capture) -> bool:
    return each.response.opcode == Opcode.ERROR


@pytest.mark.parametrize("each", named(ALL))
def test_every_captured_frame_has_its_header(each: Capture) -> None:
    for sent, frame in ((each.sent, each.request), (each.answer, each.response)):
        header = read_header(sent)
        assert (header.opcode, header.flags, header.size) == (frame.opcode, frame.flags, len(frame.payload))


@pytest.mark.parametrize("each", named([each for each in ALL if is_served(each)]))
def test_a_request_of_a_program_is_read_and_written_again(each: Capture) -> None:
    payload = each.request.payload
    if each.request.flags & GZIP:
        payload = decompress(Codec.GZIP, payload, bytes_max=1000)
    message, (cls, version, _) = decode_exactly(REQUESTS[each.request.opcode], payload)
    assert codec(cls, version).encode_bytes(message) == payload


@pytest.mark.parametrize("each", named([e for e in ALL if e.request.opcode not in REQUESTS]))
def test_a_request_to_come_is_known_by_its_name(each: Capture) -> None:
    connection = FlyMQConnection(FrameLimits(frame_bytes_max=1 << 20))
    connection.lend(1)[: len(each.sent)] = each.sent
    [call] = connection.received(len(each.sent))
    assert isinstance(call.message, UnservedCall)
    assert call.message.opcode == each.request.opcode


@pytest.mark.parametrize(
    "each", named([e for e in ALL if e.response.opcode in ANSWERS and e.request.opcode in REQUESTS])
)
def test_an_answer_of_the_real_broker_is_read_and_written_again(each: Capture) -> None:
    message, (cls, version, _) = decode_exactly(ANSWERS[each.response.opcode], each.response.payload)
    assert codec(cls, version).encode_bytes(message) == each.response.payload


@pytest.mark.parametrize("each", named([e for e in ALL if e.request.opcode in FETCHES and not is_error(e)]))
def test_records_of_the_real_broker_are_read_and_written_again(each: Capture) -> None:
    answer = decode_fetched(each.response.payload, PROGRAMS)
    assert b"".join(encode_fetched(answer, PROGRAMS)) == each.response.payload
    if "records" in each.values:
        shown = [(offset, key.decode(), value.decode()) for offset, key, value in answer.records]
        assert (str(shown), answer.next_offset) == (each.values["records"], each.values["next_offset"])


@pytest.mark.parametrize("each", named([e for e in ALL if "key_size" in e.values and e.request.opcode == 1]))
def test_what_became_of_a_record_is_what_was_captured(each: Capture) -> None:
    [layout] = ANSWERS[Opcode.PRODUCE]
    message, _ = decode_exactly([layout], each.response.payload)
    for name in ("topic", "partition", "offset", "key_size", "value_size"):
        assert getattr(message, name) == each.values[name]


@pytest.mark.parametrize("each", named([e for e in ALL if is_error(e) and "error" in e.values]))
def test_both_kinds_of_errors_of_the_real_broker_are_read(each: Capture) -> None:
    payload = each.response.payload
    # Where a code stands before the text, all of the payload was kept as Python shows it.
    has_code = each.values["error"] == repr(payload)
    expected = payload[6:].decode() if has_code else each.values["error"]
    assert error_text(payload, each.response.flags) == expected


def test_the_captured_values_are_the_fields() -> None:
    lag, _ = decode_exactly(ANSWERS[Opcode.GET_LAG], capture("22_lag").response.payload)
    assert lag == Lag(current=1, committed=1, latest=3, lag=2)
    [described] = decode_exactly(ANSWERS[Opcode.CLUSTER_METADATA], capture("32_metadata").response.payload)[
        0
    ].topics
    assert described == TopicState(
        topic="w37478auto",
        partitions=[
            PartitionState(
                partition=0,
                leader_id="n1",
                leader_address="127.0.0.1:19300",
                epoch=1,
                state="online",
                replicas=["n1"],
                in_sync=["n1"],
            )
        ],
    )
    reset, (_, version, _) = decode_exactly(
        REQUESTS[Opcode.RESET_OFFSET],
        capture("java_18_java_sdk_1_26_9_commit_426e750_drive_18").request.payload,
    )
    assert (reset.mode, reset.offset, version) == ("earliest", 0, PROGRAMS)
    described_by_java, (_, version, _) = decode_exactly(
        REQUESTS[Opcode.DESCRIBE_GROUP],
        capture("java_21_java_sdk_1_26_9_commit_426e750_drive_21").request.payload,
    )
    assert (described_by_java.topic, described_by_java.group, version) == ("", "g", DOCUMENT)
