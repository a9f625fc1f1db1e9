"""One batch: its header read once, its bytes left where they are, its records on demand.

A Batch is a view of bytes that may belong to a socket's buffer, a file or another batch; it
never changes them. What has to change (offsets, the time of appending) makes a copy. Which
batches a log takes, and under which rules, is decided above; the bytes are codec.py's.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Self

from onelog.binary.compression import Codec, compress, decompress
from onelog.binary.crc import crc32c
from onelog.binary.errors import BinaryError, TooLarge
from onelog.errors import CorruptBatch, InvalidRecord
from onelog.model import OFFSET_MAX
from onelog.records import codec as layout
from onelog.records import kernels
from onelog.records.kernels import RECORD_BYTES_MIN, MalformedRecord
from onelog.records.record import Buffer, Record, TimestampType

# A batch may not unpack to more than this unless its reader says so: a few bytes of zeros
# well compressed would otherwise fill the memory.
UNPACKED_BYTES_MAX = 192 << 20
_SEQUENCES = 1 << 31
_TIMESTAMP_MIN = -(1 << 63)


class OverlargeBatch(CorruptBatch):
    """Its records take more bytes once they are unpacked than the reader allows."""


class Batch:
    """A whole batch of version 2. Not changed after it is made."""

    __slots__ = (
        "attributes",
        "base_offset",
        "base_sequence",
        "base_timestamp_ms",
        "crc",
        "data",
        "last_offset_delta",
        "leader_epoch",
        "max_timestamp_ms",
        "producer_epoch",
        "producer_id",
        "record_count",
        "size",
    )

    def __init__(self, data: Buffer, fields: layout.Fields) -> None:
        self.data = data
        self.base_offset = fields[0]
        self.size = fields[1] + layout.SIZE_BYTES
        self.leader_epoch = fields[2]
        self.crc = fields[4]
        self.attributes = fields[5]
        self.last_offset_delta = fields[6]
        self.base_timestamp_ms = fields[7]
        self.max_timestamp_ms = fields[8]
        self.producer_id = fields[9]
        self.producer_epoch = fields[10]
        self.base_sequence = fields[11]
        self.record_count = fields[12]

    @classmethod
    def of(cls, view: Buffer, *, where: str = "batch") -> Self:
        """The batch at the beginning of view; header checked, CRC and records not."""
        fields = layout.read_header(view, where=where)
        size = fields[1] + layout.SIZE_BYTES
        return cls(view if size == len(view) else memoryview(view)[:size], fields)

    @classmethod
    def build(
        cls,
        records: Iterable[Record],
        *,
        base_offset: int = 0,
        codec: Codec = Codec.NONE,
        producer_id: int = -1,
        producer_epoch: int = -1,
        base_sequence: int = -1,
        timestamp_type: TimestampType = TimestampType.CREATE_TIME,
        transactional: bool = False,
        control: bool = False,
        offset_deltas: Sequence[int] | None = None,
        leader_epoch: int = 0,
    ) -> Self:
        """A new batch of at least one record. offset_deltas: where they stand, if not 0, 1, 2 ..."""
        records = records if isinstance(records, list) else list(records)
        assert records
        base_timestamp_ms = records[0].timestamp_ms
        body = layout.encode_records(
            records, base_timestamp_ms=base_timestamp_ms, offset_deltas=offset_deltas
        )
        attributes = (
            codec.value
            | (layout.APPEND_TIME_BIT if timestamp_type is TimestampType.LOG_APPEND_TIME else 0)
            | (layout.TRANSACTIONAL_BIT if transactional else 0)
            | (layout.CONTROL_BIT if control else 0)
        )
        return cls.seal(
            body,
            record_count=len(records),
            base_offset=base_offset,
            leader_epoch=leader_epoch,
            attributes=attributes,
            last_offset_delta=len(records) - 1 if offset_deltas is None else offset_deltas[-1],
            base_timestamp_ms=base_timestamp_ms,
            max_timestamp_ms=max(record.timestamp_ms for record in records),
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
        )

    @classmethod
    def seal(
        cls,
        body: Buffer,
        *,
        record_count: int,
        attributes: int,
        last_offset_delta: int,
        base_timestamp_ms: int,
        max_timestamp_ms: int,
        base_offset: int = 0,
        leader_epoch: int = 0,
        producer_id: int = -1,
        producer_epoch: int = -1,
        base_sequence: int = -1,
    ) -> Self:
        """Records already encoded, compressed as the attributes say, under a header with its CRC."""
        codec = Codec(attributes & layout.CODEC_MASK)
        body = body if codec is Codec.NONE else compress(codec, body)
        data = bytearray(layout.HEADER_BYTES)
        data += body
        numbers = (last_offset_delta, base_timestamp_ms, max_timestamp_ms)
        producer = (producer_id, producer_epoch, base_sequence)
        front = (base_offset, len(data) - layout.SIZE_BYTES, leader_epoch, layout.MAGIC)
        layout.HEADER.pack_into(data, 0, *front, 0, attributes, *numbers, *producer, record_count)
        _renew_crc(data)
        sealed = bytes(data)
        return cls(sealed, layout.HEADER.unpack_from(sealed))

    @property
    def codec(self) -> Codec:
        """How the records are compressed."""
        return Codec(self.attributes & layout.CODEC_MASK)

    @property
    def timestamp_type(self) -> TimestampType:
        """Whose clock the timestamps are from."""
        append = self.attributes & layout.APPEND_TIME_BIT
        return TimestampType.LOG_APPEND_TIME if append else TimestampType.CREATE_TIME

    @property
    def is_transactional(self) -> bool:
        """Part of a transaction, whose end decides whether it counts."""
        return bool(self.attributes & layout.TRANSACTIONAL_BIT)

    @property
    def is_control(self) -> bool:
        """A marker for readers, not data."""
        return bool(self.attributes & layout.CONTROL_BIT)

    @property
    def last_offset(self) -> int:
        """The last offset that the batch takes, also when that record is gone."""
        return self.base_offset + self.last_offset_delta

    @property
    def offset_end(self) -> int:
        """The offset behind the batch."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """The sequence of its last record, which wraps at 2^31; -1 without sequences."""
        if self.base_sequence < 0:
            return -1
        return (self.base_sequence + self.last_offset_delta) % _SEQUENCES

    @property
    def next_sequence(self) -> int:
        """The sequence that the producer's next batch begins with; -1 without sequences."""
        return -1 if self.base_sequence < 0 else (self.last_sequence + 1) % _SEQUENCES

    def __repr__(self) -> str:
        return (
            f"Batch({self.base_offset}..{self.last_offset}, {self.record_count} records, {self.size} bytes)"
        )

    def payload(self, *, bytes_max: int = UNPACKED_BYTES_MAX, where: str = "") -> Buffer:
        """The records' own bytes, decompressed; never more than bytes_max."""
        packed = memoryview(self.data)[layout.HEADER_BYTES :]
        unpacked: Buffer = packed
        if self.attributes & layout.CODEC_MASK:
            try:
                unpacked = decompress(self.codec, packed, bytes_max=bytes_max)
            except TooLarge as error:
                raise OverlargeBatch(
                    where or self._name, f"{self.codec.name.lower()}: {error}", "fewer records"
                ) from error
            except BinaryError as error:
                raise CorruptBatch(
                    where or self._name, f"{self.codec.name.lower()}: {error}", "compressed records"
                ) from error
        if self.record_count > len(unpacked) // RECORD_BYTES_MIN:
            raise InvalidRecord(
                where or self._name, f"{self.record_count} records cannot be in {len(unpacked)} bytes"
            )
        return unpacked

    def records(self, *, bytes_max: int = UNPACKED_BYTES_MAX) -> Iterator[Record]:
        """The records in their order. CorruptBatch or InvalidRecord where they are not what was promised."""
        for _, record in self.numbered(bytes_max=bytes_max):
            yield record

    def numbered(
        self, *, bytes_max: int = UNPACKED_BYTES_MAX, offset_start: int = 0
    ) -> Iterator[tuple[int, Record]]:
        """The records from offset_start on, each with its offset."""
        data = self.payload(bytes_max=bytes_max)
        append_ms = self.max_timestamp_ms if self.attributes & layout.APPEND_TIME_BIT else None
        try:
            first, pos = kernels.seek(data, self.record_count, offset_start - self.base_offset)
            for index in range(first, self.record_count):
                pos, delta, record = layout.decode_record(
                    data, pos, index=index, base_timestamp_ms=self.base_timestamp_ms, append_ms=append_ms
                )
                yield self.base_offset + delta, record
        except MalformedRecord as error:
            raise self._invalid(error) from error
        if pos != len(data):
            raise InvalidRecord(self._name, f"{len(data) - pos} bytes behind its last record")

    def verify_records(self, *, bytes_max: int = UNPACKED_BYTES_MAX, gapless: bool = False) -> None:
        """Look at every record, which validate() does not: InvalidRecord where one is not what it says.

        gapless: also that their offsets are 0, 1, 2 and so on, as a producer has to send them.
        """
        data = self.payload(bytes_max=bytes_max)
        try:
            _, last, gaps, _, _ = kernels.walk(data, self.record_count)
        except MalformedRecord as error:
            raise self._invalid(error) from error
        if last > self.last_offset_delta or (gapless and gaps):
            raise InvalidRecord(self._name, f"its records reach offset {last} with {gaps} gaps")

    def find_time(
        self,
        timestamp_ms: int,
        *,
        offset_start: int = 0,
        offset_end: int = OFFSET_MAX,
        bytes_max: int = UNPACKED_BYTES_MAX,
    ) -> tuple[int, int] | None:
        """(offset, time) of the first record that is this old or newer, between these offsets."""
        appended = bool(self.attributes & layout.APPEND_TIME_BIT)
        if appended and self.max_timestamp_ms < timestamp_ms:
            return None
        # The log's time stands for that of every record: the first between the offsets will do.
        least = _TIMESTAMP_MIN if appended else timestamp_ms
        place = (self.base_offset, self.base_timestamp_ms)
        data = self.payload(bytes_max=bytes_max)
        try:
            found = kernels.find_time(data, self.record_count, *place, least, offset_start, offset_end)
        except MalformedRecord as error:
            raise self._invalid(error) from error
        return (found[0], self.max_timestamp_ms) if found and appended else found

    def find_time_max(
        self,
        *,
        offset_start: int = 0,
        offset_end: int = OFFSET_MAX,
        bytes_max: int = UNPACKED_BYTES_MAX,
    ) -> tuple[int, int] | None:
        """(offset, time) of the first of the newest records between these offsets."""
        if self.attributes & layout.APPEND_TIME_BIT:
            return self.find_time(
                self.max_timestamp_ms, offset_start=offset_start, offset_end=offset_end, bytes_max=bytes_max
            )
        place = (self.base_offset, self.base_timestamp_ms)
        data = self.payload(bytes_max=bytes_max)
        try:
            return kernels.find_time_max(data, self.record_count, *place, offset_start, offset_end)
        except MalformedRecord as error:
            raise self._invalid(error) from error

    def renumbered(self, *, base_offset: int, leader_epoch: int) -> "Batch":
        """The same records at another place of a log: one copy, the CRC does not cover it."""
        data = bytearray(self.data)
        layout.PLACE.pack_into(data, 0, base_offset, self.size - layout.SIZE_BYTES, leader_epoch)
        return Batch(data, layout.HEADER.unpack_from(data))

    def restamped(self, append_time_ms: int) -> "Batch":
        """The same records with the log's time for all of them: one copy, and a new CRC."""
        data = bytearray(self.data)
        layout.ATTRIBUTES.pack_into(data, layout.CRC_FROM, self.attributes | layout.APPEND_TIME_BIT)
        layout.TIMESTAMP.pack_into(data, layout.MAX_TIMESTAMP_AT, append_time_ms)
        _renew_crc(data)
        return Batch(data, layout.HEADER.unpack_from(data))

    def _invalid(self, error: MalformedRecord) -> InvalidRecord:
        return InvalidRecord(self._name, str(error), index=error.index)

    @property
    def _name(self) -> str:
        return f"batch at offset {self.base_offset}"


