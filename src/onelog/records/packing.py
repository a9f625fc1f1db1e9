# cython: language_level=3, annotation_typing=False
# cython: boundscheck=False, wraparound=False, initializedcheck=False, embedsignature=False
"""The loops that make records of objects and of columns: kernels.py the other way round.

Plain Python that the build compiles with the C types of `packing.pxd`, under the same rules:
no Cython here, the same results from both forms, every read and write checked by hand.
"""

from collections.abc import Iterable, Sequence
from types import FunctionType

from onelog.records import blocks, forms
from onelog.records.record import Buffer, Record

_INT64_MAX = 0x7FFFFFFFFFFFFFFF
_INT32_MAX = 0x7FFFFFFF
_TWO_64 = 1 << 64


class Strings:
    """A column of byte strings as Arrow lays them out, to be read. validity None: no nulls."""

    def __init__(self, validity: Buffer | None, bit: int, ends: memoryview, data: Buffer) -> None:
        self.validity = validity
        self.bit = bit
        self.ends = ends
        self.data = data
        self.bytes = blocks.start(data)
        self.rows = len(ends) - 1
        assert validity is None or (bit >= 0 and bit + self.rows <= 8 * len(validity))

    def find(self, row: int) -> tuple[int, int]:
        """(position, length) of a value; length -1 for null, position -1 for nonsense."""
        if row < 0 or row >= self.rows:
            return -1, 0
        if self.validity is not None:
            bit = self.bit + row
            if not (self.validity[bit >> 3] >> (bit & 7)) & 1:
                return 0, -1
        at = self.ends[row]
        length = self.ends[row + 1] - at
        if at < 0 or length < 0 or length > len(self.data) - at:
            return -1, 0
        return at, length


class Rows:
    """Columns to be made records of; None for a column of nulls, or for no headers at all."""

    def __init__(
        self,
        timestamps: memoryview,
        keys: Strings | None,
        values: Strings | None,
        header_ends: memoryview | None,
        header_names: Strings | None,
        header_values: Strings | None,
    ) -> None:
        self.timestamps = timestamps
        self.keys = keys
        self.values = values
        self.header_ends = header_ends
        self.header_names = header_names
        self.header_values = header_values
        self.count = len(timestamps)
        assert header_ends is None or (header_names is not None and header_values is not None)
        assert header_ends is None or len(header_ends) > self.count

    def timestamp_ms(self, row: int) -> int:
        """The time of a row; one that there is."""
        assert 0 <= row < self.count
        return self.timestamps[row] // 1000


def _wrapped(value: int) -> int:
    """As 64 bits hold it: what C does by itself."""
    if value > _INT64_MAX:
        return value - _TWO_64
    if value < -_INT64_MAX - 1:
        return value + _TWO_64
    return value


def _put(out: bytearray, value: int) -> None:
    """A zig-zag varint at the end of out."""
    zigzag = value
    zigzag = (zigzag << 1) ^ (value >> 63)
    while zigzag >= 0x80:
        out.append((zigzag & 0x7F) | 0x80)
        zigzag >>= 7
    out.append(zigzag)


def _put_sized(out: bytearray, data: bytes | None) -> None:
    """A nullable byte string at the end of out: its length, then itself."""
    if data is None:
        out.append(1)
    else:
        _put(out, len(data))
        out += data


def pack(records: Iterable[Record], base_timestamp: int, offset_deltas: Sequence[int] | None) -> bytearray:
    """The bytes of records back to back. offset_deltas None: 0, 1, 2 and so on."""
    out = bytearray()
    body = bytearray()
    for index, record in enumerate(records):
        timestamp = record.timestamp_ms
        body.clear()
        body.append(0)
        _put(body, _wrapped(timestamp - base_timestamp))
        _put(body, index if offset_deltas is None else offset_deltas[index])
        _put_sized(body, record.key)
        _put_sized(body, record.value)
        headers = record.headers
        _put(body, len(headers))
        for name, value in headers:
            _put_sized(body, name.encode())
            _put_sized(body, value)
        _put(out, len(body))
        out += body
    return out


