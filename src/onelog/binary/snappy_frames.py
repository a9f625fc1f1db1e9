"""Snappy's own framing format, which is neither a raw block nor the framing of Java's library.

    FF 06 00 00 "sNaPpY" | { kind u8 | length u24, little-endian | content }*
    content of kind 00   masked crc u32 | one raw block
               kind 01   masked crc u32 | bytes as they are
               80 to FE  anything, skipped

A chunk holds up to 64 KiB of data. Its checksum is CRC-32C of the data, turned by 15 bits and
raised by a constant. What comes out is bounded while it is made, as in compression.py.
"""

from typing import Final

import cramjam

from onelog.binary.compression import Codec, decompress
from onelog.binary.crc import crc32c
from onelog.binary.errors import BinaryError
from onelog.binary.varint import Readable

OPENING: Final = b"\xff\x06\x00\x00sNaPpY"

_HEADER_BYTES: Final = 4
_CRC_BYTES: Final = 4
_CHUNK_BYTES_MAX: Final = 1 << 16
_COMPRESSED, _PLAIN, _OPENING_KIND = 0x00, 0x01, 0xFF
_SKIPPED: Final = range(0x80, 0xFF)
_MASK_DELTA: Final = 0xA282EAD8


def compress_frames(data: Readable) -> bytes:
    """The data, in chunks."""
    return bytes(cramjam.snappy.compress(data)) or OPENING


def decompress_frames(data: Readable, *, bytes_max: int) -> bytes:
    """What the chunks hold: at most bytes_max, or a BinaryError."""
    view = memoryview(data)
    if bytes(view[: len(OPENING)]) != OPENING:
        raise _garbage("no opening chunk", 0)
    chunks: list[Readable] = []
    left = bytes_max
    pos = 0
    while pos < len(view):
        kind, content, following = _chunk(view, pos)
        if kind in (_COMPRESSED, _PLAIN):
            chunks.append(_data_of(kind, content, pos, min(left, _CHUNK_BYTES_MAX), bytes_max))
            left -= len(chunks[-1])
        elif kind == _OPENING_KIND:
            if bytes(content) != OPENING[_HEADER_BYTES:]:
                raise _garbage("an opening chunk of another kind", pos)
        elif kind not in _SKIPPED:
            raise _garbage(f"a chunk of kind {kind:02x}", pos)
        pos = following
    return b"".join(chunks)


def _chunk(view: memoryview, pos: int) -> tuple[int, memoryview, int]:
    """Its kind, its content, and where the next one begins."""
    start = pos + _HEADER_BYTES
    if start > len(view):
        raise _garbage("the data ends early", pos)
    end = start + int.from_bytes(view[pos + 1 : start], "little")
    if end > len(view):
        raise _garbage("the data ends early", pos)
    return view[pos], view[start:end], end


def _data_of(kind: int, content: memoryview, pos: int, room: int, bytes_max: int) -> Readable:
    if len(content) < _CRC_BYTES:
        raise _garbage("a chunk without its checksum", pos)
    crc = int.from_bytes(content[:_CRC_BYTES], "little")
    packed = content[_CRC_BYTES:]
    try:
        codec = Codec.SNAPPY if kind == _COMPRESSED else Codec.NONE
        data = decompress(codec, packed, bytes_max=room)
    except BinaryError as error:
        expected = f"at most {bytes_max} once decompressed, {_CHUNK_BYTES_MAX} in a chunk"
        raise BinaryError("snappy", pos, error.found, expected) from None
    if _masked(crc32c(data)) != crc:
        raise _garbage("a chunk with a wrong checksum", pos)
    return data


def _masked(crc: int) -> int:
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & 0xFFFFFFFF


def _garbage(found: str, position: int) -> BinaryError:
    return BinaryError("snappy", position, found, "snappy in frames")
