import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onelog.cli.formats import PARSERS, PRINTERS, Placed, Text, time_text
from onelog.cli.output import CommandFailed
from onelog.records.record import Header, Record

sized = st.none() | st.binary(max_size=50) | st.text(max_size=10).map(str.encode)
headers = st.lists(st.builds(Header, st.text(max_size=5), sized), max_size=2).map(tuple)
records = st.builds(Record, sized, sized, st.integers(-(2**63), 2**63 - 1), headers)
FULL = Record(b"k", "v\u00e4".encode(), 1_700_000_000_123, (Header("h", b"\xff"),))


def printed(format: str, record: Record, text: Text = Text()) -> bytes:  # noqa: B008
    return PRINTERS[format](Placed("orders", 3, 12, record), text)


def parsed(format: str, line: bytes, text: Text = Text()) -> Record:  # noqa: B008
    return PARSERS[format](line, text, 99).record


@pytest.mark.parametrize(
    ("format", "line"),
    [
        ("value", "v\u00e4\n"),
        ("key-value", "k\tv\u00e4\n"),
        ("hex", "6b 76c3a4\n"),
        ("raw", "v\u00e4"),
        ("full", "orders/3  12  2023-11-14T22:13:20.123Z  k  v\u00e4  h=\\xff\n"),
    ],
)
def test_each_format_prints_as_its_page_says(format: str, line: str) -> None:
    assert printed(format, FULL).decode() == line


def test_json_says_all_there_is() -> None:
    assert json.loads(printed("json", FULL)) == {
        "topic": "orders",
        "partition": 3,
        "offset": 12,
        "timestamp_ms": 1_700_000_000_123,
        "key": "k",
        "value": "v\u00e4",
        "headers": [{"key": "h", "value": {"base64": "/w=="}}],
    }


@settings(max_examples=100, deadline=None)
@given(record=records)
def test_json_comes_back_as_it_went_and_takes_one_line(record: Record) -> None:
    line = printed("json", record)
    assert line.count(b"\n") == 1
    assert parsed("json", line) == record
    assert PARSERS["json"](line, Text(), 0).partition == 3


@settings(max_examples=100, deadline=None)
@given(key=sized, value=sized)
def test_hex_keeps_key_and_value(key: bytes | None, value: bytes | None) -> None:
    assert parsed("hex", printed("hex", Record(key, value, 1)).rstrip()) == Record(key, value, 99)


def test_hex_alone_is_a_value() -> None:
    assert parsed("hex", b"00ff") == Record(None, b"\x00\xff", 99)


def test_a_separator_of_ones_own_divides_at_its_first_place() -> None:
    assert parsed("key-value", b"a::b::c", Text(separator="::")) == Record(b"a", b"b::c", 99)
    assert printed("key-value", Record(b"a", None, 0), Text(separator="::", null="-")) == b"a::-\n"


def test_a_json_record_needs_no_more_than_a_value() -> None:
    assert parsed("json", b'{"value":"x"}') == Record(None, b"x", 99)
    assert parsed("json", b"{}") == Record(None, None, 99)


@pytest.mark.parametrize(
    ("format", "line"),
    [
        ("json", b"{"),
        ("json", b"[]"),
        ("json", b'{"valeu":""}'),
        ("json", b'{"value":1}'),
        ("json", b'{"value":{"base64":"?"}}'),
        ("json", b'{"value":{"base64":1}}'),
        ("json", b'{"value":"\\ud800"}'),
        ("json", b'{"headers":1}'),
        ("json", b'{"headers":[1]}'),
        ("json", b'{"headers":[{"key":1}]}'),
        ("json", b'{"timestamp_ms":"now"}'),
        ("json", b'{"partition":true}'),
        ("json", b"\xff"),
        ("hex", b"0"),
        ("hex", b"xx"),
        ("hex", b""),
        ("hex", b"00 00 00"),
        ("key-value", b"a b"),
    ],
)
def test_a_line_that_does_not_fit_its_format_is_refused(format: str, line: bytes) -> None:
    with pytest.raises(CommandFailed):
        parsed(format, line)


def test_a_time_beyond_the_calendar_is_shown_as_its_number() -> None:
    assert time_text(-(2**63)) == str(-(2**63))
    assert time_text(0) == "1970-01-01T00:00:00.000Z"


def test_a_time_that_is_not_known_is_no_moment_for_people() -> None:
    assert time_text(-1) == "-"
