"""The RustLog client of the tests says what the published programs say, and reads what their broker answers."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.golden_files import Exchange, exchange, replaying
from tests.support.rustlog_client import (
    BinaryClient,
    Fetched,
    JsonClient,
    PartitionFacts,
    Record,
    Refused,
    frame,
)

TOPIC = "probe37529"
GREETING = (b"hello", b"from", b"rustlog")
EVENTS = (b"event1: user_login", b"event2: page_view", b"event3: purchase")


def _fetched(next_offset: int, *payloads: bytes) -> Fetched:
    return Fetched(tuple(Record(p) for p in payloads), next_offset)


ANSWERED: list[tuple[str, Callable[[BinaryClient], Any], Any]] = [
    ("01_ping", lambda c: c.ping(), None),
    ("02_create", lambda c: c.create_topic(TOPIC, 2), None),
    ("05_list", lambda c: c.topics(), {"": 1, TOPIC: 2}),
    ("06_produce", lambda c: c.produce(TOPIC, 0, [b"one", b"two", b"three"]), (0, 3)),
    ("07_produce_empty_record", lambda c: c.produce(TOPIC, 0, [b""]), (3, 1)),
    ("08_produce_none", lambda c: c.produce(TOPIC, 0, []), (0, 0)),
    ("10_fetch", lambda c: c.fetch(TOPIC, 0, 0), _fetched(4, b"one", b"two", b"three", b"")),
    ("12_fetch_end", lambda c: c.fetch(TOPIC, 0, 4), _fetched(4)),
    ("13_fetch_beyond", lambda c: c.fetch(TOPIC, 0, 1000), _fetched(1000)),
    ("14_fetch_max_1", lambda c: c.fetch(TOPIC, 0, 0, max_bytes=1), _fetched(1, b"one")),
    ("18_fetch_group_none", lambda c: c.fetch(TOPIC, 0, 0, group="g1"), _fetched(0)),
    ("19_offset_fetch_none", lambda c: c.committed("g1", TOPIC, 0), None),
    ("20_commit", lambda c: c.commit("g1", TOPIC, 0, 2), True),
    ("21_offset_fetch", lambda c: c.committed("g1", TOPIC, 0), 2),
    ("22_fetch_group", lambda c: c.fetch(TOPIC, 0, 0, group="g1"), _fetched(4, b"three", b"")),
    ("24_describe_topic", lambda c: c.describe_topic(TOPIC), [PartitionFacts(0, 0), PartitionFacts(1, 0)]),
    ("26_describe_partition", lambda c: c.describe_partition(TOPIC, 0), PartitionFacts(0, 0)),
    ("prog_08_producer", lambda c: c.produce("demo", 0, GREETING), (0, 3)),
    ("prog_09_consumer", lambda c: c.fetch("demo", 0, 0), _fetched(3, *GREETING)),
    ("prog_13_consumer_group_g1_1", lambda c: c.committed("g1", "demo", 0), 0),
    ("prog_14_consumer_group_g1_2", lambda c: c.fetch("demo", 0, 0, group="g1"), _fetched(3, *GREETING)),
    ("prog_15_consumer_group_g1_3", lambda c: c.commit("g1", "demo", 0, 3), True),
    ("prog_07_rustlog_admin_list_topics", lambda c: c.topics(), {"demo": 1, "events": 2}),
    ("prog_21_simple_client_2", lambda c: c.produce("events", 0, EVENTS), (0, 3)),
    ("prog_22_simple_client_3", lambda c: c.fetch("events", 0, 0), _fetched(3, *EVENTS)),
]

REFUSED: list[tuple[str, Callable[[BinaryClient], Any], int]] = [
    ("03_create_again", lambda c: c.create_topic(TOPIC, 2), 11),
    ("09_produce_unknown", lambda c: c.produce(TOPIC, 9, [b"x"]), 10),
    ("17_fetch_unknown", lambda c: c.fetch("nope", 0, 0, max_bytes=100), 10),
    ("25_describe_topic_unknown", lambda c: c.describe_topic("nope"), 13),
    ("27_describe_partition_unknown", lambda c: c.describe_partition(TOPIC, 9), 14),
    ("prog_06_rustlog_admin_create_topic_z_partiti", lambda c: c.create_topic("z", 0), 12),
]


@pytest.mark.parametrize(("name", "call", "expected"), ANSWERED, ids=[row[0] for row in ANSWERED])
def test_it_asks_as_the_programs_ask_and_reads_their_brokers_answer(
    name: str, call: Callable[[BinaryClient], Any], expected: Any
) -> None:
    with replaying(exchange("rustlog", name)) as wire:
        assert call(BinaryClient(wire)) == expected


@pytest.mark.parametrize(("name", "call", "code"), REFUSED, ids=[row[0] for row in REFUSED])
def test_it_reads_a_refusal_with_its_code(name: str, call: Callable[[BinaryClient], Any], code: int) -> None:
    with replaying(exchange("rustlog", name)) as wire:
        with pytest.raises(Refused) as refused:
            call(BinaryClient(wire))
        assert refused.value.code == code


def test_the_published_broker_knows_no_json() -> None:
    with replaying(exchange("rustlog", "29_json_ping")) as wire:
        client = JsonClient(wire)
        client.send(b'{"type":"Ping"}')
        with pytest.raises(UnicodeDecodeError):
            client.answer("Pong")


# The document is the only source of the JSON form: its own examples stand here, request and answer.
DOCUMENTED: list[tuple[str, str, Callable[[JsonClient], Any], Any]] = [
    (
        '{"type":"Produce","topic":"logs","partition":0,"records":["SGVsbG8gV29ybGQ="]}',
        '{"type":"ProduceResponse","base_offset":42,"record_count":2}',
        lambda c: c.produce("logs", 0, [b"Hello World"]),
        (42, 2),
    ),
    (
        (
            '{"type":"Fetch","group_id":"analytics-consumer","topic":"user-events","partition":0,'
            '"offset":100,"max_bytes":1048576}'
        ),
        (
            '{"type":"FetchResponse","records":[{"offset":100,"timestamp":1641024000000000,'
            '"payload":"eyJ1c2VyIjoiYWxpY2UifQ=="}],"next_offset":101}'
        ),
        lambda c: c.fetch("user-events", 0, 100, group="analytics-consumer"),
        Fetched((Record(b'{"user":"alice"}', 100, 1641024000000000),), 101),
    ),
    (
        '{"type":"OffsetCommit","group":"analytics-pipeline","topic":"user-events","partition":0,"offset":150}',
        '{"type":"OffsetCommitResponse","success":true}',
        lambda c: c.commit("analytics-pipeline", "user-events", 0, 150),
        True,
    ),
    (
        '{"type":"OffsetFetch","group":"g","topic":"user-events","partition":0}',
        '{"type":"OffsetFetchResponse","offset":null}',
        lambda c: c.committed("g", "user-events", 0),
        None,
    ),
]


@pytest.mark.parametrize(("request_text", "answer", "call", "expected"), DOCUMENTED)
def test_it_asks_as_the_document_asks_and_reads_its_answers(
    request_text: str, answer: str, call: Callable[[JsonClient], Any], expected: Any
) -> None:
    documented = Exchange("document", frame(request_text.encode()), frame(answer.encode()))
    with replaying(documented) as wire:
        assert call(JsonClient(wire)) == expected


def test_the_documents_refusal_is_read_with_its_code_and_details() -> None:
    answer = (
        '{"type":"Error","code":416,"message":"Offset 5000 out of range",'
        '"details":{"valid_range":{"start":0,"end":1250},"high_watermark":1250}}'
    )
    with replaying(Exchange("document", frame(b'{"type":"Ping"}'), frame(answer.encode()))) as wire:
        with pytest.raises(Refused) as refused:
            JsonClient(wire).ping()
        assert refused.value.code == 416
        assert refused.value.details["high_watermark"] == 1250
