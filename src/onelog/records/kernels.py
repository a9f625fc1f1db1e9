# cython: language_level=3, annotation_typing=False
# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""The loops that touch every record: one source, compiled where that is possible.

This module is plain Python and imports nothing of Cython. `kernels.pxd` beside it gives the
same functions C types when the build compiles them; both forms give the same results, on
nonsense too, and a property test holds them so. Hence the manner: every read and write is
checked by hand, integers stay within 64 bits, a failed varint is position -1.

Layouts are drawn in codec.py. Batches, checksums and compression are left to the others here.
"""

from collections.abc import Iterable, Sequence
from types import FunctionType

from onelog.records.record import Buffer, Record

_INT64_MAX = 0x7FFFFFFFFFFFFFFF
_TWO_64 = 1 << 64
# Seven fields of at least one byte each: what stops a count that lies.
RECORD_BYTES_MIN = 7


class MalformedRecord(ValueError):
    """The bytes of a batch are not the records that its header promises."""

    def __init__(self, index: int, position: int, reason: str) -> None:
        super().__init__(f"record {index} at byte {position}: {reason}")
        self.index = index
        self.position = position
        self.reason = reason


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


def wrapped(value: int) -> int:
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
        delta = index if offset_deltas is None else offset_deltas[index]
        body.clear()
        body.append(0)
        _put(body, wrapped(timestamp - base_timestamp))
        _put(body, delta)
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


def _sized(data: Buffer, pos: int, end: int, index: int, what: str) -> tuple[bytes | None, int]:
    """A nullable byte string at pos, as (bytes | None, next position)."""
    length, at = _varint(data, pos, end)
    if at < 0 or length < -1 or length > end - at:
        raise MalformedRecord(index, pos, f"the length of its {what} is a lie")
    if length < 0:
        return None, at
    return bytes(data[at : at + length]), at + length


def read(
    data: Buffer, pos: int, end: int, index: int
) -> tuple[int, int, int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]:
    """One record: (next position, offset delta, timestamp delta, key, value, headers)."""
    length, at = _varint(data, pos, end)
    if at < 0 or length < RECORD_BYTES_MIN - 1 or length > end - at:
        raise MalformedRecord(index, pos, "its length is a lie")
    stop = at + length
    timestamp_delta, at = _varint(data, at + 1, stop)
    if at < 0:
        raise MalformedRecord(index, pos, "its timestamp is not a number")
    offset_delta, at = _varint(data, at, stop)
    if at < 0 or offset_delta < 0 or offset_delta > 0x7FFFFFFF:
        raise MalformedRecord(index, pos, "its offset is not one")
    key, at = _sized(data, at, stop, index, "key")
    value, at = _sized(data, at, stop, index, "value")
    header_count, at = _varint(data, at, stop)
    if at < 0 or header_count < 0 or header_count > (stop - at) // 2:
        raise MalformedRecord(index, pos, "its count of headers is a lie")
    headers = []
    for _ in range(header_count):
        name, at = _sized(data, at, stop, index, "header's name")
        if name is None:
            raise MalformedRecord(index, pos, "a header has no name")
        header_value, at = _sized(data, at, stop, index, "header's value")
        headers.append((name.decode("utf-8", "replace"), header_value))
    if at != stop:
        raise MalformedRecord(index, pos, f"{stop - at} bytes are left over in it")
    return stop, offset_delta, timestamp_delta, key, value, headers


COMPILED = not isinstance(read, FunctionType)
