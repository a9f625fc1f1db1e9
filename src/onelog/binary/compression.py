"""The codecs that batches and payloads are compressed with, and a limit on what comes out.

A few bytes can claim to be gigabytes. What is decompressed here is bounded while it is being
produced: a limit is checked against what the bytes claim first, and against what they turn
out to be as they do.

Frames that follow each other (gzip members, lz4 and zstd frames) count as one. Snappy comes
as one raw block or in the framing of Java's xerial library, and is written in the latter:

    82 53 4E 41 50 50 59 00 | version i32 | compatible i32 | { length i32 | raw block }*

Nothing here is shared between threads.
"""

import zlib
from collections.abc import Callable, Iterator
from enum import Enum
from struct import Struct

import cramjam
import lz4.frame
import zstandard

from onelog.binary.errors import BinaryError, TooLarge
from onelog.binary.varint import Readable, read_uvarint


class Codec(Enum):
    """How bytes are compressed. The numbers are those in the attributes of a batch."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


def compress(codec: Codec, data: Readable, *, level: int | None = None) -> bytes:
    """The data, compressed; at the codec's usual level unless one is given."""
    match codec:
        case Codec.NONE:
            return bytes(data)
        case Codec.GZIP:
            gzip = zlib.compressobj(zlib.Z_DEFAULT_COMPRESSION if level is None else level, wbits=_GZIP)
            return gzip.compress(data) + gzip.flush()
        case Codec.SNAPPY:
            return _snappy_compress(memoryview(data))
        case Codec.LZ4:
            # Java refuses blocks that depend on each other.
            return bytes(lz4.frame.compress(data, level or 0, block_linked=False, store_size=False))
        case Codec.ZSTD:
            return zstandard.ZstdCompressor(_ZSTD_LEVEL if level is None else level).compress(data)


def decompress(codec: Codec, data: Readable, *, bytes_max: int) -> bytes:
    """What the data was before it was compressed: at most bytes_max, or a BinaryError."""
    match codec:
        case Codec.NONE:
            if len(data) > bytes_max:
                raise _too_large(codec, len(data), bytes_max)
            return bytes(data)
        case Codec.GZIP:
            return _gzip_decompress(data, bytes_max)
        case Codec.SNAPPY:
            return _snappy_decompress(memoryview(data), bytes_max)
        case Codec.LZ4:
            return _lz4_decompress(data, bytes_max)
        case Codec.ZSTD:
            return _zstd_decompress(memoryview(data), bytes_max)


_GZIP = 31
_ZSTD_LEVEL = 3
_STEP_BYTES_MIN = 64 * 1024


def snappy_block(data: Readable) -> bytes:
    """One raw block of Snappy, which decompress reads as well."""
    return bytes(cramjam.snappy.compress_raw(data))


def _too_large(codec: Codec, found: int, bytes_max: int) -> TooLarge:
    found_at_least = f"{found} bytes or more" if found > bytes_max else f"{found} bytes"
    return TooLarge(codec.name.lower(), 0, found_at_least, f"at most {bytes_max} once decompressed")


def _garbage(codec: Codec, found: object, position: int = 0) -> BinaryError:
    return BinaryError(codec.name.lower(), position, str(found), "compressed data")


def _in_steps(codec: Codec, take: Callable[[int], bytes], compressed: int, bytes_max: int) -> Iterator[bytes]:
    """What take(size) gives until it gives nothing, in growing steps.

    Libraries make room for a whole step before they fill it: it follows what was really there.
    """
    produced = 0
    step = max(_STEP_BYTES_MIN, 4 * compressed)
    while piece := take(min(step, bytes_max - produced + 1)):
        produced += len(piece)
        if produced > bytes_max:
            raise _too_large(codec, produced, bytes_max)
        yield piece
        step *= 2


