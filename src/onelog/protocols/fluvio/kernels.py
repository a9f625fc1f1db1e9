# cython: language_level=3, annotation_typing=False
# cython: boundscheck=False, wraparound=False, initializedcheck=False, embedsignature=False
"""The loops that make the log's records of Fluvio's, and Fluvio's of the log's, in one pass each.

    the log   length v | attributes i8 | timestamp_delta v | offset_delta v
              key length v, -1 for null | key | value length v, -1 for null | value | headers
    Fluvio    length v | attributes i8 | timestamp_delta v | offset_delta v
              0 for no key, or 1 | key length v | key | value length v | value | 0 v

Plain Python that the build compiles with the C types of `kernels.pxd`, under the rules of
records/kernels.py: no Cython here, the same results from both forms, on nonsense too, every read
and write checked by hand. `data` is the records of one batch, not compressed, and nothing else.
"""

from types import FunctionType

from onelog.records import blocks, forms
from onelog.records.record import Buffer

# Seven fields of at least one byte each, on both sides: what stops a count that lies.
RECORD_BYTES_MIN = 7
# What a record may take more of in the log than in Fluvio, beside its headers: an offset that was
# shorter than the true one, and a longer length.
MORE_BYTES_MAX = 4
# What a record may take more of in Fluvio than in the log: the tag of its key, and a longer length.
MORE_BYTES_BACK_MAX = 2
NO_SCHEMA = -1

_INT64_MAX = 0x7FFFFFFFFFFFFFFF
_INT32_MAX = 0x7FFFFFFF
_SCHEMA_BYTES = 4
_WRONG = (
    "",
    "its length is a lie",
    "its timestamp is not a number",
    "its offset is not a number",
    "its key is neither there nor missing",
    "the length of its key is a lie",
    "the length of its value is a lie",
    "it counts headers, of which Fluvio has none",
    "bytes are left over in it",
    "bytes follow the last record",
    "there is no room for it",
    "its headers are a lie",
    "its offset is not behind the one before",
)


class MalformedRecord(ValueError):
    """The bytes of a batch are not the records that its header promises."""

    def __init__(self, index: int, position: int, wrong: int) -> None:
        super().__init__(f"record {index} at byte {position}: {_WRONG[-wrong]}")
        self.index = index
        self.position = position


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


def _fluvio_record(source: Buffer, pos: int, end: int) -> tuple[int, int, int, int, int, int, int]:
    """One record of Fluvio's, verified: (position behind it, body at, timestamp delta, key at, length, value
    at, length). No key is a length of -1, and a negative position is what is wrong.
    """
    length, body_at = _varint(source, pos, end)
    if body_at < 0 or length < RECORD_BYTES_MIN - 1 or length > end - body_at:
        return -1, 0, 0, 0, 0, 0, 0
    stop = body_at + length
    timestamp_delta, at = _varint(source, body_at + 1, stop)
    if at < 0:
        return -2, 0, 0, 0, 0, 0, 0
    ignored, at = _varint(source, at, stop)
    if at < 0 or at >= stop:
        return -3, 0, 0, 0, 0, 0, 0
    key_at = at + 1
    key_length = -1
    if source[at] == 1:
        key_length, key_at = _varint(source, key_at, stop)
        if key_at < 0 or key_length < 0 or key_length > stop - key_at:
            return -5, 0, 0, 0, 0, 0, 0
        at = key_at + key_length
    elif source[at] == 0:
        at = key_at
    else:
        return -4, 0, 0, 0, 0, 0, 0
    value_length, value_at = _varint(source, at, stop)
    if value_at < 0 or value_length < 0 or value_length > stop - value_at:
        return -6, 0, 0, 0, 0, 0, 0
    ignored, at = _varint(source, value_at + value_length, stop)
    if at < 0 or ignored != 0:
        return -7, 0, 0, 0, 0, 0, 0
    if at != stop:
        return -8, 0, 0, 0, 0, 0, 0
    return stop, body_at, timestamp_delta, key_at, key_length, value_at, value_length


