# cython: language_level=3, annotation_typing=False
# cython: boundscheck=False, wraparound=False, initializedcheck=False, embedsignature=False
"""The loops that touch every record: one source, compiled where that is possible.

This module is plain Python and imports nothing of Cython. `kernels.pxd` beside it gives the
same functions C types when the build compiles them; both forms give the same results, on
nonsense too, and a property test holds them so. Hence the manner: every read and write is
checked by hand, numbers stay within 64 bits, and what cannot be read is a negative position.

`data` is always the records of one batch, not compressed, and nothing else. Layouts are drawn
in codec.py; headers of batches, checksums and compression are left to batch.py.
"""

import sys
from collections.abc import Iterable, Sequence
from importlib.util import module_from_spec, spec_from_file_location
from os import environ
from os.path import dirname, join
from types import FunctionType, ModuleType

from onelog.records.record import Buffer, Record

# Seven fields of at least one byte each: what stops a count that lies.
RECORD_BYTES_MIN = 7

_INT64_MAX = 0x7FFFFFFFFFFFFFFF
_INT32_MAX = 0x7FFFFFFF
_TWO_64 = 1 << 64
_MILLIS_MAX = _INT64_MAX // 1000
_WRONG = (
    "",
    "its length is a lie",
    "its timestamp is not a number",
    "its offset is not one",
    "the length of its key is a lie",
    "the length of its value is a lie",
    "its count of headers is a lie",
    "the length of a header's name is a lie",
    "the length of a header's value is a lie",
    "bytes are left over in it",
    "bytes are left over behind it",
)


class MalformedRecord(ValueError):
    """The bytes of a batch are not the records that its header promises."""

    def __init__(self, index: int, position: int, wrong: int) -> None:
        super().__init__(f"record {index} at byte {position}: {_WRONG[-wrong]}")
        self.index = index
        self.position = position


class Room:
    """Room for one column of byte strings as Arrow lays them out. All ones in validity at first."""

    def __init__(self, validity: Buffer, ends: memoryview, data: memoryview) -> None:
        self.validity = validity
        self.ends = ends
        self.data = data
        self.rows = 0
        self.used = 0
        self.nulls = 0

    def add(self, source: Buffer, at: int, length: int) -> bool:
        """The next value; a length below 0 is null. False when there is no room."""
        row = self.rows
        used = self.used
        if row + 1 >= len(self.ends) or row >> 3 >= len(self.validity):
            return False
        if length < 0:
            self.validity[row >> 3] = self.validity[row >> 3] & (255 - (1 << (row & 7)))  # type: ignore[index]  # writable ones are given
            self.nulls += 1
        else:
            if length > len(self.data) - used:
                return False
            _copy(self.data, used, source, at, length)
            used += length
            self.used = used
        self.rows = row + 1
        self.ends[row + 1] = used
        return True


class Columns:
    """Room for the rows of some batches; None where a column was not asked for.

    Headers are asked for with all three of theirs: header_ends has one entry a row and the 0 before.
    """

    def __init__(
        self,
        offsets: memoryview | None,
        timestamps: memoryview | None,
        keys: Room | None,
        values: Room | None,
        header_ends: memoryview | None,
        header_names: Room | None,
        header_values: Room | None,
        rows_max: int,
    ) -> None:
        assert offsets is None or len(offsets) >= rows_max
        assert timestamps is None or len(timestamps) >= rows_max
        assert header_ends is None or len(header_ends) > rows_max
        assert header_ends is None or (header_names is not None and header_values is not None)
        self.offsets = offsets
        self.timestamps = timestamps
        self.keys = keys
        self.values = values
        self.header_ends = header_ends
        self.header_names = header_names
        self.header_values = header_values
        self.rows = 0
        self.rows_max = rows_max


class Strings:
    """A column of byte strings as Arrow lays them out, to be read. validity None: no nulls."""

    def __init__(self, validity: Buffer | None, bit: int, ends: memoryview, data: Buffer) -> None:
        self.validity = validity
        self.bit = bit
        self.ends = ends
        self.data = data
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


