"""Exchanges captured from RustLog's own broker: read, written again, and asked of ours."""

import re
from pathlib import Path

import pytest

from onelog.binary.errors import BinaryError
from onelog.protocols.rustlog.binary_form import decode_request, decode_response, encode
from onelog.protocols.rustlog.framing import HEADER_BYTES
from onelog.protocols.rustlog.messages import binary
from tests.support.hand_clock import HandClock
from tests.support.open_broker import open_broker
from tests.support.rustlog_golden import Capture, capture, names
from tests.support.rustlog_peer import Peer
from tests.support.source_tree import ROOT

# Not requests, on purpose: JSON (which the published broker does not know), an unknown kind,
# one cut short, a name that is no text, and frames of no bytes and of too many.
BROKEN = {
    "29_json_ping",
    "30_unknown_type",
    "31_truncated",
    "32_bad_utf8",
    "33_zero_length_frame",
    "34_oversize_length_10485761",
    "35_oversize_0xffffffff",
}
PLAIN = names("[0-9]")
TALK = names("prog_")

# What must differ, and why: docs/protocols/rustlog.md has the same table.
DIFFERENT = {
    "05_list": ("0600000001000a70726f6265333735323900000002", "their broker had a topic without a name"),
    "24_describe_topic": (
        "07000a70726f626533373532390000000200000002000000000000000000000004000000010000000000000000",
        "theirs is always 0",
    ),
    "26_describe_partition": ("08000a70726f62653337353239000000000000000000000004", "theirs is always 0"),
    "29_json_ping": (b'{"type":"Pong"}'.hex(), "the document's form is served"),
    "31_truncated": (None, "says where"),
    "32_bad_utf8": (None, "says where"),
    "prog_16_rustlog_admin_describe_topic_demo": (
        "07000464656d6f0000000100000001000000000000000000000003",
        "theirs is always 0",
    ),
    "prog_18_rustlog_admin_describe_partition_dem": (
        "08000464656d6f000000000000000000000003",
        "theirs is always 0",
    ),
}


def payload(frame: bytes) -> bytes:
    return frame[HEADER_BYTES:]


@pytest.mark.parametrize("name", [name for name in (*PLAIN, *TALK) if name not in BROKEN])
def test_a_captured_request_is_read_and_written_as_it_was(name: str) -> None:
    sent = capture(name).sent
    request, end = decode_request(payload(sent))
    assert end == len(payload(sent))
    assert b"".join(encode(request)) == sent


@pytest.mark.parametrize("name", [*PLAIN, *TALK])
def test_a_captured_answer_is_read_and_written_as_it_was(name: str) -> None:
    answer = capture(name).answer
    assert b"".join(encode(decode_response(payload(answer)))) == answer


@pytest.mark.parametrize("name", PLAIN)
def test_a_captured_answer_has_the_values_that_were_noted(name: str) -> None:
    each = capture(name)
    answer = decode_response(payload(each.answer))
    noted = {key: value for key, value in each.values.items() if key not in ("type", "count", "rest")}
    assert noted == noted_as(answer)


def noted_as(answer: object) -> dict[str, object]:
    """An answer as the captures note its values."""
    match answer:
        case binary.Fetched(records=records, next_offset=next_offset):
            return {"records": str([record.decode() for record in records]), "next_offset": next_offset}
        case binary.Position(offset=offset):
            return {"has_offset": int(offset is not None), "offset": -1 if offset is None else offset}
        case binary.TopicList(topics=topics):
            return {"topics": str([[topic.name, topic.partition_count] for topic in topics])}
        case binary.TopicDescribed(topic=topic, partition_count=count, partitions=partitions):
            shown = str([[each.partition, each.high_watermark] for each in partitions])
            return {"topic": topic, "partition_count": count, "partitions": shown}
        case _:
            fields = getattr(type(answer), "__slots__", ())
            return {name: getattr(answer, name) for name in fields}


@pytest.mark.parametrize("name", ["31_truncated", "32_bad_utf8"])
def test_a_payload_that_is_no_request_is_not_read(name: str) -> None:
    with pytest.raises(BinaryError, match="topic"):
        decode_request(payload(capture(name).sent))


@pytest.mark.parametrize("sequence", [PLAIN, TALK], ids=["requests", "programs"])
async def test_a_captured_talk_gets_the_captured_answers(tmp_path: Path, sequence: list[str]) -> None:
    """Both begin with a broker that has nothing."""
    async with open_broker(tmp_path, clock=HandClock()) as broker:
        peer = Peer(broker, HandClock())
        for name in sequence:
            # JSON, and what breaks the frame, come on connections of their own.
            asked = Peer(broker, HandClock()) if name in BROKEN else peer
            judged(capture(name), await asked.exchange_bytes(capture(name).sent))


def judged(each: Capture, ours: bytes) -> None:
    """The same answer, or the one that differs for a reason."""
    if each.name not in DIFFERENT:
        assert ours == each.answer
        return
    assert ours != each.answer
    expected, because = DIFFERENT[each.name]
    if expected is not None:
        assert payload(ours).hex() == expected
    else:
        told, theirs = decode_response(payload(ours)), decode_response(payload(each.answer))
        assert (because, told.code, told.message[:14]) == ("says where", theirs.code, theirs.message[:14])


def test_every_difference_is_on_the_page() -> None:
    page = (ROOT / "docs" / "protocols" / "rustlog.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `((?:\d\d|prog)_\w+)` \|", page, re.MULTILINE)) == set(DIFFERENT)
