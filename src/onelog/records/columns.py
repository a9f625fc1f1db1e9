"""Batches to Arrow and back: the core's only border with pyarrow.

The columns are those of Spark's Kafka source. Whole batches go in, record batches of thousands
of rows come out, and no Python runs per record where the kernels are compiled. A column that is
not asked for is not made. Who asks decides which offsets, and which transactions were aborted.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from onelog.binary.compression import Codec
from onelog.errors import InvalidRecord
from onelog.model import OFFSET_MAX
from onelog.records import kernels, packing
from onelog.records.batch import UNPACKED_BYTES_MAX, Batch
from onelog.records.codec import APPEND_TIME_BIT, HEADER_BYTES
from onelog.records.control import data_batches
from onelog.records.kernels import MalformedRecord
from onelog.records.record import Buffer

TIMESTAMP = pa.timestamp("us", tz="UTC")
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", TIMESTAMP),
        ("timestampType", pa.int32()),
        ("headers", HEADERS),
    ]
)
# Enough rows that what a record batch costs by itself no longer shows; see benchmarks/decode.py.
ROWS_ENOUGH = 16_384
# The records of one record batch stay far below the 2^31 bytes that Arrow's short offsets reach.
BYTES_ENOUGH = 64 << 20
BATCH_BYTES_MAX = 1_000_000
RECORD_BYTES_MAX = (1 << 31) - 1

# 64 bits, 32 bits, bytes.
Kind = Literal["q", "i", "B"]


class _Group:
    """Batches that become one record batch: what they hold, unpacked, and how much room it needs."""

    def __init__(self) -> None:
        self.parts: list[tuple[Batch, Buffer]] = []
        self.rows = 0
        self.bytes = 0

    def add(self, batch: Batch, data: Buffer) -> None:
        """One more."""
        self.parts.append((batch, data))
        self.rows += batch.record_count
        self.bytes += len(data)

    def is_full_for(self, batch: Batch) -> bool:
        """Whether the batch has to go into another one, by what its header says."""
        return bool(self.parts) and (self.rows >= ROWS_ENOUGH or self.bytes + batch.size > BYTES_ENOUGH)


def to_arrow(
    batches: Iterable[Batch],
    *,
    offset_start: int,
    offset_end: int,
    columns: Sequence[str] | None = None,
    topic: str,
    partition: int,
    aborted: Sequence[tuple[int, int]] | None = None,
    schema: pa.Schema | None = None,
    bytes_max: int = UNPACKED_BYTES_MAX,
) -> Iterator[pa.RecordBatch]:
    """The data records of one partition from offset_start to offset_end (exclusive), in columns.

    The batches are in order. columns: which, in which order (all but headers by default); schema:
    the same with the types and names of nested fields as the reader wants them. aborted: producer
    and first offset of the transactions that do not count. CorruptBatch or InvalidRecord as
    Batch.records() raises them.
    """
    assert bytes_max <= UNPACKED_BYTES_MAX
    decoder = _Decoder(_schema(columns, schema), topic, partition, offset_start, offset_end)
    group = _Group()
    for batch in data_batches(batches, aborted=aborted):
        if batch.offset_end <= offset_start or batch.base_offset >= offset_end:
            continue
        if group.is_full_for(batch):
            yield from decoder.decode(group)
            group = _Group()
        group.add(batch, batch.payload(bytes_max=bytes_max))
    yield from decoder.decode(group)


def from_arrow(
    rows: pa.RecordBatch,
    *,
    timestamp_ms: int,
    codec: Codec = Codec.NONE,
    batch_bytes_max: int = BATCH_BYTES_MAX,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
) -> list[Batch]:
    """The rows as batches of at most batch_bytes_max before compression; a larger record is alone.

    Columns: key and value (bytes or text), timestamp, headers; an absent one is null, or none,
    or timestamp_ms; others are not looked at. With a sequence, the batches continue it.
    """
    columns = _rows(rows, timestamp_ms)
    usual = memoryview(bytearray(max(batch_bytes_max - HEADER_BYTES, 1)))
    batches: list[Batch] = []
    row = 0
    while row < rows.num_rows:
        base_timestamp_ms = columns.timestamp_ms(row)
        room = usual
        end, used, latest_ms = packing.pack_rows(room, columns, row, rows.num_rows, base_timestamp_ms)
        while end == row:
            if len(room) > RECORD_BYTES_MAX:
                raise ValueError(f"row {row} is larger than any record may be")
            room = memoryview(bytearray(2 * len(room)))
            end, used, latest_ms = packing.pack_rows(room, columns, row, row + 1, base_timestamp_ms)
        batch = Batch.seal(
            room[:used],
            record_count=end - row,
            attributes=codec.value,
            last_offset_delta=end - row - 1,
            base_timestamp_ms=base_timestamp_ms,
            max_timestamp_ms=latest_ms,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
        )
        batches.append(batch)
        base_sequence = batch.next_sequence
        row = end
    return batches


def _schema(columns: Sequence[str] | None, schema: pa.Schema | None) -> pa.Schema:
    """What to make, checked: the kernels write buffers that have to be of just these types."""
    if schema is None:
        names = [name for name in SCHEMA.names if name != "headers"] if columns is None else columns
        for name in names:
            if name not in SCHEMA.names:
                raise ValueError(f"column {name!r}; expected some of {', '.join(SCHEMA.names)}")
        return pa.schema([SCHEMA.field(name) for name in names])
    assert columns is None or list(columns) == schema.names
    for field in schema:
        expected = SCHEMA.field(field.name).type if field.name in SCHEMA.names else None
        if field.name == "headers" and pa.types.is_list(field.type):
            names = field.type.value_type
            fits = pa.types.is_struct(names) and [each.type for each in names] == [pa.string(), pa.binary()]
        else:
            fits = field.type == expected
        if not fits:
            raise ValueError(
                f"column {field.name!r} of type {field.type}; expected {expected or 'another name'}"
            )
    return schema


class _Decoder:
    """Makes record batches of one schema, for one range of one partition."""

    def __init__(self, schema: pa.Schema, topic: str, partition: int, start: int, end: int) -> None:
        self._schema = schema
        self._names = set(schema.names)
        self._topic = topic
        self._partition = partition
        self._start = max(start, 0)
        self._end = min(end, OFFSET_MAX)

    def decode(self, group: _Group) -> Iterator[pa.RecordBatch]:
        """The group's rows as one record batch; none at all if it has none."""
        headers = self._header_count(group) if "headers" in self._names else 0
        made = _Made(self._names, rows=group.rows, size=group.bytes, headers=headers)
        # Neighbours that are the same are one, so that mostly there is one.
        types: list[tuple[int, int]] = []
        for batch, data in group.parts:
            kind = 1 if batch.attributes & APPEND_TIME_BIT else 0
            rows = self._fill(batch, data, made.columns)
            if types and types[-1][0] == kind:
                rows += types.pop()[1]
            types.append((kind, rows))
        rows = made.columns.rows
        if rows:
            arrays = [self._array(field, made, rows, types) for field in self._schema]
            if arrays:
                yield pa.RecordBatch.from_arrays(arrays, schema=self._schema)
            else:
                # Only so does a record batch of no columns keep the number of its rows.
                yield pa.RecordBatch.from_struct_array(
                    pa.Array.from_buffers(pa.struct([]), rows, [None], children=[])
                )

    def _header_count(self, group: _Group) -> int:
        count = 0
        for batch, data in group.parts:
            try:
                count += kernels.walk(data, batch.record_count)[3]
            except MalformedRecord as error:
                raise self._refusal(batch, error) from error
        return count

    def _fill(self, batch: Batch, data: Buffer, columns: kernels.Columns) -> int:
        appended = bool(batch.attributes & APPEND_TIME_BIT)
        time_ms = batch.max_timestamp_ms if appended else batch.base_timestamp_ms
        place = (batch.base_offset, time_ms, appended, self._start, self._end)
        try:
            return kernels.fill(data, batch.record_count, *place, columns)
        except MalformedRecord as error:
            raise self._refusal(batch, error) from error

    def _refusal(self, batch: Batch, error: MalformedRecord) -> InvalidRecord:
        where = f"{self._topic}/{self._partition}, batch at offset {batch.base_offset}"
        return InvalidRecord(where, str(error), index=error.index)

    def _array(self, field: pa.Field, made: "_Made", rows: int, types: list[tuple[int, int]]) -> pa.Array:
        match field.name:
            case "key":
                return made.keys.array(field.type)
            case "value":
                return made.values.array(field.type)
            case "offset":
                return pa.Array.from_buffers(field.type, rows, [None, made.offsets])
            case "timestamp":
                return pa.Array.from_buffers(field.type, rows, [None, made.timestamps])
            case "topic":
                return pa.repeat(pa.scalar(self._topic, field.type), rows)
            case "partition":
                return pa.repeat(pa.scalar(self._partition, field.type), rows)
            case "timestampType":
                runs = [pa.repeat(pa.scalar(kind, field.type), count) for kind, count in types if count]
                return runs[0] if len(runs) == 1 else pa.concat_arrays(runs)
            case _:
                return made.headers(field.type, rows)


