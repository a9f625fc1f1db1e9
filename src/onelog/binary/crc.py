"""The two checksums in use: CRC-32C (Castagnoli) of batches, CRC-32 (IEEE) elsewhere."""

import zlib

import crc32c as _crc32c

Readable = bytes | bytearray | memoryview


def crc32c(data: Readable, value: int = 0) -> int:
    """CRC-32C of the data, continued from an earlier value."""
    return int(_crc32c.crc32c(data, value))


def crc32(data: Readable, value: int = 0) -> int:
    """CRC-32 of the data, continued from an earlier value."""
    return zlib.crc32(data, value)