def _gzip_decompress(data: Readable, bytes_max: int) -> bytes:
    waiting: Readable = data
    member = zlib.decompressobj(_GZIP)

    def take(size: int) -> bytes:
        nonlocal waiting, member
        while waiting:
            if member.eof:
                member = zlib.decompressobj(_GZIP)
            piece = member.decompress(waiting, size)
            waiting = member.unused_data if member.eof else member.unconsumed_tail
            if piece:
                return piece
        return b"" if member.eof else member.decompress(b"", size)

    try:
        whole = b"".join(_in_steps(Codec.GZIP, take, len(data), bytes_max))
    except zlib.error as error:
        raise _garbage(Codec.GZIP, error) from None
    if not member.eof:
        raise _garbage(Codec.GZIP, "the data ends early", len(data))
    return whole


def _lz4_decompress(data: Readable, bytes_max: int) -> bytes:
    frame = lz4.frame.LZ4FrameDecompressor()
    waiting: Readable = data

    def take(size: int) -> bytes:
        nonlocal waiting
        while waiting or not (frame.eof or frame.needs_input):
            if frame.eof:
                frame.reset()
            piece: bytes = frame.decompress(waiting, size)
            waiting = (frame.unused_data or b"") if frame.eof else b""
            if piece:
                return piece
        return b""

    try:
        whole = b"".join(_in_steps(Codec.LZ4, take, len(data), bytes_max))
    except RuntimeError as error:
        raise _garbage(Codec.LZ4, error) from None
    if not frame.eof:
        raise _garbage(Codec.LZ4, "the data ends early", len(data))
    return whole


_XERIAL = bytes.fromhex("82534e4150505900")
_XERIAL_VERSIONS = Struct(">ii")
_XERIAL_LENGTH = Struct(">i")
_XERIAL_BLOCK_BYTES = 32 * 1024
# No element of a snappy block makes more than 64 bytes out of less than 3.
_SNAPPY_EXPANSION_MAX = 24


def _snappy_compress(data: memoryview) -> bytes:
    out = bytearray(_XERIAL + _XERIAL_VERSIONS.pack(1, 1))
    for start in range(0, len(data), _XERIAL_BLOCK_BYTES):
        block = snappy_block(data[start : start + _XERIAL_BLOCK_BYTES])
        out += _XERIAL_LENGTH.pack(len(block)) + block
    return bytes(out)


def _snappy_decompress(data: memoryview, bytes_max: int) -> bytes:
    if bytes(data[: len(_XERIAL)]) != _XERIAL:
        return _snappy_block(data, bytes_max)
    blocks = []
    left = bytes_max
    for block in _xerial_blocks(data):
        blocks.append(_snappy_block(block, left))
        left -= len(blocks[-1])
    return b"".join(blocks)


def _xerial_blocks(data: memoryview) -> Iterator[memoryview]:
    pos = len(_XERIAL) + _XERIAL_VERSIONS.size
    if len(data) < pos:
        raise _garbage(Codec.SNAPPY, "the data ends early", len(data))
    while pos < len(data):
        if len(data) - pos < _XERIAL_LENGTH.size:
            raise _garbage(Codec.SNAPPY, "the data ends early", len(data))
        (length,) = _XERIAL_LENGTH.unpack_from(data, pos)
        pos += _XERIAL_LENGTH.size
        if not 0 <= length <= len(data) - pos:
            raise _garbage(Codec.SNAPPY, f"a block of {length} bytes", pos)
        yield data[pos : pos + length]
        pos += length