def to_log(data: Buffer, count: int, headers: bytes, out: memoryview) -> tuple[int, int]:
    """Fluvio's records as the log's, each with these headers: (bytes of them, latest timestamp delta).

    headers: their count and themselves, as the log has them. Offsets become 0, 1, 2 and so on, whatever they
    were: no client of Fluvio's looks at them. Room for MORE_BYTES_MAX and the headers a record is enough.
    """
    source = blocks.start(data)
    end = len(data)
    target = blocks.start(out)
    room = len(out)
    header_source = blocks.start(headers)
    header_bytes = len(headers)
    pos = 0
    used = 0
    latest = -_INT64_MAX - 1
    for index in range(count):
        stop, body_at, timestamp_delta, key_at, key_length, value_at, value_length = _fluvio_record(
            source, pos, end
        )
        if stop < 0:
            raise MalformedRecord(index, pos, stop)
        key_bytes = max(0, key_length)
        body = 1 + _size(timestamp_delta) + _size(index) + _size(key_length) + key_bytes
        body += _size(value_length) + value_length + header_bytes
        if body > _INT32_MAX or _size(body) + body > room - used:
            raise MalformedRecord(index, pos, -10)
        used = _write(target, used, body)
        target[used] = source[body_at]
        used = _write(target, used + 1, timestamp_delta)
        used = _write(target, used, index)
        used = _write(target, used, key_length)
        blocks.copy(target, used, source, key_at, key_bytes)
        used = _write(target, used + key_bytes, value_length)
        blocks.copy(target, used, source, value_at, value_length)
        used += value_length
        blocks.copy(target, used, header_source, 0, header_bytes)
        used += header_bytes
        if timestamp_delta > latest:
            latest = timestamp_delta
        pos = stop
    if pos != end:
        raise MalformedRecord(count, pos, -9)
    return used, latest


def _log_record(
    source: Buffer, pos: int, end: int
) -> tuple[int, int, int, int, int, int, int, int, int, int]:
    """One record of the log's, verified up to its headers: (position behind it, body at, timestamp delta,
    offset delta, key at, length, value at, length, headers, first header at). Negative: what is wrong.
    """
    length, body_at = _varint(source, pos, end)
    if body_at < 0 or length < RECORD_BYTES_MIN - 1 or length > end - body_at:
        return -1, 0, 0, 0, 0, 0, 0, 0, 0, 0
    stop = body_at + length
    timestamp_delta, at = _varint(source, body_at + 1, stop)
    if at < 0:
        return -2, 0, 0, 0, 0, 0, 0, 0, 0, 0
    offset_delta, at = _varint(source, at, stop)
    if at < 0 or offset_delta < 0 or offset_delta > _INT32_MAX:
        return -3, 0, 0, 0, 0, 0, 0, 0, 0, 0
    key_length, key_at = _varint(source, at, stop)
    if key_at < 0 or key_length < -1 or key_length > stop - key_at:
        return -5, 0, 0, 0, 0, 0, 0, 0, 0, 0
    at = key_at + key_length if key_length > 0 else key_at
    value_length, value_at = _varint(source, at, stop)
    if value_at < 0 or value_length < -1 or value_length > stop - value_at:
        return -6, 0, 0, 0, 0, 0, 0, 0, 0, 0
    at = value_at + value_length if value_length > 0 else value_at
    headers, at = _varint(source, at, stop)
    if at < 0 or headers < 0 or headers > (stop - at) // 2:
        return -11, 0, 0, 0, 0, 0, 0, 0, 0, 0
    return (
        stop,
        body_at,
        timestamp_delta,
        offset_delta,
        key_at,
        key_length,
        value_at,
        value_length,
        headers,
        at,
    )