def _copy(target: memoryview, to: int, source: Buffer, at: int, length: int) -> None:
    if _TYPED:
        # The C compiler makes a block copy of it; a slice of a typed view costs more than most values.
        for i in range(length):
            target[to + i] = source[at + i]
    else:
        target[to : to + length] = source[at : at + length]


def wrapped(value: int) -> int:
    """As 64 bits hold it: what C does by itself."""
    if value > _INT64_MAX:
        return value - _TWO_64
    if value < -_INT64_MAX - 1:
        return value + _TWO_64
    return value


def _micros(millis: int) -> int:
    """Milliseconds in microseconds; those that 64 bits cannot hold stop at the last that they can."""
    if millis > _MILLIS_MAX:
        return _MILLIS_MAX * 1000
    if millis < -_MILLIS_MAX:
        return -_MILLIS_MAX * 1000
    return millis * 1000


def _varint(data: Buffer, pos: int, end: int) -> tuple[int, int]:
    """A zig-zag varint of up to 64 bits and the position behind it; -1 if there is none."""
    value = 0
    shift = 0
    while pos < end:
        byte = data[pos]
        pos += 1
        if byte < 0x80:
            if shift == 63 and byte > 1:
                break
            value |= byte << shift
            return (value >> 1) ^ -(value & 1), pos
        value |= (byte & 0x7F) << shift
        shift += 7
        if shift > 63:
            break
    return 0, -1


def _record(data: Buffer, pos: int, end: int) -> tuple[int, int, int, int, int, int, int, int, int]:
    """One record, verified to its last byte.

    (position behind it, timestamp delta, offset delta, key at, length, value at, length, headers,
    first header at). A negative position is what is wrong.
    """
    length, at = _varint(data, pos, end)
    if at < 0 or length < RECORD_BYTES_MIN - 1 or length > end - at:
        return -1, 0, 0, 0, 0, 0, 0, 0, 0
    stop = at + length
    timestamp_delta, at = _varint(data, at + 1, stop)
    if at < 0:
        return -2, 0, 0, 0, 0, 0, 0, 0, 0
    offset_delta, at = _varint(data, at, stop)
    if at < 0 or offset_delta < 0 or offset_delta > _INT32_MAX:
        return -3, 0, 0, 0, 0, 0, 0, 0, 0
    key_length, key_at = _varint(data, at, stop)
    if key_at < 0 or key_length < -1 or key_length > stop - key_at:
        return -4, 0, 0, 0, 0, 0, 0, 0, 0
    at = key_at + key_length if key_length > 0 else key_at
    value_length, value_at = _varint(data, at, stop)
    if value_at < 0 or value_length < -1 or value_length > stop - value_at:
        return -5, 0, 0, 0, 0, 0, 0, 0, 0
    at = value_at + value_length if value_length > 0 else value_at
    headers, headers_at = _varint(data, at, stop)
    if headers_at < 0 or headers < 0 or headers > (stop - headers_at) // 2:
        return -6, 0, 0, 0, 0, 0, 0, 0, 0
    at = headers_at
    if headers:
        at = _headers_end(data, at, stop, headers)
        if at < 0:
            return at, 0, 0, 0, 0, 0, 0, 0, 0
    if at != stop:
        return -9, 0, 0, 0, 0, 0, 0, 0, 0
    return (
        stop,
        timestamp_delta,
        offset_delta,
        key_at,
        key_length,
        value_at,
        value_length,
        headers,
        headers_at,
    )


def _headers_end(data: Buffer, at: int, stop: int, headers: int) -> int:
    """The position behind so many headers, verified; negative is what is wrong."""
    for _ in range(headers):
        length, at = _varint(data, at, stop)
        if at < 0 or length < 0 or length > stop - at:
            return -7
        length, at = _varint(data, at + length, stop)
        if at < 0 or length < -1 or length > stop - at:
            return -8
        if length > 0:
            at += length
    return at