def split(view: Buffer, *, where: str = "batches", whole: bool = False) -> list[Batch]:
    """The batches that stand back to back in view; headers checked, CRCs not.

    A torn one at the end is what a fetch limited by bytes leaves: it is dropped, or with
    `whole` refused.
    """
    rest = memoryview(view)
    batches: list[Batch] = []
    while len(rest) >= layout.SIZE_BYTES:
        size = layout.SIZE_BYTES + int.from_bytes(rest[8:12], "big", signed=True)
        if size > len(rest) and not whole:
            return batches
        batches.append(Batch.of(rest, where=f"{where}, batch {len(batches)}"))
        rest = rest[size:]
    if rest and whole:
        raise CorruptBatch(where, f"{len(rest)} bytes behind batch {len(batches) - 1}", "whole batches")
    return batches


def check_produced(batch: Batch, *, where: str) -> None:
    """What a producer may not send, though a log may hold it: gaps, markers, numbers of its own."""
    if batch.base_offset != 0:
        raise InvalidRecord(where, f"base offset {batch.base_offset}; expected 0, the log numbers it")
    if batch.record_count == 0 or batch.last_offset_delta + 1 != batch.record_count:
        found = f"{batch.record_count} records in {batch.last_offset_delta + 1} offsets"
        raise InvalidRecord(where, f"{found}; expected at least one, and no gaps")
    if batch.is_control:
        raise InvalidRecord(where, "a control batch; only the log writes those")
    if batch.producer_id >= 0 and batch.base_sequence < 0:
        raise InvalidRecord(where, f"producer {batch.producer_id} sends no sequence")


def _renew_crc(data: bytearray) -> None:
    crc = crc32c(memoryview(data)[layout.CRC_FROM :])
    layout.CRC.pack_into(data, layout.CRC_AT, crc)
