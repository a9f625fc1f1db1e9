# cython: language_level=3, annotation_typing=False
# cython: boundscheck=False, wraparound=False, initializedcheck=False, embedsignature=False
"""The loops that make the log's records of a bundle's messages, and messages of the log's records.

    the log   length v | attributes i8 | timestamp_delta v | offset_delta v
              key length v, -1 for null | key | value length v, -1 for null | value | headers
    TANK      mflags u8 | [gap uv] | [timestamp u64] | [key str8] | length uv | content

Plain Python that the build compiles with the C types of `kernels.pxd`, under the rules of
records/kernels.py: no Cython here, the same results from both forms, on nonsense too, every read
and write checked by hand. v is zig-zag, uv is not and has 32 bits. `data` is the messages or
records of one bundle or batch, not compressed, and nothing else; heads are messages/bundle.py's.
"""

from types import FunctionType

from onelog.records import blocks, forms
from onelog.records.record import Buffer

# What stops a count that lies: flags and a length, and seven fields of a byte each.
MESSAGE_BYTES_MIN = 2
RECORD_BYTES_MIN = 7
# What a message may take more of in the log than in its bundle: all but key and content.
MORE_BYTES_MAX = 23
# What a record may take more of in a bundle than in the log: the whole of its timestamp.
MORE_BYTES_BACK_MAX = 5

_INT64_MAX = 0x7FFFFFFFFFFFFFFF
_INT32_MAX = 0x7FFFFFFF
_UINT32_MAX = 0xFFFFFFFF
_TWO_64 = 1 << 64
_KEY_BYTES_MAX = 255
_TIME_BYTES = 8
_HAS_KEY = 1
_SAME_TIMESTAMP = 2
_NEXT_NUMBER = 4
_KNOWN = 7
_WRONG = (
    "",
    "its flags are missing, or more than bits 0 to 2",
    "its gap is not a number",
    "its timestamp is cut off",
    "the length of its key is a lie",
    "the length of its content is a lie",
    "bytes follow the last message",
    "its number is not the last one that was promised",
    "there is no room for it",
    "its length is a lie",
    "its timestamp is not a number",
    "its offset is not one, or not behind the one before",
    "the length of its value is a lie",
    "its headers are a lie",
    "bytes are left over in it",
    "bytes follow the last record",
)


class MalformedMessage(ValueError):
    """The bytes are not the messages, or records, that were promised."""

    def __init__(self, index: int, position: int, wrong: int) -> None:
        super().__init__(f"message {index} at byte {position}: {_WRONG[-wrong]}")
        self.index = index
        self.position = position


def _wrapped(value: int) -> int:
    """As 64 bits hold it: what C does by itself."""
    if value > _INT64_MAX:
        return value - _TWO_64
    if value < -_INT64_MAX - 1:
        return value + _TWO_64
    return value


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


