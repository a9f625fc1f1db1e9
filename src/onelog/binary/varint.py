"""Integers of variable length: seven bits a byte, least significant first, high bit: more follow.

    300 = 1 0010 1100b        AC 02
                              ^  ^-- 000 0010   last: no high bit
                              +----- 010 1100 | 80

Signed ones are zig-zagged first (0, -1, 1, -2 become 0, 1, 2, 3), so that small negative
numbers stay short. A number that does not fit its width, or that never ends, is a BinaryError.
"""

from onelog.binary.errors import BinaryError, missing

Readable = bytes | bytearray | memoryview

UVARINT_MAX = (1 << 32) - 1
UVARLONG_MAX = (1 << 64) - 1
UVARINT_BYTES_MAX = 5
UVARLONG_BYTES_MAX = 10


def read_uvarint(view: Readable, pos: int) -> tuple[int, int]:
    """An unsigned number of 32 bits, and where it ends."""
    return _read(view, pos, UVARINT_MAX, UVARINT_BYTES_MAX)


def read_varint(view: Readable, pos: int) -> tuple[int, int]:
    """A signed number of 32 bits, and where it ends."""
    raw, pos = _read(view, pos, UVARINT_MAX, UVARINT_BYTES_MAX)
    return (raw >> 1) ^ -(raw & 1), pos


def read_varlong(view: Readable, pos: int) -> tuple[int, int]:
    """A signed number of 64 bits, and where it ends."""
    raw, pos = _read(view, pos, UVARLONG_MAX, UVARLONG_BYTES_MAX)
    return (raw >> 1) ^ -(raw & 1), pos


def write_uvarint(out: bytearray, value: int) -> None:
    """Append an unsigned number of 32 bits."""
    if not 0 <= value <= UVARINT_MAX:
        raise ValueError(f"{value} is no unsigned number of 32 bits")
    _write(out, value)


def write_varint(out: bytearray, value: int) -> None:
    """Append a signed number of 32 bits."""
    if not -(1 << 31) <= value < 1 << 31:
        raise ValueError(f"{value} is no signed number of 32 bits")
    _write(out, (value << 1) ^ (value >> 31))


def write_varlong(out: bytearray, value: int) -> None:
    """Append a signed number of 64 bits."""
    if not -(1 << 63) <= value < 1 << 63:
        raise ValueError(f"{value} is no signed number of 64 bits")
    _write(out, (value << 1) ^ (value >> 63))


def varint_size(value: int) -> int:
    """How many bytes a signed number takes."""
    raw = value << 1 if value >= 0 else ~(value << 1)
    return max(1, (raw.bit_length() + 6) // 7)


def uvarint_size(value: int) -> int:
    """How many bytes an unsigned number takes."""
    return max(1, (value.bit_length() + 6) // 7)


def _read(view: Readable, start: int, value_max: int, size_max: int) -> tuple[int, int]:
    value = 0
    pos = start
    try:
        for shift in range(0, 7 * size_max, 7):
            byte = view[pos]
            pos += 1
            if byte < 0x80:
                value |= byte << shift
                if value > value_max:
                    raise BinaryError("varint", start, f"the number {value}", f"at most {value_max}")
                return value, pos
            value |= (byte & 0x7F) << shift
    except IndexError:
        raise missing("varint", start, needed=pos - start + 1, there=pos - start) from None
    raise BinaryError("varint", start, f"more than {size_max} bytes", "the last byte of a number")


def _write(out: bytearray, value: int) -> None:
    while value > 0x7F:
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    out.append(value)
