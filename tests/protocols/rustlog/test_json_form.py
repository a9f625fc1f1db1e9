"""JSON in and out: what is a request, what is answered with an Error, what ends the connection."""

import json
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onelog.errors import InvalidRequest
from onelog.protocols.rustlog import json_form
from onelog.protocols.rustlog.framing import FRAME_BYTES_MAX, HEADER_BYTES
from onelog.protocols.rustlog.messages import json as m

PRODUCE: dict[str, Any] = {"type": "Produce", "topic": "logs", "partition": 0, "records": []}
FETCH: dict[str, Any] = {
    "type": "Fetch",
    "group_id": "g",
    "topic": "logs",
    "partition": 0,
    "offset": 0,
    "max_bytes": 0,
}


def decoded(value: Any) -> m.Request:
    return json_form.decode_request(json.dumps(value).encode())


@pytest.mark.parametrize(
    ("text", "request_"),
    [
        (
            '{"type":"Produce","topic":"logs","partition":0,"records":["SGVsbG8gV29ybGQ="]}',
            m.Produce(topic="logs", partition=0, records=[b"Hello World"]),
        ),
        (
            """{
                "type": "Fetch",
                "group_id": "analytics-consumer",
                "topic": "user-events",
                "partition": 0,
                "offset": 100,
                "max_bytes": 1048576
            }""",
            m.Fetch(
                group_id="analytics-consumer",
                topic="user-events",
                partition=0,
                offset=100,
                max_bytes=1048576,
            ),
        ),
        (
            '{"type":"OffsetCommit","group":"a","topic":"t","partition":0,"offset":150}',
            m.OffsetCommit(group="a", topic="t", partition=0, offset=150),
        ),
        (
            '{"type":"OffsetFetch","group":"a","topic":"t","partition":1}',
            m.OffsetFetch(group="a", topic="t", partition=1),
        ),
        (
            '{"type":"CreateTopic","topic":"t","partition_count":3}',
            m.CreateTopic(topic="t", partition_count=3),
        ),
        ('{"type":"ListTopics"}', m.ListTopics()),
        ('{"type":"DescribeTopic","topic":"t"}', m.DescribeTopic(topic="t")),
        (
            '{"type":"DescribePartition","topic":"t","partition":2}',
            m.DescribePartition(topic="t", partition=2),
        ),
        ('{"type":"MetricsFetch"}', m.MetricsFetch()),
        ('{"type":"Ping"}', m.Ping()),
    ],
)
def test_every_request_of_the_enumeration_is_read(text: str, request_: m.Request) -> None:
    assert json_form.decode_request(text.encode()) == request_


@pytest.mark.parametrize("space", [" ", "\n", "\r\n", "\t", "\t\t  "])
def test_white_space_may_stand_around_a_request(space: str) -> None:
    payload = f'{space}{{"type"{space}:"Ping"}}{space}'.encode()
    assert json_form.opens(payload)
    assert json_form.decode_request(payload) == m.Ping()


def test_a_tab_alone_is_not_json() -> None:
    assert not json_form.opens(b"\t")


@pytest.mark.parametrize("first", [*range(1, 9), 0xFF, 0, ord("[")])
def test_other_first_bytes_are_not_json(first: int) -> None:
    assert not json_form.opens(bytes([first, 0x7B]))


def test_unknown_members_are_ignored() -> None:
    assert decoded({"type": "Ping", "topic": 5, "deep": [{"a": None}]}) == m.Ping()


@pytest.mark.parametrize(
    ("text", "request_"),
    [
        ('{"type":"Ping","type":"ListTopics"}', m.ListTopics()),
        ('{"type":"DescribeTopic","topic":"a","topic":"b"}', m.DescribeTopic(topic="b")),
        ('{"type":"DescribeTopic","topic":null,"topic":"b"}', m.DescribeTopic(topic="b")),
        ('{"type":1,"type":"Ping"}', m.Ping()),
    ],
)
def test_of_doubled_members_the_last_one_counts(text: str, request_: m.Request) -> None:
    assert json_form.decode_request(text.encode()) == request_


def test_names_may_be_spelled_with_escapes() -> None:
    assert json_form.decode_request(b'{"\\u0074ype":"Pi\\u006eg"}') == m.Ping()


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"topic": "logs"},
        {"type": None},
        {"type": "Pong"},
        {"type": "produce"},
        {"type": "Nothing of the kind"},
        {**PRODUCE, "topic": 1},
        {**PRODUCE, "partition": "0"},
        {**PRODUCE, "partition": 0.5},
        {**PRODUCE, "partition": -1},
        {**PRODUCE, "partition": 1 << 32},
        {**PRODUCE, "records": None},
        {**PRODUCE, "records": "aGk="},
        {**PRODUCE, "records": [1]},
        {**PRODUCE, "records": ["not base64"]},
        {**PRODUCE, "records": ["aGk"]},
        {**PRODUCE, "records": ["a-_="]},
        {**FETCH, "offset": -1},
        {**FETCH, "offset": 1 << 64},
        {**FETCH, "offset": 1 << 99},
        {**FETCH, "max_bytes": 1 << 64},
        {**FETCH, "group_id": None},
        {key: value for key, value in FETCH.items() if key != "group_id"},
        {"type": "OffsetCommit", "group": "g", "topic": "t", "partition": 0, "offset": 1 << 64},
    ],
)
def test_an_object_that_is_no_request_is_refused(value: Any) -> None:
    with pytest.raises(InvalidRequest):
        decoded(value)


def test_an_unknown_type_is_named() -> None:
    with pytest.raises(InvalidRequest, match="unknown request type 'Nope'"):
        decoded({"type": "Nope"})