def _uvarint(source: Buffer, pos: int, end: int) -> tuple[int, int]:
    """An unsigned varint of up to 32 bits and the position behind it; -1 if there is none."""
    value = 0
    shift = 0
    while pos < end:
        byte = source[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > _UINT32_MAX:
                break
            return value, pos
        shift += 7
        if shift > 28:
            break
    return 0, -1


def _size(value: int) -> int:
    """The bytes that a zig-zag varint takes."""
    zigzag = value
    zigzag = (zigzag << 1) ^ (value >> 63)
    size = 1
    while zigzag >= 0x80:
        zigzag >>= 7
        size += 1
    return size


def _unsigned_size(value: int) -> int:
    """The bytes that an unsigned varint takes."""
    size = 1
    while value >= 0x80:
        value >>= 7
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


def _write_sized(out: memoryview, to: int, source: Buffer, at: int, length: int) -> int:
    """A nullable byte string with its length; the position behind it."""
    to = _write(out, to, length)
    if length > 0:
        blocks.copy(out, to, source, at, length)
        to += length
    return to


def _write_unsigned(out: memoryview, at: int, value: int) -> int:
    """The same, unsigned."""
    while value >= 0x80:
        out[at] = (value & 0x7F) | 0x80
        value >>= 7
        at += 1
    out[at] = value
    return at + 1


def _read_time(source: Buffer, at: int) -> int:
    """Eight bytes, the least first, as a signed number."""
    value = source[at + 7]
    value = value - 256 if value > 127 else value
    for each in range(6, -1, -1):
        value = (value << 8) | source[at + each]
    return value


def _write_time(out: memoryview, at: int, value: int) -> int:
    """The same, written; the position behind it."""
    for each in range(8):
        out[at + each] = (value >> (8 * each)) & 0xFF
    return at + 8


def _message(
    source: Buffer, pos: int, end: int, says_gap: bool
) -> tuple[int, int, int, int, int, int, int, int]:
    """One message, verified: (position behind it, flags, gap, timestamp at, key at, length, content at, length).

    The timestamp of the one before is at -1, no key is a length of -1. Negative: what is wrong.
    """
    if pos >= end or source[pos] > _KNOWN:
        return -1, 0, 0, 0, 0, 0, 0, 0
    flags = source[pos]
    at = pos + 1
    gap = 0
    if says_gap and not flags & _NEXT_NUMBER:
        gap, at = _uvarint(source, at, end)
        if at < 0:
            return -2, 0, 0, 0, 0, 0, 0, 0
    time_at = -1
    if not flags & _SAME_TIMESTAMP:
        if end - at < _TIME_BYTES:
            return -3, 0, 0, 0, 0, 0, 0, 0
        time_at = at
        at += _TIME_BYTES
    key_length = -1
    key_at = at
    if flags & _HAS_KEY:
        if at >= end or source[at] >= end - at:
            return -4, 0, 0, 0, 0, 0, 0, 0
        key_length = source[at]
        key_at = at + 1
        at = key_at + key_length
    length, at = _uvarint(source, at, end)
    if at < 0 or length > end - at:
        return -5, 0, 0, 0, 0, 0, 0, 0
    return at + length, flags, gap, time_at, key_at, key_length, at, length


def to_log(
    data: Buffer, count: int, first: int, last: int, is_sparse: bool, out: memoryview
) -> tuple[int, int, int]:
    """A bundle's messages as the log's records: (bytes of them, the first's timestamp, the latest).

    first, last: their offset deltas, which a sparse bundle has said; in between its messages say gaps.
    Room for MORE_BYTES_MAX a message is enough.
    """
    source = blocks.start(data)
    end = len(data)
    target = blocks.start(out)
    room = len(out)
    pos = 0
    used = 0
    base = 0
    timestamp = 0
    latest = -_INT64_MAX - 1
    delta = first - 1
    for index in range(count):
        stop, flags, gap, time_at, key_at, key_length, value_at, length = _message(
            source, pos, end, is_sparse and 0 < index < count - 1
        )
        if stop < 0:
            raise MalformedMessage(index, pos, stop)
        delta += gap + 1
        # The last number is the head's to say.
        if is_sparse and index > 0 and index == count - 1 and not flags & _NEXT_NUMBER and last > delta:
            delta = last
        if delta > last:
            raise MalformedMessage(index, pos, -7)
        if time_at >= 0:
            timestamp = _read_time(source, time_at)
        if index == 0:
            base = timestamp
        if timestamp > latest:
            latest = timestamp
        timestamp_delta = _wrapped(timestamp - base)
        body = 2 + _size(timestamp_delta) + _size(delta) + _size(key_length) + _size(length) + length
        if key_length > 0:
            body += key_length
        if body > _INT32_MAX or _size(body) + body > room - used:
            raise MalformedMessage(index, pos, -8)
        used = _write(target, used, body)
        target[used] = 0
        used = _write(target, used + 1, timestamp_delta)
        used = _write(target, used, delta)
        used = _write_sized(target, used, source, key_at, key_length)
        used = _write_sized(target, used, source, value_at, length)
        target[used] = 0
        used += 1
        pos = stop
    if pos != end:
        raise MalformedMessage(count, pos, -6)
    if delta != last:
        raise MalformedMessage(count - 1, pos, -7)
    return used, base, latest


def _record(source: Buffer, pos: int, end: int) -> tuple[int, int, int, int, int, int, int, int]:
    """One record of the log's, verified but for its headers: (position behind it, timestamp delta, offset
    delta, key at, length, value at, length, headers). Negative: what is wrong.
    """
    length, at = _varint(source, pos, end)
    if at < 0 or length < RECORD_BYTES_MIN - 1 or length > end - at:
        return -9, 0, 0, 0, 0, 0, 0, 0
    stop = at + length
    timestamp_delta, at = _varint(source, at + 1, stop)
    if at < 0:
        return -10, 0, 0, 0, 0, 0, 0, 0
    offset_delta, at = _varint(source, at, stop)
    if at < 0 or offset_delta < 0 or offset_delta > _INT32_MAX:
        return -11, 0, 0, 0, 0, 0, 0, 0
    key_length, key_at = _varint(source, at, stop)
    if key_at < 0 or key_length < -1 or key_length > stop - key_at:
        return -4, 0, 0, 0, 0, 0, 0, 0
    at = key_at + key_length if key_length > 0 else key_at
    value_length, value_at = _varint(source, at, stop)
    if value_at < 0 or value_length < -1 or value_length > stop - value_at:
        return -12, 0, 0, 0, 0, 0, 0, 0
    at = value_at + value_length if value_length > 0 else value_at
    headers, at = _varint(source, at, stop)
    if at < 0 or headers < 0 or headers > (stop - at) // 2:
        return -13, 0, 0, 0, 0, 0, 0, 0
    if headers == 0 and at != stop:
        return -14, 0, 0, 0, 0, 0, 0, 0
    return stop, timestamp_delta, offset_delta, key_at, key_length, value_at, value_length, headers


def span(data: Buffer, count: int, delta_min: int) -> tuple[int, int, int, int]:
    """Where the records from an offset delta on are: (position and index of the first, its delta, the last's).

    The index is count where there is none. All records are looked at, and have to rise.
    """
    source = blocks.start(data)
    end = len(data)
    pos = 0
    found_at = 0
    found = count
    first = 0
    last = -1
    for index in range(count):
        stop, _, delta, _, _, _, _, _ = _record(source, pos, end)
        if stop < 0:
            raise MalformedMessage(index, pos, stop)
        if delta <= last:
            raise MalformedMessage(index, pos, -11)
        if found == count and delta >= delta_min:
            found = index
            found_at = pos
            first = delta
        last = delta
        pos = stop
    if pos != end:
        raise MalformedMessage(count, pos, -15)
    return found_at, found, first, last


def _message_bytes(flags: int, gap: int, key_length: int, length: int) -> int:
    """What a message takes; a gap of 0 and a key of -1 take nothing."""
    size = 1 + _unsigned_size(length) + length
    if gap > 0:
        size += _unsigned_size(gap)
    if not flags & _SAME_TIMESTAMP:
        size += _TIME_BYTES
    if key_length >= 0:
        size += 1 + key_length
    return size


def _write_message(
    out: memoryview,
    to: int,
    source: Buffer,
    flags: int,
    gap: int,
    timestamp: int,
    key_at: int,
    key_length: int,
    at: int,
    length: int,
) -> int:
    """A message at a position that has room; the position behind it."""
    out[to] = flags
    to += 1
    if gap > 0:
        to = _write_unsigned(out, to, gap)
    if not flags & _SAME_TIMESTAMP:
        to = _write_time(out, to, timestamp)
    if key_length >= 0:
        out[to] = key_length
        blocks.copy(out, to + 1, source, key_at, key_length)
        to += 1 + key_length
    to = _write_unsigned(out, to, length)
    blocks.copy(out, to, source, at, length)
    return to + length


def to_bundle(
    data: Buffer,
    pos: int,
    index: int,
    count: int,
    base: int,
    append_time: bool,
    is_sparse: bool,
    out: memoryview,
) -> tuple[int, int, int, int]:
    """The log's records from pos on as a bundle's messages: (bytes of them, keys that are too long, null
    values, records with headers), what is counted being left out.

    index: of the record at pos; base: the batch's time, which with append_time is that of every record.
    is_sparse: gaps are said. Room for as much as data, and MORE_BYTES_BACK_MAX a record, is enough.
    """
    source = blocks.start(data)
    end = len(data)
    target = blocks.start(out)
    room = len(out)
    first = index
    used = before = said = 0
    long_keys = nulls = with_headers = 0
    if pos < 0 or pos > end:
        raise MalformedMessage(index, pos, -9)
    while index < count:
        stop, timestamp_delta, delta, key_at, key_length, value_at, length, headers = _record(
            source, pos, end
        )
        if stop < 0:
            raise MalformedMessage(index, pos, stop)
        if index > first and delta <= before:
            raise MalformedMessage(index, pos, -11)
        timestamp = base if append_time else _wrapped(base + timestamp_delta)
        flags = _SAME_TIMESTAMP if index > first and timestamp == said else 0
        if key_length > _KEY_BYTES_MAX:
            long_keys += 1
            key_length = -1
        if key_length >= 0:
            flags |= _HAS_KEY
        if length < 0:
            nulls += 1
            length = 0
        if headers > 0:
            with_headers += 1
        gap = 0
        if is_sparse and first < index < count - 1:
            gap = delta - before - 1
            if gap == 0:
                flags |= _NEXT_NUMBER
        if _message_bytes(flags, gap, key_length, length) > room - used:
            raise MalformedMessage(index, pos, -8)
        used = _write_message(
            target, used, source, flags, gap, timestamp, key_at, key_length, value_at, length
        )
        said = timestamp
        before = delta
        pos = stop
        index += 1
    return used, long_keys, nulls, with_headers


COMPILED = not isinstance(to_log, FunctionType)

if COMPILED and forms.plain_is_asked():
    forms.put_plain(__name__)
