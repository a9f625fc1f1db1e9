"""The FlyMQ client of the tests says what FlyMQ's programs say, and reads what the real broker answers."""

import gzip
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.flymq_client import (
    BINARY,
    FlyMQClient,
    Form,
    Message,
    Metadata,
    Op,
    Refused,
    frame,
    produce_frame,
)
from tests.support.golden_files import Exchange, exchange, replaying

TOPIC = "w37478"
AUTO = "w37478auto"
JAVA = "j98793"
ZIPPED = [Message(n, b"", b"zipped") for n in (1, 2, 3)]
ALL = (Message(0, b"k", b"auto"), *ZIPPED)


def _put(metadata: Metadata) -> tuple[str, int, int, int, int]:
    """But for the time."""
    m = metadata
    return m.topic, m.partition, m.offset, m.key_size, m.value_size


ANSWERED: list[tuple[str, Callable[[FlyMQClient], Any], Any]] = [
    ("01_create", lambda c: c.create_topic(TOPIC, 3), None),
    ("02_produce", lambda c: _put(c.produce(TOPIC, -1, b"", b"hello")), (TOPIC, 0, 0, -1, 5)),
    ("03_produce_key", lambda c: _put(c.produce(TOPIC, -1, b"user-123", b"v")), (TOPIC, 2, 0, 8, 1)),
    ("04_produce_part2", lambda c: _put(c.produce(TOPIC, 2, b"", b"p2")), (TOPIC, 1, 0, -1, 2)),
    ("06_produce_auto", lambda c: _put(c.produce(AUTO, -1, b"k", b"auto")), (AUTO, 0, 0, 1, 4)),
    ("08_consume", lambda c: c.consume(AUTO, 0, 0), (b"k", b"auto")),
    ("11_fetch_filter_field", lambda c: c.fetch(AUTO, 0, 0, max_messages=10).messages, ALL),
    ("12_fetch_no_filter", lambda c: c.fetch(AUTO, 0, 0, max_messages=10, matching=None).messages, ALL),
    (
        "13_fetch_filter",
        lambda c: list(c.fetch(AUTO, 0, 0, max_messages=10, matching="ZIP").messages),
        ZIPPED,
    ),
    ("14_fetch_end", lambda c: c.fetch(AUTO, 0, 50, max_messages=10).next_offset, 50),
    ("16_subscribe_earliest", lambda c: c.subscribe(TOPIC, "g1", 0, "earliest"), 0),
    ("17_subscribe_latest", lambda c: c.subscribe(TOPIC, "g1", 0, "latest"), 3),
    ("20_commit", lambda c: c.commit(TOPIC, "g1", 0, 1), None),
    ("21_get_offset", lambda c: c.committed(TOPIC, "g1", 0), 1),
    ("22_lag", lambda c: c.lag(TOPIC, "g1", 0), (1, 1, 3, 2)),
    ("32_metadata", lambda c: c.partition_count(AUTO), 1),
    ("cli_01_flymq_cli_create_gold_partitions_3", lambda c: c.create_topic("gold", 3), None),
    ("cli_02_flymq_cli_topics", lambda c: len(c.topics()), 55),
    (
        "cli_05_flymq_cli_consume_gold_partition_0",
        lambda c: c.fetch("gold", 0, 0, max_messages=10).messages,
        (Message(0, b"", b"hello"),),
    ),
    ("cli_08_flymq_cli_groups_list", lambda c: len(c.groups()), 16),
    ("cli_09_flymq_cli_groups_reset_offsets_gg_to", lambda c: c.reset("gold", "gg", 0, "offset", 1), None),
    ("cli_10_flymq_cli_groups_lag_gg_topic_gold", lambda c: c.lag("gold", "gg", 0), (1, 1, 1, 0)),
    ("cli_25_flymq_cli_delete_gold", lambda c: c.delete_topic("gold"), None),
]

FROM_JAVA: list[tuple[int, Callable[[FlyMQClient], Any], Any]] = [
    (1, lambda c: c.create_topic(JAVA, 2), None),
    (3, lambda c: _put(c.produce(JAVA, -1, b"", b"hello")), (JAVA, 0, 0, -1, 5)),
    (7, lambda c: c.consume(JAVA, 0, 0), (b"", b"hello")),
    (11, lambda c: c.fetch(JAVA, 0, 0, max_messages=10, matching=None).next_offset, 3),
    (14, lambda c: c.subscribe(JAVA, "g", 0, "earliest"), 0),
    (15, lambda c: c.commit(JAVA, "g", 0, 1), None),
    (16, lambda c: c.committed(JAVA, "g", 0), 1),
    (17, lambda c: c.lag(JAVA, "g", 0), (1, 1, 3, 2)),
    (18, lambda c: c.reset(JAVA, "g", 0, "earliest", 0), None),
    (20, lambda c: len(c.groups()), 9),
    (37, lambda c: c.partition_count(JAVA), 2),
    (48, lambda c: c.delete_topic(JAVA), None),
]

REFUSED: list[tuple[str, Callable[[FlyMQClient], Any], str]] = [
    ("09_consume_end", lambda c: c.consume(AUTO, 0, 99), "EOF"),
    # The broker's bare text loses its first six characters in Python's and Java's reading.
    ("10_consume_unknown", lambda c: c.consume("nope", 0, 0), "not found"),
    ("15_fetch_unknown", lambda c: c.fetch("nope", 0, 0, max_messages=1), "not found: nope"),
    ("33_metadata_unknown", lambda c: c.partition_count("nope"), "topic not found: nope"),
    ("23_describe_go", lambda c: c.describe_group("", "g1"), "er group not found: :g1"),
]


