"""The binary form in and out: what is a request, what is answered with an Error, what is none by chance."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onelog.binary.errors import BinaryError
from onelog.protocols.rustlog.binary_form import (
    FETCH_ROOM,
    KIND_BYTES,
    REQUESTS,
    UnknownKind,
    broken_frame,
    decode_request,
    decode_response,
    encode,
    is_exactly_a_request,
    record_size,
    undecodable,
)
from onelog.protocols.rustlog.framing import FRAME_BYTES_MAX, HEADER_BYTES
from onelog.protocols.rustlog.messages import binary
from tests.support import rustlog_wire as wire


def payload(frame: bytes) -> bytes:
    return frame[4:]


@pytest.mark.parametrize(
    ("frame", "request_"),
    [
        (wire.binary_produce("t", 1, b"a", b""), binary.Produce(topic="t", partition=1, records=[b"a", b""])),
        (
            wire.binary_fetch("t", 2, 1 << 63, 9, group="g"),
            binary.Fetch(group="g", topic="t", partition=2, offset=1 << 63, max_bytes=9),
        ),
        (
            wire.binary_commit("g", "t", 3, 7),
            binary.OffsetCommit(group="g", topic="t", partition=3, offset=7),
        ),
        (wire.binary_position("g", "t", 3), binary.OffsetFetch(group="g", topic="t", partition=3)),
        (wire.binary_create("t", 5), binary.CreateTopic(topic="t", partition_count=5)),
        (wire.BINARY_LIST, binary.ListTopics()),
        (wire.binary_describe_topic("t"), binary.DescribeTopic(topic="t")),
        (wire.binary_describe_partition("t", 1), binary.DescribePartition(topic="t", partition=1)),
        (wire.BINARY_METRICS, binary.MetricsFetch()),
        (wire.BINARY_PING, binary.Ping()),
    ],
)
def test_every_request_is_read_and_written(frame: bytes, request_: object) -> None:
    assert decode_request(payload(frame)) == (request_, len(frame) - HEADER_BYTES)
    assert b"".join(encode(request_)) == frame


@pytest.mark.parametrize(
    ("fields", "answer"),
    [
        ("01 0000000000000007 00000002", binary.Produced(base_offset=7, record_count=2)),
        ("02 00000001 00000001 61 0000000000000009", binary.Fetched(records=[b"a"], next_offset=9)),
        ("03 01", binary.Committed(success=True)),
        ("04 00", binary.Position(offset=None)),
        ("04 01 0000000000000009", binary.Position(offset=9)),
        ("05 00", binary.Created(success=False)),
        (
            "06 00000001 0001 74 00000003",
            binary.TopicList(topics=[binary.TopicSummary(name="t", partition_count=3)]),
        ),
        (
            "07 0001 74 00000001 00000001 00000000 0000000000000005",
            binary.TopicDescribed(
                topic="t",
                partition_count=1,
                partitions=[binary.PartitionSummary(partition=0, high_watermark=5)],
            ),
        ),
        (
            "08 0001 74 00000002 0000000000000005",
            binary.PartitionDescribed(topic="t", partition=2, high_watermark=5),
        ),
        ("09 00000003 782031", binary.MetricsText(text="x 1")),
        ("fe 000a 0002 6e6f", binary.Error(code=10, message="no")),
        ("ff", binary.Pong()),
    ],
)
def test_every_answer_is_read_and_written(fields: str, answer: object) -> None:
    data = bytes.fromhex(fields)
    assert decode_response(data) == answer
    assert b"".join(encode(answer)) == wire.encode_frame(data)


def test_bytes_behind_the_fields_are_ignored() -> None:
    data = payload(wire.binary_describe_topic("t"))
    assert decode_request(data + b"more") == (binary.DescribeTopic(topic="t"), len(data))


@pytest.mark.parametrize("kind", sorted(REQUESTS))
def test_a_request_is_told_by_ending_where_its_fields_do(kind: int) -> None:
    whole = bytes((kind,)) + bytes(24)
    ends = [end for end in range(1, len(whole)) if is_exactly_a_request(whole[:end])]
    assert len(ends) == 1
    assert not is_exactly_a_request(whole[: ends[0]] + b"{")


def test_what_no_kind_has_is_named_in_decimal() -> None:
    with pytest.raises(UnknownKind) as wrong:
        decode_request(b"\x63abc")
    assert undecodable(wrong.value) == "Decode error: unknown request type: 99"


@pytest.mark.parametrize(
    "data",
    [
        b"\x01\x00\x09ab",
        b"\x07\x00\x02\xff\xfe",
        b"\x01\x00\x01t\x00\x00\x00\x00\xff\xff\xff\xff",
        b"\x01\x00\x01t\x00\x00\x00\x00\x00\x00\x00\x01\xff\xff\xff\xff",
        b"\x02",
    ],
)
def test_lengths_and_counts_that_lie_are_refused_before_anything_is_taken(data: bytes) -> None:
    with pytest.raises(BinaryError) as wrong:
        decode_request(data)
    assert undecodable(wrong.value).startswith("Decode error: ")


def test_lengths_that_no_frame_has_are_told_as_the_published_broker_does() -> None:
    assert broken_frame("0") == "Frame error: invalid protocol: zero-length frame"
    assert broken_frame("10485761") == "Frame error: frame too large: 10485761 bytes (max: 10485760)"


def test_an_answer_too_long_for_a_frame_says_so_instead() -> None:
    frame = b"".join(encode(binary.MetricsText(text="x" * FRAME_BYTES_MAX)))
    code, told = wire.binary_error(frame)
    assert (code, "a frame holds 10485760" in told) == (500, True)


def test_a_request_too_long_for_a_frame_is_not_sent() -> None:
    with pytest.raises(BinaryError, match="at most 10485760"):
        encode(binary.Produce(topic="t", records=[b"x" * FRAME_BYTES_MAX]))


def test_the_room_of_an_answer_is_all_that_a_frame_has_for_records() -> None:
    record = b"x" * (FETCH_ROOM - record_size(0, 0, 0))
    frame = b"".join(encode(binary.Fetched(records=[record])))
    assert len(frame) == HEADER_BYTES + FRAME_BYTES_MAX
    assert KIND_BYTES == 1


@given(st.binary(min_size=1, max_size=60))
@settings(max_examples=200, deadline=None)
def test_nonsense_is_a_request_or_refused(data: bytes) -> None:
    try:
        request, end = decode_request(data)
    except BinaryError:
        return
    assert b"".join(encode(request))[HEADER_BYTES:] == data[:end]
