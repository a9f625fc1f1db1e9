"""Reading a topic through one dialect or another, as `consume` needs it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from onelog.cli.arguments import Start, Where
from onelog.cli.output import CommandFailed
from onelog.client.closing import Closing
from onelog.client.fluvio.client import FluvioClient
from onelog.client.fluvio.tail import Tail
from onelog.client.flymq.client import FlyMQClient
from onelog.client.kafka.admin import Admin, OffsetAt, Spot
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.consumer import Consumer
from onelog.client.retry import pause
from onelog.client.rustlog.client import RustLogClient
from onelog.client.rustlog.forms import Form
from onelog.client.tank.client import TankClient
from onelog.model import Isolation
from onelog.records.record import Record

Numbered = tuple[int, Record]

# What Kafka says of a record that has none.
NO_TIMESTAMP = -1
# A stream that has something sends it at once, but does not say that it has nothing.
FLUVIO_WAIT_MS = 500


class Span(NamedTuple):
    """Where a partition begins and ends now; the end is exclusive."""

    start: int
    end: int


class Read(NamedTuple):
    """Records of one partition in their order, and where to go on."""

    records: Iterable[Numbered]
    next_offset: int


class Reader(Closing, Protocol):
    """One topic of one broker."""

    def spans(self) -> Mapping[int, Span]:
        """Every partition."""
        ...

    def at_time(self, timestamp_ms: int, partitions: Sequence[int]) -> Mapping[int, int]:
        """The first offset at or after a time; -1 where there is none."""
        ...

    def read(self, offsets: Mapping[int, int], *, wait_ms: int) -> Mapping[int, Read]:
        """What comes next in each of these partitions; nothing after wait_ms if there is nothing."""
        ...


class KafkaReader(Reader):
    """Through the Kafka dialect."""

    def __init__(self, bootstrap: str, topic: str, *, timeout_s: float, isolation: Isolation) -> None:
        self._client = KafkaClient(bootstrap, timeout_s=timeout_s)
        self._consumer = Consumer(self._client, isolation=isolation)
        self._admin = Admin(self._client)
        self._topic = topic
        self._isolation = isolation

    def close(self) -> None:
        self._client.close()

    def spans(self) -> Mapping[int, Span]:
        starts = self._offsets(Spot.EARLIEST)
        ends = self._offsets(Spot.LATEST)
        return {p: Span(starts[p].offset, end.offset) for p, end in ends.items() if p in starts}

    def at_time(self, timestamp_ms: int, partitions: Sequence[int]) -> Mapping[int, int]:
        found = self._admin.offsets(
            self._topic, timestamp_ms, partitions=partitions, isolation=self._isolation
        )
        return {p: at.offset for p, at in found.items()}

    def read(self, offsets: Mapping[int, int], *, wait_ms: int) -> Mapping[int, Read]:
        fetched = self._consumer.fetch_many(self._topic, offsets, wait_ms=wait_ms)
        return {p: Read(each.records(), each.next_offset) for p, each in fetched.items()}

    def _offsets(self, spot: Spot) -> dict[int, OffsetAt]:
        return self._admin.offsets(self._topic, spot, isolation=self._isolation)


class RustLogReader(Reader):
    """Through the RustLog dialect, which knows no keys, no headers, and no waiting."""

    def __init__(self, bootstrap: str, topic: str, *, timeout_s: float, form: Form = Form.JSON) -> None:
        self._client = RustLogClient(bootstrap, timeout_s=timeout_s, form=form)
        self._topic = topic

    def close(self) -> None:
        self._client.close()

    def spans(self) -> Mapping[int, Span]:
        described = self._client.describe_topic(self._topic)
        # In the binary form a log begins at 0 for whoever asks, wherever that is.
        return {p.partition: Span(p.log_start_offset or 0, p.high_watermark) for p in described}

    def at_time(self, timestamp_ms: int, partitions: Sequence[int]) -> Mapping[int, int]:
        raise CommandFailed("RustLog cannot look for a time; use --dialect kafka, or an offset")

    def read(self, offsets: Mapping[int, int], *, wait_ms: int) -> Mapping[int, Read]:
        found = {partition: self._read(partition, offset) for partition, offset in offsets.items()}
        if wait_ms and all(read.next_offset == offsets[p] for p, read in found.items()):
            pause(wait_ms / 1000)
        return found

    def _read(self, partition: int, offset: int) -> Read:
        fetched = self._client.fetch(self._topic, partition, offset)
        numbered = [(r.offset, Record(None, r.payload, _millis(r.timestamp))) for r in fetched.records]
        return Read(numbered, fetched.next_offset)


def _millis(timestamp_us: int | None) -> int:
    return NO_TIMESTAMP if timestamp_us is None else timestamp_us // 1000


class FlyMQReader(Reader):
    """Through the FlyMQ dialect, which knows no headers, no timestamps, and no waiting."""

    def __init__(self, bootstrap: str, topic: str, *, timeout_s: float) -> None:
        self._client = FlyMQClient(bootstrap, timeout_s=timeout_s)
        self._topic = topic

    def close(self) -> None:
        self._client.close()

    def spans(self) -> Mapping[int, Span]:
        return {p.partition: Span(p.oldest, p.newest) for p in self._client.partitions(self._topic)}

    def at_time(self, timestamp_ms: int, partitions: Sequence[int]) -> Mapping[int, int]:
        return {p: self._client.seek(self._topic, p, timestamp_ms) for p in partitions}

    def read(self, offsets: Mapping[int, int], *, wait_ms: int) -> Mapping[int, Read]:
        found = {partition: self._read(partition, offset) for partition, offset in offsets.items()}
        if wait_ms and all(read.next_offset == offsets[p] for p, read in found.items()):
            pause(wait_ms / 1000)
        return found

    def _read(self, partition: int, offset: int) -> Read:
        fetched = self._client.fetch(self._topic, partition, offset)
        numbered = [(r.offset, Record(r.key or None, r.value, NO_TIMESTAMP)) for r in fetched.records]
        return Read(numbered, fetched.next_offset)


class FluvioReader(Reader):
    """Through the Fluvio dialect, which knows no headers. Reads on where it has read, by streams."""

    def __init__(self, bootstrap: str, topic: str, *, timeout_s: float) -> None:
        self._client = FluvioClient(bootstrap, timeout_s=timeout_s)
        self._topic = topic
        self._tail: Tail | None = None

    def close(self) -> None:
        if self._tail is not None:
            self._tail.close()
        self._client.close()

    def spans(self) -> Mapping[int, Span]:
        return {p: Span(each.start, each.end) for p, each in self._client.spans(self._topic).items()}

    def at_time(self, timestamp_ms: int, partitions: Sequence[int]) -> Mapping[int, int]:
        raise CommandFailed("Fluvio cannot look for a time; use --dialect kafka, or an offset")

    def read(self, offsets: Mapping[int, int], *, wait_ms: int) -> Mapping[int, Read]:
        # What there is takes a moment to come, also for who does not wait.
        found = self._tail_at(offsets).read(wait_ms=max(wait_ms, FLUVIO_WAIT_MS))
        read = {p: Read((), offset) for p, offset in offsets.items()}
        read.update((p, Read(each.records, each.next_offset)) for p, each in found.items() if p in offsets)
        return read

    def _tail_at(self, offsets: Mapping[int, int]) -> Tail:
        """The one that stands there, or a new one. It may follow others too, which nobody wants any more."""
        if self._tail is not None:
            at = self._tail.offsets
            if all(at.get(partition) == offset for partition, offset in offsets.items()):
                return self._tail
            self._tail.close()
        self._tail = self._client.tail(self._topic, offsets)
        return self._tail


class TankReader(Reader):
    """Through the TANK dialect, which counts from 1 and knows no headers."""

    def __init__(self, bootstrap: str, topic: str, *, timeout_s: float) -> None:
        self._client = TankClient(bootstrap, timeout_s=timeout_s)
        self._topic = topic

    def close(self) -> None:
        self._client.close()

    def spans(self) -> Mapping[int, Span]:
        spans: dict[int, Span] = {}
        for partition, each in enumerate(self._client.partitions(self._topic)):
            if each.reason is not None:
                raise CommandFailed(f"{self._topic}/{partition}: not served here (reason {each.reason:#04x})")
            spans[partition] = Span(max(each.first - 1, 0), each.last)
        return spans

    def at_time(self, timestamp_ms: int, partitions: Sequence[int]) -> Mapping[int, int]:
        raise CommandFailed("TANK cannot look for a time; use --dialect kafka, or an offset")

    def read(self, offsets: Mapping[int, int], *, wait_ms: int) -> Mapping[int, Read]:
        found: dict[int, Read] = {}
        wanted = {partition: offset + 1 for partition, offset in offsets.items()}
        for lot in _lots(wanted):
            for partition, fetched in self._client.fetch_many(self._topic, lot, wait_ms=wait_ms).items():
                numbered = [(sequence - 1, record) for sequence, record in fetched.messages]
                found[partition] = Read(numbered, fetched.next_sequence - 1)
        return found


def _lots(wanted: Mapping[int, int]) -> Iterable[Mapping[int, int]]:
    """As many partitions at once as one TANK request can name."""
    pairs = list(wanted.items())
    return [dict(pairs[at : at + 255]) for at in range(0, len(pairs), 255)]


def first_offsets(reader: Reader, start: Start, spans: Mapping[int, Span]) -> dict[int, int]:
    """Where to begin in each partition. A time after all records begins at the end."""
    if start.where is Where.TIME:
        found = reader.at_time(start.number, list(spans))
        return {p: span.end if found[p] < 0 else found[p] for p, span in spans.items()}
    return {p: _first_offset(start, span) for p, span in spans.items()}


def _first_offset(start: Start, span: Span) -> int:
    if start.where is Where.OFFSET:
        return start.number
    if start.where is Where.FROM_END:
        return max(span.start, span.end - start.number)
    return span.start if start.where is Where.EARLIEST else span.end
