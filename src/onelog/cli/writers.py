"""Writing to a topic through one dialect or another, as `produce` needs it."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from onelog.binary.compression import Codec
from onelog.cli.formats import Wanted
from onelog.cli.output import CommandFailed
from onelog.client.closing import Closing
from onelog.client.fluvio.client import FluvioClient
from onelog.client.flymq.client import FlyMQClient, Outgoing
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.producer import Producer
from onelog.client.rustlog.client import RustLogClient
from onelog.client.rustlog.forms import Form
from onelog.client.tank.client import TankClient
from onelog.records.record import Record


class Written(NamedTuple):
    """Offsets of a partition that records went to; the end is exclusive."""

    partition: int
    offset: int
    offset_end: int


class Writer(Closing, Protocol):
    """One topic of one broker."""

    def write(self, lot: Sequence[Wanted]) -> list[Written]:
        """Write the records; return when they are acknowledged."""
        ...


class KafkaWriter(Writer):
    """Through the Kafka dialect, once each."""

    def __init__(self, bootstrap: str, topic: str, *, timeout_s: float, codec: Codec) -> None:
        self._client = KafkaClient(bootstrap, timeout_s=timeout_s)
        self._producer = Producer(self._client, codec=codec)
        self._topic = topic

    def close(self) -> None:
        self._client.close()

    def write(self, lot: Sequence[Wanted]) -> list[Written]:
        written: list[Written] = []
        for partition in dict.fromkeys(wanted.partition for wanted in lot):
            records = [wanted.record for wanted in lot if wanted.partition == partition]
            sent = self._producer.send(self._topic, records, partition=partition)
            written += [Written(s.partition, s.offset, s.offset_end) for s in sent]
        return written


class RustLogWriter(Writer):
    """Through the RustLog dialect, which can say a value and nothing else."""

    def __init__(self, bootstrap: str, topic: str, *, timeout_s: float, form: Form = Form.JSON) -> None:
        self._client = RustLogClient(bootstrap, timeout_s=timeout_s, form=form)
        self._topic = topic

    def close(self) -> None:
        self._client.close()

    def write(self, lot: Sequence[Wanted]) -> list[Written]:
        values: dict[int, list[bytes]] = {}
        for wanted in lot:
            record = wanted.record
            if record.key is not None or record.headers or record.value is None:
                raise CommandFailed("RustLog cannot say keys, headers or null; use --dialect kafka")
            values.setdefault(wanted.partition or 0, []).append(record.value)
        return [
            Written(partition, each.offset, each.offset_end)
            for partition, some in values.items()
            for each in self._client.produce(self._topic, partition, some)
        ]


class FlyMQWriter(Writer):
    """Through the FlyMQ dialect, which can say a key and a value."""

    def __init__(self, bootstrap: str, topic: str, *, timeout_s: float, packed: bool) -> None:
        self._client = FlyMQClient(bootstrap, timeout_s=timeout_s)
        self._topic = topic
        self._packed = packed

    def close(self) -> None:
        self._client.close()

    def write(self, lot: Sequence[Wanted]) -> list[Written]:
        records = [_outgoing(wanted) for wanted in lot]
        made = self._client.produce_all(self._topic, records, packed=self._packed)
        return [Written(each.partition, each.offset, each.offset + 1) for each in made]


def _outgoing(wanted: Wanted) -> Outgoing:
    record = wanted.record
    if record.headers or record.value is None or record.key == b"":
        raise CommandFailed("FlyMQ cannot say headers, null or an empty key; use --dialect kafka")
    return Outgoing(record.value, record.key, wanted.partition)


class FluvioWriter(Writer):
    """Through the Fluvio dialect, which can say a key and a value."""

    def __init__(self, bootstrap: str, topic: str, *, timeout_s: float, codec: Codec) -> None:
        self._client = FluvioClient(bootstrap, timeout_s=timeout_s)
        self._topic = topic
        self._codec = codec

    def close(self) -> None:
        self._client.close()

    def write(self, lot: Sequence[Wanted]) -> list[Written]:
        records: dict[int | None, list[Record]] = {}
        for wanted in lot:
            records.setdefault(wanted.partition, []).append(wanted.record)
        return [
            Written(*sent)
            for partition, some in records.items()
            for sent in self._client.produce(self._topic, partition, some, codec=self._codec)
        ]


class TankWriter(Writer):
    """Through the TANK dialect, which can say keys and values, and does not tell where they went."""

    def __init__(self, bootstrap: str, topic: str, *, timeout_s: float, is_snappy: bool) -> None:
        self._client = TankClient(bootstrap, timeout_s=timeout_s)
        self._topic = topic
        self._is_snappy = is_snappy

    def close(self) -> None:
        self._client.close()

    def write(self, lot: Sequence[Wanted]) -> list[Written]:
        records: dict[int, list[Record]] = {}
        for wanted in lot:
            records.setdefault(wanted.partition or 0, []).append(wanted.record)
        for partition, some in records.items():
            self._client.produce(self._topic, partition, some, is_snappy=self._is_snappy)
        return []