def read(
    data: Buffer, pos: int, index: int
) -> tuple[int, int, int, bytes | None, bytes | None, list[tuple[str, bytes | None]] | None]:
    """One record: (next position, offset delta, timestamp delta, key, value, headers | None)."""
    end = len(data)
    if pos < 0 or pos > end:
        raise MalformedRecord(index, pos, -1)
    stop, timestamp_delta, offset_delta, key_at, key_length, value_at, value_length, headers, at = _record(
        data, pos, end
    )
    if stop < 0:
        raise MalformedRecord(index, pos, stop)
    key = None if key_length < 0 else bytes(data[key_at : key_at + key_length])
    value = None if value_length < 0 else bytes(data[value_at : value_at + value_length])
    if not headers:
        return stop, offset_delta, timestamp_delta, key, value, None
    named = []
    for _ in range(headers):
        length, at = _varint(data, at, stop)
        name = bytes(data[at : at + length]).decode("utf-8", "replace")
        length, at = _varint(data, at + length, stop)
        named.append((name, None if length < 0 else bytes(data[at : at + length])))
        if length > 0:
            at += length
    return stop, offset_delta, timestamp_delta, key, value, named


def walk(data: Buffer, count: int) -> tuple[int, int, int, int, int]:
    """Verify all records: (greatest timestamp delta, last offset delta, gaps, headers, bytes of keys).

    gaps counts the records that do not stand directly behind the one before (the first: at 0).
    """
    end = len(data)
    pos = 0
    timestamp_max = -_INT64_MAX - 1
    last = -1
    gaps = 0
    header_count = 0
    key_bytes = 0
    for index in range(count):
        stop, timestamp_delta, offset_delta, _, key_length, _, _, headers, _ = _record(data, pos, end)
        if stop < 0:
            raise MalformedRecord(index, pos, stop)
        if timestamp_delta > timestamp_max:
            timestamp_max = timestamp_delta
        if offset_delta != last + 1:
            gaps += 1
        last = offset_delta
        header_count += headers
        if key_length > 0:
            key_bytes += key_length
        pos = stop
    if pos != end:
        raise MalformedRecord(count, pos, -10)
    return timestamp_max, last, gaps, header_count, key_bytes


def seek(data: Buffer, count: int, offset_delta_min: int) -> tuple[int, int]:
    """(index, position) of the first record at that offset delta or behind; (count, end) if none."""
    end = len(data)
    pos = 0
    for index in range(count):
        stop, _, offset_delta, _, _, _, _, _, _ = _record(data, pos, end)
        if stop < 0:
            raise MalformedRecord(index, pos, stop)
        if offset_delta >= offset_delta_min:
            return index, pos
        pos = stop
    return count, pos


def find_time(data: Buffer, count: int, base_timestamp: int, timestamp_min: int) -> tuple[int, int]:
    """(offset delta, timestamp) of the first record of that time or later; (-1, -1) if none."""
    end = len(data)
    pos = 0
    for index in range(count):
        stop, timestamp_delta, offset_delta, _, _, _, _, _, _ = _record(data, pos, end)
        if stop < 0:
            raise MalformedRecord(index, pos, stop)
        timestamp = wrapped(base_timestamp + timestamp_delta)
        if timestamp >= timestamp_min:
            return offset_delta, timestamp
        pos = stop
    return -1, -1


def find_time_max(data: Buffer, count: int, base_timestamp: int) -> tuple[int, int]:
    """(offset delta, timestamp) of the first of the latest records; (-1, -1) if there is none."""
    end = len(data)
    pos = 0
    latest = -1
    latest_delta = -1
    for index in range(count):
        stop, timestamp_delta, offset_delta, _, _, _, _, _, _ = _record(data, pos, end)
        if stop < 0:
            raise MalformedRecord(index, pos, stop)
        timestamp = wrapped(base_timestamp + timestamp_delta)
        if index == 0 or timestamp > latest:
            latest = timestamp
            latest_delta = offset_delta
        pos = stop
    return latest_delta, latest


def keys(data: Buffer, count: int) -> list[tuple[int, bytes | None]]:
    """(offset delta, key) of every record."""
    end = len(data)
    pos = 0
    found = []
    for index in range(count):
        stop, _, offset_delta, key_at, key_length, _, _, _, _ = _record(data, pos, end)
        if stop < 0:
            raise MalformedRecord(index, pos, stop)
        key = None if key_length < 0 else bytes(data[key_at : key_at + key_length])
        found.append((offset_delta, key))
        pos = stop
    return found


