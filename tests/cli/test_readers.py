from collections.abc import Mapping, Sequence

import pytest

import onelog
from onelog.cli.arguments import Start, Where
from onelog.cli.output import CommandFailed
from onelog.cli.readers import (
    NO_TIMESTAMP,
    FluvioReader,
    FlyMQReader,
    KafkaReader,
    Read,
    Reader,
    RustLogReader,
    Span,
    TankReader,
    first_offsets,
)
from onelog.client.kafka.admin import Admin
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.producer import Producer
from onelog.client.rustlog.forms import Form
from onelog.model import Isolation
from onelog.records.record import Record
from tests.support import tank_wire as wire
from tests.support.scripted_tank import ScriptedTank

SPANS = {0: Span(10, 20), 1: Span(0, 3)}


class Timed(Reader):
    """Knows where a time is, and nothing else."""

    def close(self) -> None: ...

    def spans(self) -> Mapping[int, Span]:
        return SPANS

    def at_time(self, timestamp_ms: int, partitions: Sequence[int]) -> Mapping[int, int]:
        return {0: 15, 1: -1}

    def read(self, offsets: Mapping[int, int], *, wait_ms: int) -> Mapping[int, Read]:
        return {}


@pytest.mark.parametrize(
    ("start", "offsets"),
    [
        (Start(Where.EARLIEST), {0: 10, 1: 0}),
        (Start(Where.LATEST), {0: 20, 1: 3}),
        (Start(Where.OFFSET, 2), {0: 2, 1: 2}),
        (Start(Where.FROM_END, 5), {0: 15, 1: 0}),
        (Start(Where.TIME, 1), {0: 15, 1: 3}),
    ],
)
def test_a_start_is_an_offset_in_each_partition(start: Start, offsets: dict[int, int]) -> None:
    assert first_offsets(Timed(), start, SPANS) == offsets


def fill(broker: onelog.Broker, topic: str) -> None:
    with KafkaClient(broker.bootstrap, timeout_s=10) as client:
        Admin(client).create_topic(topic, partition_count=2)
        Producer(client).send(topic, [Record(None, b"a", 5000), Record(None, b"b", 6000)], partition=1)


def test_all_dialects_read_the_same(broker: onelog.Broker) -> None:
    fill(broker, "read")
    kafka = KafkaReader(broker.bootstrap, "read", timeout_s=10, isolation=Isolation.READ_COMMITTED)
    rustlog = RustLogReader(broker.bootstrap, "read", timeout_s=10)
    in_binary = RustLogReader(broker.bootstrap, "read", timeout_s=10, form=Form.BINARY)
    flymq = FlyMQReader(broker.bootstrap, "read", timeout_s=10)
    with kafka, rustlog, in_binary, flymq:
        for reader in (kafka, rustlog, in_binary, flymq):
            assert reader.spans() == {0: Span(0, 0), 1: Span(0, 2)}
            read = reader.read({0: 0, 1: 1}, wait_ms=1)
            timestamp_ms = NO_TIMESTAMP if reader in (in_binary, flymq) else 6000
            assert {p: list(each.records) for p, each in read.items()} == {
                0: [],
                1: [(1, Record(None, b"b", timestamp_ms))],
            }
            assert {p: each.next_offset for p, each in read.items()} == {0: 0, 1: 2}
        assert kafka.at_time(5500, [0, 1]) == {0: -1, 1: 1}
        assert flymq.at_time(5500, [0, 1]) == {0: 0, 1: 1}
        with pytest.raises(CommandFailed, match="use --dialect kafka"):
            rustlog.at_time(5500, [0, 1])


def test_tank_reads_the_same_and_counts_as_everybody_does(broker: onelog.Broker) -> None:
    fill(broker, "read-tank")
    with TankReader(broker.address("tank"), "read-tank", timeout_s=10) as reader:
        assert reader.spans() == {0: Span(0, 0), 1: Span(0, 2)}
        read = reader.read({0: 0, 1: 1}, wait_ms=1)
        assert read == {0: Read([], 0), 1: Read([(1, Record(None, b"b", 6000))], 2)}
        assert reader.read({0: 0, 1: 2}, wait_ms=1) == {0: Read([], 0), 1: Read([], 2)}
        with pytest.raises(CommandFailed, match="use --dialect kafka"):
            reader.at_time(5500, [0, 1])


def test_fluvio_reads_the_same_and_goes_on_where_it_was(broker: onelog.Broker) -> None:
    fill(broker, "read-fluvio")
    last = Read([(1, Record(None, b"b", 6000))], 2)
    with FluvioReader(broker.address("fluvio-sc"), "read-fluvio", timeout_s=10) as reader:
        assert reader.spans() == {0: Span(0, 0), 1: Span(0, 2)}
        assert reader.read({0: 0, 1: 1}, wait_ms=1) == {0: Read((), 0), 1: last}
        assert reader.read({1: 2}, wait_ms=1) == {1: Read((), 2)}
        assert reader.read({1: 1}, wait_ms=1) == {1: last}
        with pytest.raises(CommandFailed, match="use --dialect kafka"):
            reader.at_time(5500, [0, 1])


def test_tank_is_asked_for_as_many_partitions_at_once_as_it_can_name(broker: onelog.Broker) -> None:
    with KafkaClient(broker.bootstrap, timeout_s=10) as client:
        Admin(client).create_topic("many", partition_count=300)
    with TankReader(broker.address("tank"), "many", timeout_s=10) as reader:
        assert reader.read(dict.fromkeys(range(300), 0), wait_ms=1) == dict.fromkeys(range(300), Read([], 0))


def test_a_partition_that_is_led_elsewhere_is_not_read_here() -> None:
    nowhere = wire.frame(6, b"\x01\x00\x00\x00" + wire.text("t") + b"\x01\x00" + b"\xff" * 16 + b"\xfd")
    with (
        ScriptedTank(lambda _: nowhere) as server,
        TankReader(server.address, "t", timeout_s=10) as reader,
        pytest.raises(CommandFailed, match="t/0: not served here"),
    ):
        reader.spans()


def test_a_reader_without_waiting_waits_itself_when_nothing_came(broker: onelog.Broker) -> None:
    fill(broker, "paused")
    for kind in (RustLogReader, FlyMQReader):
        with kind(broker.bootstrap, "paused", timeout_s=10) as reader:
            assert reader.read({1: 2}, wait_ms=1)[1].next_offset == 2