class _Bytes:
    """One column of byte strings while the kernels fill it."""

    def __init__(self, rows: int, size: int) -> None:
        self._validity = bytearray(b"\xff") * (rows // 8 + 1)
        self._ends = pa.allocate_buffer(4 * (rows + 1))
        self._data = pa.allocate_buffer(size)
        ends = _view(self._ends, "i")
        ends[0] = 0
        self.room = kernels.Room(self._validity, ends, _view(self._data, "B"))

    def array(self, type_: pa.DataType) -> pa.Array:
        """What was filled in."""
        validity = pa.py_buffer(self._validity) if self.room.nulls else None
        buffers = [validity, self._ends, self._data.slice(0, self.room.used)]
        return pa.Array.from_buffers(type_, self.room.rows, buffers, self.room.nulls)


class _Made:
    """The columns of one record batch while the kernels fill them: what was asked for, and no more."""

    def __init__(self, names: set[str], *, rows: int, size: int, headers: int) -> None:
        unused = _Bytes(0, 0)
        with_headers = "headers" in names
        self.offsets = pa.allocate_buffer(8 * rows if "offset" in names else 0)
        self.timestamps = pa.allocate_buffer(8 * rows if "timestamp" in names else 0)
        self.keys = _Bytes(rows, size) if "key" in names else unused
        self.values = _Bytes(rows, size) if "value" in names else unused
        self._header_ends = pa.allocate_buffer(4 * (rows + 1))
        self._header_names = _Bytes(headers, size) if with_headers else unused
        self._header_values = _Bytes(headers, size) if with_headers else unused
        header_ends = _view(self._header_ends, "i")
        header_ends[0] = 0
        self.columns = kernels.Columns(
            _view(self.offsets, "q") if "offset" in names else None,
            _view(self.timestamps, "q") if "timestamp" in names else None,
            self.keys.room if "key" in names else None,
            self.values.room if "value" in names else None,
            header_ends if with_headers else None,
            self._header_names.room if with_headers else None,
            self._header_values.room if with_headers else None,
            rows,
        )

    def headers(self, type_: pa.DataType, rows: int) -> pa.Array:
        """The column of headers: lists of names and values, null where there are none, as Spark has it."""
        pair = type_.value_type
        names = _text(self._header_names.array(pair[0].type))
        values = self._header_values.array(pair[1].type)
        pairs = pa.Array.from_buffers(pair, len(names), [None], 0, children=[names, values])
        lists = pa.Array.from_buffers(type_, rows, [None, self._header_ends], 0, children=[pairs])
        some = pc.greater(pc.list_value_length(lists), 0).buffers()[1]
        return pa.Array.from_buffers(type_, rows, [some, self._header_ends], children=[pairs])


def _view(buffer: pa.Buffer, kind: Kind) -> memoryview:
    return memoryview(buffer).cast("B").cast(kind)


def _text(names: pa.Array) -> pa.Array:
    """Names that are all UTF-8: what is not becomes U+FFFD, as in every reader of records."""
    try:
        names.validate(full=True)
    except pa.ArrowInvalid:
        return pa.array([name.decode("utf-8", "replace") for name in names.cast(pa.binary()).to_pylist()])
    return names


def _rows(rows: pa.RecordBatch, timestamp_ms: int) -> packing.Rows:
    """The columns of rows as the kernels read them."""
    times = _column(rows, "timestamp")
    if times is None:
        micros = pa.repeat(pa.scalar(timestamp_ms * 1000, pa.int64()), rows.num_rows)
    else:
        # Seconds and milliseconds widen; whatever zone it shows, a timestamp counts from 1970 UTC.
        times = times.cast(pa.timestamp("us", tz=times.type.tz), safe=False).view(pa.int64())
        micros = pc.fill_null(times, timestamp_ms * 1000)
    ends = names = values = None
    headers = _column(rows, "headers")
    if headers is not None:
        pairs = headers.flatten()
        if pairs.null_count or pairs.field(0).null_count:
            raise ValueError("a header of the rows is null or has no name")
        lengths = pc.fill_null(pc.list_value_length(headers).cast(pa.int32()), 0)
        ends = _numbers(pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths)]), "i")
        names, values = _strings(pairs.field(0)), _strings(pairs.field(1))
    return packing.Rows(
        _numbers(micros, "q"),
        _strings(_column(rows, "key")),
        _strings(_column(rows, "value")),
        ends,
        names,
        values,
    )


def _column(rows: pa.RecordBatch, name: str) -> pa.Array | None:
    index = rows.schema.get_field_index(name)
    if index < 0 or pa.types.is_null(rows.schema.field(index).type):
        return None
    return rows.column(index)


def _numbers(array: pa.Array, kind: Kind) -> memoryview:
    size = 8 if kind == "q" else 4
    data = array.buffers()[1]
    view = memoryview(b"") if data is None else memoryview(data).cast("B")
    return view[size * array.offset : size * (array.offset + len(array))].cast(kind)


def _strings(array: pa.Array | None) -> packing.Strings | None:
    if array is None:
        return None
    array = array.cast(pa.binary())
    validity, ends, data = array.buffers()
    if not len(array) or ends is None:
        return packing.Strings(None, 0, memoryview(bytes(4)).cast("i"), b"")
    if array.null_count == 0:
        validity = None
    view = _view(ends, "i")[array.offset : array.offset + len(array) + 1]
    bits = None if validity is None else _view(validity, "B")
    return packing.Strings(bits, array.offset, view, b"" if data is None else _view(data, "B"))
