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

from types import FunctionType

from onelog.records import blocks, forms
from onelog.records.record import Buffer

# Seven fields of at least one byte each: what stops a count that lies.
RECORD_BYTES_MIN = 7

_INT64_MAX = 0x7FFFFFFFFFFFFFFF
_INT32_MAX = 0x7FFFFFFF
_UINT32_MAX = 0xFFFFFFFF
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
    "bytes follow the last record",
    "its offset is not behind the one before",
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
        self.bytes = blocks.start(data)
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
            blocks.copy(self.bytes, used, source, at, length)
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


def shifted(base: int, delta: int) -> int:
    """Their sum as 64 bits hold it: what C does by itself."""
    value = base + delta
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


def _varint(source: Buffer, pos: int, end: int) -> tuple[int, int]:
    """A zig-zag varint of up to 64 bits and the position behind it; -1 if there is none."""
    value = 0
    shift = 0
    while pos < end:
        byte = source[pos]
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


def _record(source: Buffer, pos: int, end: int) -> tuple[int, int, int, int, int, int, int, int, int]:
    """One record, verified to its last byte.

    (position behind it, timestamp delta, offset delta, key at, length, value at, length, headers,
    first header at). A negative position is what is wrong.
    """
    length, at = _varint(source, pos, end)
    if at < 0 or length < RECORD_BYTES_MIN - 1 or length > end - at:
        return -1, 0, 0, 0, 0, 0, 0, 0, 0
    stop = at + length
    timestamp_delta, at = _varint(source, at + 1, stop)
    if at < 0:
        return -2, 0, 0, 0, 0, 0, 0, 0, 0
    offset_delta, at = _varint(source, at, stop)
    if at < 0 or offset_delta < 0 or offset_delta > _INT32_MAX:
        return -3, 0, 0, 0, 0, 0, 0, 0, 0
    key_length, key_at = _varint(source, at, stop)
    if key_at < 0 or key_length < -1 or key_length > stop - key_at:
        return -4, 0, 0, 0, 0, 0, 0, 0, 0
    at = key_at + key_length if key_length > 0 else key_at
    value_length, value_at = _varint(source, at, stop)
    if value_at < 0 or value_length < -1 or value_length > stop - value_at:
        return -5, 0, 0, 0, 0, 0, 0, 0, 0
    at = value_at + value_length if value_length > 0 else value_at
    headers, headers_at = _varint(source, at, stop)
    if headers_at < 0 or headers < 0 or headers > (stop - headers_at) // 2:
        return -6, 0, 0, 0, 0, 0, 0, 0, 0
    at = headers_at
    if headers:
        at = _headers_end(source, at, stop, headers)
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


def _headers_end(source: Buffer, at: int, stop: int, headers: int) -> int:
    """The position behind so many headers, verified; negative is what is wrong."""
    for _ in range(headers):
        length, at = _varint(source, at, stop)
        if at < 0 or length < 0 or length > stop - at:
            return -7
        length, at = _varint(source, at + length, stop)
        if at < 0 or length < -1 or length > stop - at:
            return -8
        if length > 0:
            at += length
    return at


def read(
    data: Buffer, pos: int, index: int
) -> tuple[int, int, int, bytes | None, bytes | None, list[tuple[str, bytes | None]] | None]:
    """One record: (next position, offset delta, timestamp delta, key, value, headers | None)."""
    source = blocks.start(data)
    end = len(data)
    if pos < 0 or pos > end:
        raise MalformedRecord(index, pos, -1)
    stop, timestamp_delta, offset_delta, key_at, key_length, value_at, value_length, headers, at = _record(
        source, pos, end
    )
    if stop < 0:
        raise MalformedRecord(index, pos, stop)
    key = None if key_length < 0 else bytes(source[key_at : key_at + key_length])
    value = None if value_length < 0 else bytes(source[value_at : value_at + value_length])
    if not headers:
        return stop, offset_delta, timestamp_delta, key, value, None
    named = []
    for _ in range(headers):
        length, at = _varint(source, at, stop)
        name = bytes(source[at : at + length]).decode("utf-8", "replace")
        length, at = _varint(source, at + length, stop)
        named.append((name, None if length < 0 else bytes(source[at : at + length])))
        if length > 0:
            at += length
    return stop, offset_delta, timestamp_delta, key, value, named


def walk(data: Buffer, count: int) -> tuple[int, int, int, int, int]:
    """Verify all records and that offsets rise: (greatest timestamp delta, last offset delta, gaps,
    headers, null keys). A gap is where a record does not follow the one before, or the first is not 0.
    """
    source = blocks.start(data)
    end = len(data)
    pos = 0
    timestamp_max = -_INT64_MAX - 1
    last = -1
    gaps = 0
    header_count = 0
    null_keys = 0
    for index in range(count):
        stop, timestamp_delta, offset_delta, _, key_length, _, _, headers, _ = _record(source, pos, end)
        if stop < 0:
            raise MalformedRecord(index, pos, stop)
        if timestamp_delta > timestamp_max:
            timestamp_max = timestamp_delta
        if offset_delta <= last:
            raise MalformedRecord(index, pos, -11)
        if offset_delta != last + 1:
            gaps += 1
        last = offset_delta
        header_count += headers
        if key_length < 0:
            null_keys += 1
        pos = stop
    if pos != end:
        raise MalformedRecord(count, pos, -10)
    return timestamp_max, last, gaps, header_count, null_keys