def _size(value: int) -> int:
    """The bytes that a zig-zag varint takes."""
    zigzag = value
    zigzag = (zigzag << 1) ^ (value >> 63)
    size = 1
    while zigzag >= 0x80:
        zigzag >>= 7
        size += 1
    return size


def _write(out: memoryview, at: int, value: int) -> int:
    """A zig-zag varint at a position that has room; the position behind it."""
    zigzag = value
    zigzag = (zigzag << 1) ^ (value >> 63)
    while zigzag >= 0x80:
        out[at] = (zigzag & 0x7F) | 0x80
        zigzag >>= 7
        at += 1
    out[at] = zigzag
    return at + 1


def _sized_bytes(column: Strings | None, row: int) -> int:
    """What a nullable byte string takes with its length; -1 for nonsense."""
    if column is None:
        return 1
    at, length = column.find(row)
    if at < 0:
        return -1
    return 1 if length < 0 else _size(length) + length


def _write_sized(out: memoryview, to: int, column: Strings | None, row: int) -> int:
    if column is None:
        return _write(out, to, -1)
    at, length = column.find(row)
    to = _write(out, to, length)
    if length > 0:
        blocks.copy(out, to, column.bytes, at, length)
        to += length
    return to


def _body_bytes(rows: Rows, row: int, delta: int, timestamp_delta: int) -> int:
    """What a row takes as a record, without the length before it; -1 for nonsense."""
    key = _sized_bytes(rows.keys, row)
    value = _sized_bytes(rows.values, row)
    if key < 0 or value < 0:
        return -1
    size = 1 + _size(timestamp_delta) + _size(delta) + key + value
    if rows.header_ends is None:
        return size + 1
    first = rows.header_ends[row]
    end = rows.header_ends[row + 1]
    if first < 0 or end < first:
        return -1
    size += _size(end - first)
    for header in range(first, end):
        key = _sized_bytes(rows.header_names, header)
        value = _sized_bytes(rows.header_values, header)
        if key < 0 or value < 0:
            return -1
        size += key + value
    return size


def pack_rows(
    out: memoryview, rows: Rows, row: int, row_end: int, base_timestamp: int
) -> tuple[int, int, int]:
    """Rows up to row_end as records, as many as out has room for: (next row, bytes, latest timestamp).

    base_timestamp is in milliseconds, the rows' are in microseconds. Nonsense in the columns: ValueError.
    """
    target = blocks.start(out)
    first = row
    used = 0
    latest = -_INT64_MAX - 1
    if row < 0 or row_end > rows.count:
        raise ValueError(f"rows {row} to {row_end}; there are {rows.count}")
    while row < row_end:
        timestamp = rows.timestamps[row] // 1000
        timestamp_delta = _wrapped(timestamp - base_timestamp)
        body = _body_bytes(rows, row, row - first, timestamp_delta)
        if body < 0:
            raise ValueError(f"row {row} of the columns points outside of their bytes")
        if body > _INT32_MAX or _size(body) + body > len(out) - used:
            break
        used = _write(target, used, body)
        target[used] = 0
        used = _write(target, used + 1, timestamp_delta)
        used = _write(target, used, row - first)
        used = _write_sized(target, used, rows.keys, row)
        used = _write_sized(target, used, rows.values, row)
        used = _write_headers(target, used, rows, row)
        if timestamp > latest:
            latest = timestamp
        row += 1
    return row, used, latest


def _write_headers(out: memoryview, used: int, rows: Rows, row: int) -> int:
    if rows.header_ends is None:
        return _write(out, used, 0)
    first = rows.header_ends[row]
    end = rows.header_ends[row + 1]
    used = _write(out, used, end - first)
    for header in range(first, end):
        used = _write_sized(out, used, rows.header_names, header)
        used = _write_sized(out, used, rows.header_values, header)
    return used


COMPILED = not isinstance(pack, FunctionType)

if COMPILED and forms.plain_is_asked():
    forms.put_plain(__name__)