@pytest.mark.parametrize("offset", [0, (1 << 63) - 1, 1 << 63, (1 << 64) - 1])
def test_an_offset_may_be_any_u64(offset: int) -> None:
    assert decoded({**FETCH, "offset": offset}) == m.Fetch("g", "logs", 0, offset, 0)


@pytest.mark.parametrize(
    "payload",
    [
        b"{",
        b'{"type":"Ping"',
        b'{"type":"Ping",}',
        b"{'type':'Ping'}",
        b'{"type":"Ping"} {"type":"Ping"}',
        b'{"type":"Ping"}\x00',
        b'{"type":"Nope", and then nothing sensible',
        b'{"type":"Ping","x":NaN}',
        b'{"type":"Ping","x":01}',
        b'{"type":"Ping","x":"\t"}',
        b'{"type":"Ping","x":"\\q"}',
        b'{"type":"Ping","x":"\\ud800"}',
        b'{"type":"Ping","x":"\xff"}',
        b'{"type":"DescribeTopic","topic":"\xc3("}',
        b'\xef\xbb\xbf{"type":"Ping"}',
        b" ",
        b" [1]",
        b" 5",
        b' "text"',
        b" null",
        b'{"type":"Ping","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"type":"Nope","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
)
def test_what_is_no_object_in_utf_8_is_malformed(payload: bytes) -> None:
    with pytest.raises(json_form.MalformedJson):
        json_form.decode_request(payload)


@given(st.binary(max_size=80))
@settings(max_examples=100, deadline=None)
def test_nonsense_is_a_request_or_one_of_two_refusals(payload: bytes) -> None:
    with suppress(json_form.MalformedJson, InvalidRequest):
        assert isinstance(json_form.decode_request(payload), m.Request)


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
MEMBERS = ("type", "topic", "partition", "records", "group", "group_id", "offset", "max_bytes")
KINDS = st.sampled_from(["Produce", "Fetch", "OffsetCommit", "Ping", "Nope"])


@given(st.dictionaries(st.sampled_from(MEMBERS), JSON_VALUES, max_size=8), KINDS)
@settings(max_examples=100, deadline=None)
def test_any_object_is_a_request_or_refused_and_never_malformed(value: dict[str, Any], kind: str) -> None:
    with suppress(InvalidRequest):
        assert isinstance(decoded({**value, "type": kind}), m.Request)


@pytest.mark.parametrize(
    ("response", "value"),
    [
        (
            m.ProduceResponse(base_offset=42, record_count=2),
            {"type": "ProduceResponse", "base_offset": 42, "record_count": 2},
        ),
        (
            m.FetchResponse([m.FetchedRecord(100, 1641024000000000, b'{"user":"alice"}')], 101),
            {
                "type": "FetchResponse",
                "records": [
                    {"offset": 100, "timestamp": 1641024000000000, "payload": "eyJ1c2VyIjoiYWxpY2UifQ=="}
                ],
                "next_offset": 101,
            },
        ),
        (m.OffsetCommitResponse(success=True), {"type": "OffsetCommitResponse", "success": True}),
        (m.OffsetFetchResponse(offset=150), {"type": "OffsetFetchResponse", "offset": 150}),
        (m.OffsetFetchResponse(offset=None), {"type": "OffsetFetchResponse", "offset": None}),
        (
            m.CreateTopicResponse(success=True, partitions_created=3),
            {"type": "CreateTopicResponse", "success": True, "partitions_created": 3},
        ),
        (
            m.ListTopicsResponse([m.TopicSummary("logs", 3)]),
            {"type": "ListTopicsResponse", "topics": [{"name": "logs", "partition_count": 3}]},
        ),
        (
            m.DescribeTopicResponse("logs", [m.PartitionSummary(0, 7, 1, 2)]),
            {
                "type": "DescribeTopicResponse",
                "topic": "logs",
                "partitions": [
                    {"partition": 0, "high_watermark": 7, "log_start_offset": 1, "segment_count": 2}
                ],
            },
        ),
        (m.Pong(), {"type": "Pong"}),
        (
            m.Error(code=404, message="gone"),
            {"type": "Error", "code": 404, "message": "gone", "details": None},
        ),
    ],
)
def test_responses_have_the_documents_members(response: m.Response, value: Any) -> None:
    frame = json_form.encode(response)
    assert json.loads(frame[HEADER_BYTES:]) == value
    assert json_form.decode_response(frame[HEADER_BYTES:]) == response


def test_a_response_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        json_form.decode_response(b'{"type":"Ping"}')


def test_an_answer_too_long_for_a_frame_says_so_instead() -> None:
    frame = json_form.encode(m.Error(code=400, message="x" * (FRAME_BYTES_MAX + 1)))
    answer = msgspec.json.decode(frame[HEADER_BYTES:])
    assert answer["code"] == 500
    assert len(frame) < 1000


@given(
    st.lists(
        st.builds(
            m.FetchedRecord,
            offset=st.integers(0, m.U64_MAX),
            timestamp=st.integers(0, m.U64_MAX),
            payload=st.binary(max_size=20),
        ),
        max_size=5,
    )
)
@settings(max_examples=100, deadline=None)
def test_the_size_of_a_fetch_answer_is_known_before_it_is_made(records: list[m.FetchedRecord]) -> None:
    room = FRAME_BYTES_MAX - json_form.FETCH_ROOM
    told = sum(json_form.record_size(r.offset, r.timestamp, len(r.payload)) for r in records)
    frame = json_form.encode(m.FetchResponse(records, next_offset=m.U64_MAX))
    # The last record has no comma.
    assert len(frame) - HEADER_BYTES == room + told - bool(records)