def _schema_of(source: Buffer, at: int, stop: int, headers: int, name: bytes) -> int:
    """What the first header of this name says, NO_SCHEMA without one; below that, the headers are a lie."""
    found = NO_SCHEMA
    wanted = len(name)
    for _ in range(headers):
        length, name_at = _varint(source, at, stop)
        if name_at < 0 or length < 0 or length > stop - name_at:
            return -2
        is_it = found < 0 and length == wanted
        if is_it:
            for each in range(wanted):
                if source[name_at + each] != name[each]:
                    is_it = False
                    break
        length, at = _varint(source, name_at + length, stop)
        if at < 0 or length < -1 or length > stop - at:
            return -2
        if is_it and length == _SCHEMA_BYTES:
            found = source[at]
            for each in range(1, _SCHEMA_BYTES):
                found = (found << 8) | source[at + each]
        if length > 0:
            at += length
    return found if at == stop else -2


def _put(
    out: memoryview,
    used: int,
    room: int,
    source: Buffer,
    body_at: int,
    timestamp_delta: int,
    place: int,
    key_at: int,
    key_length: int,
    value_at: int,
    value_length: int,
) -> int:
    """One record of Fluvio's behind what is used of out; the position behind it, or negative: what is wrong."""
    key_bytes = 0
    if key_length >= 0:
        key_bytes = _size(key_length) + key_length
    body = 3 + _size(timestamp_delta) + _size(place) + key_bytes + _size(value_length) + value_length
    if body > _INT32_MAX or _size(body) + body > room - used:
        return -10
    used = _write(out, used, body)
    out[used] = source[body_at]
    used = _write(out, used + 1, timestamp_delta)
    used = _write(out, used, place)
    out[used] = 1 if key_length >= 0 else 0
    used += 1
    if key_length >= 0:
        used = _write(out, used, key_length)
        blocks.copy(out, used, source, key_at, key_length)
        used += key_length
    used = _write(out, used, value_length)
    blocks.copy(out, used, source, value_at, value_length)
    used += value_length
    out[used] = 0
    return used + 1


def to_fluvio(
    data: Buffer, pos: int, index: int, count: int, schema_name: bytes, append_time: bool, out: memoryview
) -> tuple[int, int, int, int, int, int, int]:
    """The log's records from pos on as Fluvio's, as long as each stands right behind the one before and all are
    of one schema: (position of the first that is not, its index, bytes of those that are, the offset delta of
    the first, its schema or NO_SCHEMA, headers left out, null values that became empty).

    append_time: the time is the batch's. As much room as data, and MORE_BYTES_BACK_MAX a record, is enough.
    """
    source = blocks.start(data)
    end = len(data)
    target = blocks.start(out)
    room = len(out)
    first = index
    first_delta, schema = 0, NO_SCHEMA
    used, headers_lost, nulls_lost = 0, 0, 0
    if pos < 0 or pos > end:
        raise MalformedRecord(index, pos, -1)
    while index < count:
        stop, body_at, timestamp, delta, key_at, key_length, value_at, value_length, headers, at = (
            _log_record(source, pos, end)
        )
        if stop < 0:
            raise MalformedRecord(index, pos, stop)
        own = NO_SCHEMA
        if headers:
            own = _schema_of(source, at, stop, headers, schema_name)
            if own < NO_SCHEMA:
                raise MalformedRecord(index, pos, -11)
        elif at != stop:
            raise MalformedRecord(index, pos, -8)
        place = index - first
        if place == 0:
            first_delta, schema = delta, own
        elif delta < first_delta + place:
            raise MalformedRecord(index, pos, -12)
        elif delta != first_delta + place or own != schema:
            break
        if append_time:
            timestamp = 0
        headers_lost += headers - 1 if own >= 0 else headers
        if value_length < 0:
            nulls_lost += 1
            value_length = 0
        used = _put(
            target, used, room, source, body_at, timestamp, place, key_at, key_length, value_at, value_length
        )
        if used < 0:
            raise MalformedRecord(index, pos, used)
        pos = stop
        index += 1
    if index == count and pos != end:
        raise MalformedRecord(count, pos, -9)
    return pos, index, used, first_delta, schema, headers_lost, nulls_lost


COMPILED = not isinstance(to_log, FunctionType)

if COMPILED and forms.plain_is_asked():
    forms.put_plain(__name__)
