"""What RustLog alone has, asked by a client that was written without a look at the product."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.conformance.driver import Addresses
from tests.support.blocking_wire import Ended, Wire
from tests.support.rustlog_client import BinaryClient, JsonClient, Refused, frame


@pytest.fixture
def binary(addresses: Addresses) -> Iterator[BinaryClient]:
    with closing(BinaryClient.connect(addresses["rustlog"])) as client:
        yield client


@pytest.fixture
def spoken(addresses: Addresses) -> Iterator[JsonClient]:
    with closing(JsonClient.connect(addresses["rustlog"])) as client:
        yield client


def test_a_group_reads_from_its_position_whatever_offset_is_asked_for(
    binary: BinaryClient, topic: str
) -> None:
    binary.create_topic(topic, 1)
    binary.produce(topic, 0, [b"a", b"b", b"c"])
    none = binary.fetch(topic, 0, 0, group=topic)
    assert (none.records, none.next_offset) == ((), 0)
    assert binary.commit(topic, topic, 0, 1)
    some = binary.fetch(topic, 0, 0, group=topic)
    assert ([r.payload for r in some.records], some.next_offset) == ([b"b", b"c"], 3)


def test_a_group_of_the_json_form_changes_nothing(spoken: JsonClient, topic: str) -> None:
    spoken.create_topic(topic, 1)
    spoken.produce(topic, 0, [b"a", b"b"])
    assert spoken.commit(topic, topic, 0, 2)
    assert len(spoken.fetch(topic, 0, 0, group=topic).records) == 2


def test_both_forms_are_told_apart_frame_by_frame(spoken: JsonClient, topic: str) -> None:
    binary = BinaryClient(spoken.wire)
    binary.ping()
    spoken.create_topic(topic, 1)
    assert binary.produce(topic, 0, [b"a"]) == (0, 1)
    assert spoken.produce(topic, 0, [b"b"]) == (1, 1)
    assert [r.payload for r in binary.fetch(topic, 0, 0).records] == [b"a", b"b"]
    assert "onelog" in spoken.metrics()


@pytest.mark.parametrize("max_bytes", [1, 12, 20, 1000])
def test_max_bytes_gives_at_least_one_record_and_0_none(
    binary: BinaryClient, topic: str, max_bytes: int
) -> None:
    binary.create_topic(topic, 1)
    binary.produce(topic, 0, [bytes(10)] * 5)
    found = binary.fetch(topic, 0, 0, max_bytes=max_bytes)
    assert 1 <= len(found.records) <= max(1, max_bytes // 10)
    assert found.next_offset == len(found.records)
    nothing = binary.fetch(topic, 0, 0, max_bytes=0)
    assert (nothing.records, nothing.next_offset) == ((), 0)


def test_marks_are_true_where_the_published_broker_says_0(
    binary: BinaryClient, spoken: JsonClient, topic: str
) -> None:
    binary.create_topic(topic, 2)
    binary.produce(topic, 1, [b"a", b"b"])
    assert [f.high_watermark for f in binary.describe_topic(topic)] == [0, 2]
    assert binary.describe_partition(topic, 1).high_watermark == 2
    facts = spoken.describe_topic(topic)
    assert [(f.high_watermark, f.log_start_offset) for f in facts] == [(0, 0), (2, 0)]
    assert all((f.segment_count or 0) >= 1 for f in facts)


def test_the_programs_texts_are_said_word_for_word(binary: BinaryClient, topic: str) -> None:
    binary.create_topic(topic, 1)
    for ask, code, said in (
        (lambda: binary.create_topic(topic, 1), 11, f"Topic '{topic}' already exists"),
        (lambda: binary.create_topic(f"{topic}-0", 0), 12, "Invalid partition count: 0"),
        (
            lambda: binary.produce("nope", 0, [b"x"]),
            10,
            "Topic or partition does not exist: topic=nope, partition=0",
        ),
        (lambda: binary.describe_topic("nope"), 13, "DescribeTopic failed: Topic 'nope' not found"),
        (
            lambda: binary.describe_partition(topic, 7),
            14,
            f"DescribePartition failed: Partition 7 not found in topic '{topic}'",
        ),
    ):
        with pytest.raises(Refused) as refused:
            ask()
        assert (refused.value.code, refused.value.message) == (code, said)


@pytest.mark.parametrize(
    "payload", [b"\x01\x00\x09ab", b"\x07\x00\x02\xff\xfe", b"cab", b"\x01" + b"\xff" * 30]
)
def test_a_payload_that_cannot_be_read_is_code_2_and_keeps_the_connection(
    binary: BinaryClient, payload: bytes
) -> None:
    binary.send(payload)
    with pytest.raises(Refused) as refused:
        binary.answer(0)
    assert refused.value.code == 2
    binary.ping()


@pytest.mark.parametrize("payload", [b'{"type":"Ping"', b'{"type":"P\xff"}', b"{]"])
def test_json_that_is_none_ends_the_connection(addresses: Addresses, payload: bytes) -> None:
    wire = Wire.connect(addresses["rustlog"])
    wire.send(frame(payload))
    wire.rest()
    with pytest.raises(Ended):
        wire.read(1)
    wire.close()
