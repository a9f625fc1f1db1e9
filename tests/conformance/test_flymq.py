"""What FlyMQ alone has, in both forms, asked by a client that was written without a look at the product."""

import gzip
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.conformance.driver import Addresses
from tests.support.flymq_client import (
    ANY_PARTITION,
    BINARY,
    GZIP,
    FlyMQClient,
    Form,
    Group,
    Op,
    Refused,
    blob,
    frame,
    text,
)

FORMS = list(Form)


@pytest.fixture(params=FORMS, ids=[form.value for form in FORMS])
def flymq(request: pytest.FixtureRequest, addresses: Addresses) -> Iterator[FlyMQClient]:
    with closing(FlyMQClient.connect(addresses["shared"], request.param)) as client:
        yield client


@pytest.fixture
def programs(addresses: Addresses) -> Iterator[FlyMQClient]:
    with closing(FlyMQClient.connect(addresses["shared"])) as client:
        yield client


@pytest.fixture
def topic(topic: str) -> str:
    """With what FlyMQ's names may have and others may not."""
    return f"{topic}/é"


def test_a_topic_comes_by_producing_with_one_partition(programs: FlyMQClient, topic: str) -> None:
    put = programs.produce(topic, ANY_PARTITION, b"k", b"v")
    assert (put.topic, put.partition, put.offset, put.key_size, put.value_size) == (topic, 0, 0, 1, 1)
    assert programs.partition_count(topic) == 1
    assert topic in programs.topics()
    programs.delete_topic(topic)
    programs.delete_topic(topic)
    assert topic not in programs.topics()


def test_keys_choose_the_partition_as_fnv_1a_does_and_the_keyless_take_turns(
    flymq: FlyMQClient, topic: str
) -> None:
    flymq.create_topic(topic, 3)
    assert [flymq.produce(topic, ANY_PARTITION, k, b"v").partition for k in (b"user-123", b"order-1")] == [
        2,
        1,
    ]
    assert [flymq.produce(topic, ANY_PARTITION, b"", b"v").partition for _ in range(4)] == [0, 1, 2, 0]
    assert flymq.produce(topic, 1, b"user-123", b"v").partition == 1
    with pytest.raises(Refused, match="partition 99"):
        flymq.produce(topic, 99, b"", b"v")


def test_a_message_is_consumed_by_its_offset(flymq: FlyMQClient, topic: str) -> None:
    flymq.produce(topic, 0, b"k", b"\x00\xff")
    for op in (Op.CONSUME, Op.CONSUME_ZERO_COPY):
        assert flymq.consume(topic, 0, 0, op) == (b"k", b"\x00\xff")
    with pytest.raises(Refused, match="EOF"):
        flymq.consume(topic, 0, 1)
    with pytest.raises(Refused, match="topic not found"):
        flymq.consume("nope", 0, 0)


def test_a_fetch_counts_its_messages_and_names_the_next(flymq: FlyMQClient, topic: str) -> None:
    for i in range(25):
        flymq.produce(topic, 0, b"", str(i).encode())
    for op in (Op.FETCH, Op.FETCH_BINARY):
        some = flymq.fetch(topic, 0, 3, max_messages=4, op=op)
        assert ([m.offset for m in some.messages], some.next_offset) == ([3, 4, 5, 6], 7)
    assert len(flymq.fetch(topic, 0, 0, max_messages=0).messages) == 10
    assert len(flymq.fetch(topic, 0, 0, max_messages=-5).messages) == 10


@pytest.mark.parametrize(
    ("matching", "offsets"), [("ERR", [1]), ("^a.c$", [2]), ("$.a.b", [3]), ("key-0", [0]), ("(", [])]
)
def test_a_filter_is_the_brokers(
    programs: FlyMQClient, topic: str, matching: str, offsets: list[int]
) -> None:
    values = [b"plain", b"an error", b"abc", b'{"a":{"b":1}}']
    for i, value in enumerate(values):
        programs.produce(topic, 0, f"key-{i}".encode(), value)
    found = programs.fetch(topic, 0, 0, matching=matching)
    assert [m.offset for m in found.messages] == offsets
    assert found.next_offset == len(values)


