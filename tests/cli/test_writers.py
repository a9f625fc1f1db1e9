import pytest

import onelog
from onelog.binary.compression import Codec
from onelog.cli.formats import Wanted
from onelog.cli.output import CommandFailed
from onelog.cli.writers import FluvioWriter, FlyMQWriter, KafkaWriter, RustLogWriter, TankWriter, Written
from onelog.client.errors import ClientError
from onelog.client.fluvio.client import FluvioClient
from onelog.client.kafka.admin import Admin
from onelog.client.kafka.client import KafkaClient
from onelog.client.rustlog.forms import Form
from onelog.client.tank.client import TankClient
from onelog.records.record import Header, Record


def make(broker: onelog.Broker, topic: str) -> None:
    with KafkaClient(broker.bootstrap, timeout_s=10) as client:
        Admin(client).create_topic(topic, partition_count=2)


def test_each_partition_gets_its_own_through_every_dialect(broker: onelog.Broker) -> None:
    make(broker, "divided")
    lot = [
        Wanted(Record(None, value, 1), partition) for value, partition in ((b"a", 1), (b"b", 0), (b"c", 1))
    ]
    with KafkaWriter(broker.bootstrap, "divided", timeout_s=10, codec=Codec.GZIP) as kafka:
        assert sorted(kafka.write(lot)) == [Written(0, 0, 1), Written(1, 0, 2)]
    with RustLogWriter(broker.bootstrap, "divided", timeout_s=10) as rustlog:
        assert sorted(rustlog.write(lot)) == [Written(0, 1, 2), Written(1, 2, 4)]
    with RustLogWriter(broker.bootstrap, "divided", timeout_s=10, form=Form.BINARY) as in_binary:
        assert sorted(in_binary.write(lot)) == [Written(0, 2, 3), Written(1, 4, 6)]
    with FlyMQWriter(broker.bootstrap, "divided", timeout_s=10, packed=True) as flymq:
        assert sorted(flymq.write(lot)) == [Written(0, 3, 4), Written(1, 6, 7), Written(1, 7, 8)]


@pytest.mark.parametrize(
    "record", [Record(b"k", b"v", 1), Record(None, None, 1), Record(None, b"v", 1, (Header("h", None),))]
)
def test_rustlog_refuses_what_it_cannot_say(record: Record) -> None:
    with (
        RustLogWriter("127.0.0.1:1", "any", timeout_s=1) as writer,
        pytest.raises(CommandFailed, match="cannot say"),
    ):
        writer.write([Wanted(record)])


@pytest.mark.parametrize("is_snappy", [False, True])
def test_tank_writes_to_each_partition_and_tells_no_offsets(broker: onelog.Broker, is_snappy: bool) -> None:
    topic = f"divided-tank-{int(is_snappy)}"
    make(broker, topic)
    tank = broker.address("tank")
    one, two = Record(b"k", b"a", 1), Record(None, b"b", 2)
    with TankWriter(tank, topic, timeout_s=10, is_snappy=is_snappy) as writer, TankClient(tank) as client:
        assert writer.write([Wanted(one, 1), Wanted(two)]) == []
        assert [record for _, record in client.iterate(topic, 1)] == [one]
        assert [record for _, record in client.iterate(topic, 0)] == [two]


def test_fluvio_writes_to_each_partition_and_tells_offsets(broker: onelog.Broker) -> None:
    make(broker, "divided-fluvio")
    one, two = Record(b"k", b"a", 1), Record(None, b"b", 2)
    fluvio = broker.address("fluvio-sc")
    with (
        FluvioWriter(fluvio, "divided-fluvio", timeout_s=10, codec=Codec.LZ4) as writer,
        FluvioClient(fluvio) as client,
    ):
        assert writer.write([Wanted(one, 1), Wanted(two, 0)]) == [Written(1, 0, 1), Written(0, 0, 1)]
        assert writer.write([Wanted(Record(b"b", b"c", 3))]) == [Written(0, 1, 2)]
        assert [record for _, record in client.iterate("divided-fluvio", 1)] == [one]


def test_tank_refuses_what_it_cannot_say() -> None:
    with (
        TankWriter("127.0.0.1:1", "any", timeout_s=1, is_snappy=False) as writer,
        pytest.raises(ClientError, match="cannot say"),
    ):
        writer.write([Wanted(Record(None, None, 1))])


@pytest.mark.parametrize(
    "record", [Record(b"", b"v", 1), Record(None, None, 1), Record(None, b"v", 1, (Header("h", None),))]
)
def test_flymq_refuses_what_it_cannot_say(record: Record) -> None:
    with (
        FlyMQWriter("127.0.0.1:1", "any", timeout_s=1, packed=False) as writer,
        pytest.raises(CommandFailed, match="cannot say"),
    ):
        writer.write([Wanted(record)])