def fill(
    data: Buffer,
    count: int,
    base_offset: int,
    base_timestamp: int,
    append_time: bool,
    offset_start: int,
    offset_end: int,
    columns: Columns,
) -> int:
    """Add the records from offset_start up to offset_end to the columns; how many they were.

    Timestamps become microseconds. append_time: base_timestamp is the time of all records.
    Malformed bytes leave the columns as far as they were read; who raised throws them away.
    """
    end = len(data)
    pos = 0
    first = columns.rows
    row = first
    for index in range(count):
        stop, timestamp, offset, key_at, key_length, value_at, value_length, headers, at = _record(
            data, pos, end
        )
        if stop < 0:
            raise MalformedRecord(index, pos, stop)
        pos = stop
        offset = wrapped(base_offset + offset)
        if offset < offset_start or offset >= offset_end:
            continue
        if row >= columns.rows_max:
            raise IndexError("the columns have no room for another row")
        if columns.offsets is not None:
            columns.offsets[row] = offset
        if columns.timestamps is not None:
            columns.timestamps[row] = _micros(
                base_timestamp if append_time else wrapped(base_timestamp + timestamp)
            )
        if columns.keys is not None and not columns.keys.add(data, key_at, key_length):
            raise IndexError("the column of keys has no room")
        if columns.values is not None and not columns.values.add(data, value_at, value_length):
            raise IndexError("the column of values has no room")
        if columns.header_ends is not None:
            _fill_headers(data, at, stop, headers, row, columns)
        row += 1
        columns.rows = row
    if pos != end:
        raise MalformedRecord(count, pos, -10)
    return row - first


def _fill_headers(data: Buffer, at: int, stop: int, headers: int, row: int, columns: Columns) -> None:
    names = columns.header_names
    values = columns.header_values
    ends = columns.header_ends
    assert names is not None
    assert values is not None
    assert ends is not None
    for _ in range(headers):
        length, at = _varint(data, at, stop)
        if not names.add(data, at, length):
            raise IndexError("the column of header names has no room")
        length, at = _varint(data, at + length, stop)
        if not values.add(data, at, length):
            raise IndexError("the column of header values has no room")
        if length > 0:
            at += length
    ends[row + 1] = names.rows


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
        _put(body, wrapped(timestamp - base_timestamp))
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
        _copy(out, to, column.data, at, length)
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


def pack_rows(out: memoryview, rows: Rows, row: int, base_timestamp: int) -> tuple[int, int, int]:
    """Rows as records from the beginning of out, as many as fit: (next row, bytes, latest timestamp).

    Timestamps of rows and base_timestamp are milliseconds. Nonsense in the columns: ValueError.
    """
    first = row
    used = 0
    latest = -_INT64_MAX - 1
    if row < 0:
        raise ValueError("rows are counted from 0")
    while row < rows.count:
        timestamp = rows.timestamps[row]
        timestamp_delta = wrapped(timestamp - base_timestamp)
        body = _body_bytes(rows, row, row - first, timestamp_delta)
        if body < 0:
            raise ValueError(f"row {row} of the columns points outside of their bytes")
        if body > _INT32_MAX or _size(body) + body > len(out) - used:
            break
        used = _write(out, used, body)
        out[used] = 0
        used = _write(out, used + 1, timestamp_delta)
        used = _write(out, used, row - first)
        used = _write_sized(out, used, rows.keys, row)
        used = _write_sized(out, used, rows.values, row)
        used = _write_headers(out, used, rows, row)
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


def load_plain() -> ModuleType:
    """The module made of its source, whether or not a compiled form is there."""
    spec = spec_from_file_location(__name__, join(dirname(__file__), "kernels.py"))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


COMPILED = not isinstance(read, FunctionType)
_TYPED = COMPILED

if COMPILED and environ.get("ONELOG_KERNELS") == "plain":
    sys.modules[__name__] = load_plain()