def test_a_reader_begins_where_its_mode_says(flymq: FlyMQClient, topic: str) -> None:
    flymq.create_topic(topic, 1)
    assert flymq.subscribe(topic, "g", 0, "latest") == 0
    for _ in range(3):
        flymq.produce(topic, 0, b"", b"v")
    assert flymq.subscribe(topic, "g", 0, "earliest") == 0
    assert flymq.subscribe(topic, "g", 0, "latest") == 3
    assert flymq.subscribe(topic, "other", 0, "commit") == 0
    flymq.commit(topic, "g", 0, 2)
    assert [flymq.subscribe(topic, "g", 0, mode) for mode in ("commit", "committed")] == [2, 2]
    with pytest.raises(Refused, match="unknown subscribe mode"):
        flymq.subscribe(topic, "g", 0, "sideways")
    with pytest.raises(Refused, match="not found"):
        flymq.subscribe("nope", "g", 0, "earliest")


def test_groups_are_described_reset_and_deleted(programs: FlyMQClient, topic: str) -> None:
    group = f"group of {topic}"
    programs.create_topic(topic, 1)
    for _ in range(3):
        programs.produce(topic, 0, b"", b"v")
    programs.commit(topic, group, 0, 1)
    assert programs.lag(topic, group, 0) == (1, 1, 3, 2)
    described = Group(topic, group, described_members(programs, topic, group), ((0, 1),))
    assert programs.describe_group(topic, group) == described
    assert programs.describe_group("", group) == described
    assert described in programs.groups()
    for mode, offset, expected in (("latest", None, 3), ("offset", 2, 2), ("earliest", 0, 0)):
        programs.reset(topic, group, 0, mode, offset)
        assert programs.committed(topic, group, 0) == expected
    programs.delete_group(topic, group)
    with pytest.raises(Refused, match="consumer group not found"):
        programs.committed(topic, group, 0)


def described_members(client: FlyMQClient, topic: str, group: str) -> int:
    return client.describe_group(topic, group).members


def test_what_kills_the_published_broker_is_refused_here(flymq: FlyMQClient, topic: str) -> None:
    flymq.create_topic(topic, 1)
    for ask in (
        lambda: flymq.fetch(topic, -1, 0),
        lambda: flymq.subscribe(topic, "g", -1, "earliest"),
        lambda: flymq.lag(topic, "g", -1),
        lambda: flymq.reset(topic, "g", -1, "earliest"),
        lambda: flymq.create_topic(f"{topic}-2", -3),
    ):
        with pytest.raises(Refused):
            ask()
    assert flymq.produce(topic, 0, b"", b"v").offset == 0


def test_a_bomb_is_refused_and_the_connection_or_the_next_goes_on(addresses: Addresses, topic: str) -> None:
    bomb = gzip.compress(text(topic) + blob(b"") + blob(bytes(100 << 20)) + b"\xff\xff\xff\xff", 9)
    with closing(FlyMQClient.connect(addresses["shared"])) as client:
        client.wire.send(frame(Op.PRODUCE, bomb, flags=BINARY | GZIP))
        with pytest.raises(Refused):
            client.answer(Op.PRODUCE)
    with closing(FlyMQClient.connect(addresses["shared"])) as client:
        assert client.produce(topic, 0, b"", b"v", compressed=True).offset == 0
        assert client.consume(topic, 0, 0) == (b"", b"v")


@pytest.mark.parametrize("opcode", [0x71, 0xEE, 0xFF])
def test_an_unknown_opcode_is_named_in_decimal(programs: FlyMQClient, opcode: int) -> None:
    programs.wire.send(bytes([0xAF, 1, opcode, 1, 0, 0, 0, 0]))
    with pytest.raises(Refused, match=f"unknown opcode: {opcode}"):
        programs.answer(Op.PRODUCE)
    assert isinstance(programs.topics(), list)


def test_without_authentication_everybody_logs_in_and_is_nobody(flymq: FlyMQClient) -> None:
    success, said = flymq.log_in("ann", "secret")
    assert success
    # Where both forms read the same bytes, the document's finds the name in place of the error.
    assert said == ("" if flymq.form is Form.PROGRAMS else "ann")
    with pytest.raises(Refused, match=r"buffer too small|invalid binary format"):
        flymq.ask(Op.PRODUCE, b"\x00\x05ab")


def test_nobody_is_logged_in_at_first(programs: FlyMQClient) -> None:
    assert programs.who_am_i() == ""


def test_the_old_java_sdk_is_known_by_what_it_sends_first(addresses: Addresses, topic: str) -> None:
    """It has no filter and reads the programs' layout: its one-byte mode length gives it away."""
    with closing(FlyMQClient.connect(addresses["shared"])) as java:
        java.produce(topic, 0, b"k", b"v")
        assert java.subscribe(topic, "g", 0, "commit") == 0
        found = java.fetch(topic, 0, 0, matching=None)
        assert [(m.offset, m.key, m.value) for m in found.messages] == [(0, b"k", b"v")]