def _snappy_block(block: memoryview, bytes_max: int) -> bytes:
    size, _ = read_uvarint(block, 0)
    if size > bytes_max:
        raise _too_large(Codec.SNAPPY, size, bytes_max)
    if size > len(block) * _SNAPPY_EXPANSION_MAX:
        raise _garbage(Codec.SNAPPY, f"a block of {len(block)} bytes that claims to be {size}")
    try:
        return bytes(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as error:
        raise _garbage(Codec.SNAPPY, error) from None


_ZSTD_SKIPPED = range(0x184D2A50, 0x184D2A60)
_ZSTD_BLOCK_BYTES_MAX = 128 * 1024
_ZSTD_CHECKSUM_BYTES = 4
_ZSTD_UNKNOWN = (1 << 64) - 1
_RAW, _RUN, _COMPRESSED = 0, 1, 2


# Making one costs as much as decompressing a small batch. A call takes one out, so that no two
# threads ever hold the same.
_ZSTD_IDLE: list[zstandard.ZstdDecompressor] = []


def _zstd_decompress(data: memoryview, bytes_max: int) -> bytes:
    frames = []
    left = bytes_max
    pos = 0
    while True:
        magic = int.from_bytes(data[pos : pos + 4], "little")
        if magic in _ZSTD_SKIPPED:
            pos += 8 + int.from_bytes(data[pos + 4 : pos + 8], "little")
            if pos > len(data):
                raise _garbage(Codec.ZSTD, "the data ends early", len(data))
        else:
            end, size_max = _zstd_frame(data, pos)
            frames.append(_zstd_one(data[pos:end], min(size_max, left), left))
            left -= len(frames[-1])
            pos = end
        if pos == len(data):
            return frames[0] if len(frames) == 1 else b"".join(frames)


def _zstd_one(frame: memoryview, room: int, left: int) -> bytes:
    claimed = zstandard.get_frame_parameters(frame).content_size
    if claimed not in (_ZSTD_UNKNOWN, 0) and claimed > room:
        raise _too_large(Codec.ZSTD, claimed, left)
    idle = _zstd_idle()
    try:
        # 0 would mean: any size. A frame that may not hold a byte may hold none.
        whole = idle.decompress(frame, max_output_size=max(room, 1))
    except zstandard.ZstdError as error:
        if claimed == _ZSTD_UNKNOWN and room == left:
            raise _too_large(Codec.ZSTD, left + 1, left) from None
        raise _garbage(Codec.ZSTD, error) from None
    finally:
        _ZSTD_IDLE.append(idle)
    if len(whole) > left:
        raise _too_large(Codec.ZSTD, len(whole), left)
    return whole


def _zstd_idle() -> zstandard.ZstdDecompressor:
    try:
        return _ZSTD_IDLE.pop()
    except IndexError:
        return zstandard.ZstdDecompressor()


def _zstd_frame(data: memoryview, start: int) -> tuple[int, int]:
    """Where the frame at start ends, and the most that its blocks can come to.

        magic and header | { last 1 bit, type 2 bits, size 21 bits | content }* | checksum?

    A library that is told to make no more than so much makes room for all of it at once,
    believing the header; the blocks themselves tell how much can really be in them.
    """
    try:
        pos = start + zstandard.frame_header_size(data[start:])
        has_checksum = zstandard.get_frame_parameters(data[start:]).has_checksum
    except (zstandard.ZstdError, ValueError) as error:
        raise _garbage(Codec.ZSTD, error, start) from None
    size_max = 0
    last = False
    while not last:
        if len(data) - pos < 3:
            raise _garbage(Codec.ZSTD, "the data ends early", len(data))
        head = int.from_bytes(data[pos : pos + 3], "little")
        last, kind, size = bool(head & 1), head >> 1 & 3, head >> 3
        if kind not in (_RAW, _RUN, _COMPRESSED) or size > _ZSTD_BLOCK_BYTES_MAX:
            raise _garbage(Codec.ZSTD, f"a block of {size} bytes and type {kind}", pos)
        size_max += _ZSTD_BLOCK_BYTES_MAX if kind == _COMPRESSED else size
        pos += 3 + (1 if kind == _RUN else size)
    end = pos + (_ZSTD_CHECKSUM_BYTES if has_checksum else 0)
    if end > len(data):
        raise _garbage(Codec.ZSTD, "the data ends early", len(data))
    return end, size_max
