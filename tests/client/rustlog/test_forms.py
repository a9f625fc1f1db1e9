"""Both forms say the same requests and give the same answers, but for what one of them does not tell."""

import pytest

from onelog.client.rustlog import answers as a
from onelog.client.rustlog.forms import Form
from onelog.protocols.rustlog.messages import json
from tests.support import rustlog_wire as wire

FETCH = json.Fetch(group_id="g", topic="t", partition=1, offset=7, max_bytes=1 << 40)


def sent(form: Form, request: json.Request) -> bytes:
    return b"".join(form.encode(request))


@pytest.mark.parametrize(
    ("request_", "frame"),
    [
        (json.Produce(topic="t", partition=1, records=[b"a"]), wire.binary_produce("t", 1, b"a")),
        (FETCH, wire.binary_fetch("t", 1, 7, (1 << 32) - 1, group="g")),
        (json.OffsetCommit(group="g", topic="t", partition=1, offset=7), wire.binary_commit("g", "t", 1, 7)),
        (json.OffsetFetch(group="g", topic="t", partition=1), wire.binary_position("g", "t", 1)),
        (json.CreateTopic(topic="t", partition_count=2), wire.binary_create("t", 2)),
        (json.ListTopics(), wire.BINARY_LIST),
        (json.DescribeTopic(topic="t"), wire.binary_describe_topic("t")),
        (json.DescribePartition(topic="t", partition=1), wire.binary_describe_partition("t", 1)),
        (json.MetricsFetch(), wire.BINARY_METRICS),
        (json.Ping(), wire.BINARY_PING),
    ],
)
def test_every_request_has_a_binary_form(request_: json.Request, frame: bytes) -> None:
    assert sent(Form.BINARY, request_) == frame


def test_json_is_said_as_it_stands() -> None:
    assert sent(Form.JSON, json.Ping()) == wire.encode_frame(b'{"type":"Ping"}')


@pytest.mark.parametrize(
    ("said_in_json", "said_in_binary", "answer"),
    [
        (
            b'{"type":"ProduceResponse","base_offset":5,"record_count":2}',
            b"\x01" + bytes(7) + b"\x05\x00\x00\x00\x02",
            a.Produced(5, 7),
        ),
        (b'{"type":"OffsetCommitResponse","success":false}', b"\x03\x00", a.Committed(False)),
        (b'{"type":"OffsetFetchResponse","offset":null}', b"\x04\x00", a.Position(None)),
        (
            b'{"type":"ListTopicsResponse","topics":[{"name":"t","partition_count":2}]}',
            b"\x06\x00\x00\x00\x01\x00\x01t\x00\x00\x00\x02",
            a.Topics([json.TopicSummary("t", 2)]),
        ),
        (b'{"type":"Pong"}', b"\xff", a.Pong()),
    ],
)
def test_an_answer_is_the_same_in_both_forms(
    said_in_json: bytes, said_in_binary: bytes, answer: a.Answer
) -> None:
    assert Form.JSON.decode(said_in_json) == Form.BINARY.decode(said_in_binary) == answer


def test_offsets_that_are_not_told_are_counted_back() -> None:
    payload = b"\x02\x00\x00\x00\x02\x00\x00\x00\x01a\x00\x00\x00\x00" + bytes(7) + b"\x09"
    records = [a.FetchedRecord(7, None, b"a"), a.FetchedRecord(8, None, b"")]
    assert Form.BINARY.decode(payload) == a.Fetched(records, 9)


def test_what_one_form_does_not_tell_is_none() -> None:
    told = (
        b'{"type":"DescribePartitionResponse","topic":"t","partition":1,'
        b'"high_watermark":9,"log_start_offset":3,"segment_count":2}'
    )
    assert Form.JSON.decode(told) == a.Described([a.PartitionState(1, 9, 3, 2)])
    untold = b"\x08\x00\x01t\x00\x00\x00\x01" + bytes(7) + b"\x09"
    assert Form.BINARY.decode(untold) == a.Described([a.PartitionState(1, 9, None, None)])
    assert Form.BINARY.decode(b"\x09\x00\x00\x00\x02x\n") == a.Metrics("x\n", None)
    assert Form.BINARY.decode(b"\x05\x01") == a.Created(None)