@pytest.mark.parametrize(("name", "call", "expected"), ANSWERED, ids=[row[0] for row in ANSWERED])
def test_it_asks_as_the_programs_ask_and_reads_their_brokers_answer(
    name: str, call: Callable[[FlyMQClient], Any], expected: Any
) -> None:
    with replaying(exchange("flymq", name)) as wire:
        assert call(FlyMQClient(wire)) == expected


@pytest.mark.parametrize(("number", "call", "expected"), FROM_JAVA, ids=[str(row[0]) for row in FROM_JAVA])
def test_it_asks_as_the_java_sdk_asks(number: int, call: Callable[[FlyMQClient], Any], expected: Any) -> None:
    name = f"java_{number:02d}_java_sdk_1_26_9_commit_426e750_drive_{number}"
    with replaying(exchange("flymq", name)) as wire:
        assert call(FlyMQClient(wire, flags=0)) == expected


@pytest.mark.parametrize(("name", "call", "message"), REFUSED, ids=[row[0] for row in REFUSED])
def test_it_reads_a_refusal_as_the_programs_do(
    name: str, call: Callable[[FlyMQClient], Any], message: str
) -> None:
    with replaying(exchange("flymq", name)) as wire:
        with pytest.raises(Refused) as refused:
            call(FlyMQClient(wire))
        assert refused.value.message == message


def test_a_compressed_produce_is_the_programs_own_but_for_the_compressor() -> None:
    captured = exchange("flymq", "07_produce_gzip").request
    mine = produce_frame(AUTO, -1, b"", b"zipped", compressed=True)
    assert mine[:4] == captured[:4]
    assert gzip.decompress(mine[8:]) == gzip.decompress(captured[8:])


def test_logging_in_is_read_in_the_order_of_the_programs() -> None:
    with replaying(exchange("flymq", "auth_05_auth_ok")) as wire:
        assert FlyMQClient(wire).log_in("admin", "secret") == (True, "")
    with replaying(exchange("flymq", "auth_04_auth_bad")) as wire:
        assert FlyMQClient(wire).log_in("admin", "wrong") == (False, "invalid username or password")


# Nobody speaks the document's forms: they stand here as it lays them out, and as the dossier saw a
# hand-written client of it send them.
DOCUMENTED: list[tuple[bytes, bytes, Callable[[FlyMQClient], Any], Any]] = [
    (
        bytes.fromhex("af01050100000014000274310002673100000000") + b"\x00\x06latest",
        frame(Op.SUBSCRIBE, bytes(7) + b"\x07"),
        lambda c: c.subscribe("t1", "g1", 0, "latest"),
        7,
    ),
    (
        bytes.fromhex("af010701000000140002743100000000000000000000000000000002"),
        frame(Op.FETCH, bytes.fromhex("00000001000000016b0000000176000000000000000500000000 00000006")),
        lambda c: c.fetch("t1", 0, 0, max_messages=2).messages,
        (Message(5, b"k", b"v"),),
    ),
    (
        bytes.fromhex("af0103010000000a 0004 74657374 00000003"),
        frame(Op.CREATE_TOPIC, bytes.fromhex("01 0000")),
        lambda c: c.create_topic("test", 3),
        None,
    ),
    (
        bytes.fromhex("af01010100000017 0004 74657374 00000000 00000005 68656c6c6f ffffffff"),
        bytes.fromhex(
            "af01010100000022 0004 74657374 00000000 000000000000002a 0000018d5a3b2c00 ffffffff 00000005"
        ),
        lambda c: c.produce("test", -1, b"", b"hello"),
        Metadata("test", 0, 42, 0x18D5A3B2C00, -1, 5),
    ),
]


@pytest.mark.parametrize(("request_bytes", "answer", "call", "expected"), DOCUMENTED)
def test_it_asks_as_the_document_asks_and_reads_its_answers(
    request_bytes: bytes, answer: bytes, call: Callable[[FlyMQClient], Any], expected: Any
) -> None:
    with replaying(Exchange("document", request_bytes, answer)) as wire:
        assert call(FlyMQClient(wire, Form.DOCUMENT)) == expected


@pytest.mark.parametrize(
    ("form", "message"),
    [(Form.PROGRAMS, "topic not found"), (Form.DOCUMENT, " \x00\x0ftopic not found")],
)
def test_the_error_that_every_client_reads_is_read(form: Form, message: str) -> None:
    answer = bytes.fromhex("af01ff0100000015 00 0012 20 000f") + b"topic not found"
    asked = frame(Op.CONSUME, bytes.fromhex("00046e6f7065 00000000 0000000000000000"), flags=BINARY)
    with replaying(Exchange("polyglot", asked, answer)) as wire:
        with pytest.raises(Refused) as refused:
            FlyMQClient(wire, form).consume("nope", 0, 0)
        assert refused.value.message == message


def test_nobody_is_nobody() -> None:
    asked, answer = frame(Op.WHOAMI), frame(Op.WHOAMI, bytes(11))
    with replaying(Exchange("eleven zero bytes", asked, answer)) as wire:
        assert FlyMQClient(wire).who_am_i() == ""