def seek(data: Buffer, count: int, offset_delta_min: int) -> tuple[int, int]:
    """(index, position) of the first record at that offset delta or behind; (count, end) if none."""
    source = blocks.start(data)
    end = len(data)
    pos = 0
    for index in range(count):
        stop, _, offset_delta, _, _, _, _, _, _ = _record(source, pos, end)
        if stop < 0:
            raise MalformedRecord(index, pos, stop)
        if offset_delta >= offset_delta_min:
            return index, pos
        pos = stop
    return count, pos


def find_time(
    data: Buffer,
    count: int,
    base_offset: int,
    base_timestamp: int,
    timestamp_min: int,
    offset_start: int,
    offset_end: int,
) -> tuple[int, int] | None:
    """(offset, timestamp) of the first record of that time or later from offset_start to offset_end."""
    source = blocks.start(data)
    end = len(data)
    pos = 0
    for index in range(count):
        stop, timestamp, offset, _, _, _, _, _, _ = _record(source, pos, end)
        if stop < 0:
            raise MalformedRecord(index, pos, stop)
        pos = stop
        offset = shifted(base_offset, offset)
        timestamp = shifted(base_timestamp, timestamp)
        if timestamp >= timestamp_min and offset_start <= offset and offset < offset_end:
            return offset, timestamp
    return None


def find_time_max(
    data: Buffer, count: int, base_offset: int, base_timestamp: int, offset_start: int, offset_end: int
) -> tuple[int, int] | None:
    """(offset, timestamp) of the first of the latest records from offset_start to offset_end."""
    source = blocks.start(data)
    end = len(data)
    pos = 0
    found = False
    latest = 0
    latest_offset = 0
    for index in range(count):
        stop, timestamp, offset, _, _, _, _, _, _ = _record(source, pos, end)
        if stop < 0:
            raise MalformedRecord(index, pos, stop)
        pos = stop
        offset = shifted(base_offset, offset)
        timestamp = shifted(base_timestamp, timestamp)
        if offset_start <= offset and offset < offset_end and (not found or timestamp > latest):
            found = True
            latest = timestamp
            latest_offset = offset
    return (latest_offset, latest) if found else None


def keys(data: Buffer, count: int) -> list[tuple[int, bytes | None]]:
    """(offset delta, key) of every record."""
    source = blocks.start(data)
    end = len(data)
    pos = 0
    found = []
    for index in range(count):
        stop, _, offset_delta, key_at, key_length, _, _, _, _ = _record(source, pos, end)
        if stop < 0:
            raise MalformedRecord(index, pos, stop)
        key = None if key_length < 0 else bytes(source[key_at : key_at + key_length])
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
    source = blocks.start(data)
    end = len(data)
    pos = 0
    first = columns.rows
    row = first
    for index in range(count):
        stop, timestamp, offset, key_at, key_length, value_at, value_length, headers, at = _record(
            source, pos, end
        )
        if stop < 0:
            raise MalformedRecord(index, pos, stop)
        pos = stop
        offset = shifted(base_offset, offset)
        if offset < offset_start or offset >= offset_end:
            continue
        if row >= columns.rows_max:
            raise IndexError("the columns have no room for another row")
        if columns.offsets is not None:
            columns.offsets[row] = offset
        if columns.timestamps is not None:
            columns.timestamps[row] = _micros(
                base_timestamp if append_time else shifted(base_timestamp, timestamp)
            )
        if columns.keys is not None and not columns.keys.add(source, key_at, key_length):
            raise IndexError("the column of keys has no room")
        if columns.values is not None and not columns.values.add(source, value_at, value_length):
            raise IndexError("the column of values has no room")
        if columns.header_ends is not None:
            _fill_headers(source, at, stop, headers, row, columns)
        row += 1
        columns.rows = row
    if pos != end:
        raise MalformedRecord(count, pos, -10)
    return row - first


def _fill_headers(source: Buffer, at: int, stop: int, headers: int, row: int, columns: Columns) -> None:
    names = columns.header_names
    values = columns.header_values
    ends = columns.header_ends
    assert names is not None
    assert values is not None
    assert ends is not None
    for _ in range(headers):
        length, at = _varint(source, at, stop)
        if not names.add(source, at, length):
            raise IndexError("the column of header names has no room")
        length, at = _varint(source, at + length, stop)
        if not values.add(source, at, length):
            raise IndexError("the column of header values has no room")
        if length > 0:
            at += length
    ends[row + 1] = names.rows


def fnv1a(data: Buffer) -> int:
    """FNV-1a of 32 bits. Nothing of a record: it places records, and keys may have megabytes."""
    found = 0x811C9DC5
    for at in range(len(data)):
        found = ((found ^ data[at]) * 0x01000193) & _UINT32_MAX
    return found


COMPILED = not isinstance(read, FunctionType)

if COMPILED and forms.plain_is_asked():
    forms.put_plain(__name__)
