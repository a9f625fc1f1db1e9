"""Where a record goes by its key, as Fluvio's own producers place it: SipHash-2-4, with keys of zero.

What is hashed is the length of the key, eight bytes, little endian, and the key. Records without
a key take turns, which is the caller's to keep.
"""

from typing import Final

_MASK: Final = (1 << 64) - 1
# "somepseudorandomlygeneratedbytes": how SipHash begins.
_STATE: Final = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
_WORD_BYTES: Final = 8


def partition_of(key: bytes, partition_count: int) -> int:
    """The partition of a key."""
    return siphash(len(key).to_bytes(_WORD_BYTES, "little") + key) % partition_count


def siphash(data: bytes) -> int:
    """SipHash-2-4 of 64 bits, under a key of zeros."""
    state = _STATE
    whole = len(data) - len(data) % _WORD_BYTES
    for at in range(0, whole, _WORD_BYTES):
        state = _mixed(state, int.from_bytes(data[at : at + _WORD_BYTES], "little"))
    state = _mixed(state, (len(data) & 0xFF) << 56 | int.from_bytes(data[whole:], "little"))
    v0, v1, v2, v3 = state
    state = (v0, v1, v2 ^ 0xFF, v3)
    for _ in range(4):
        state = _round(state)
    v0, v1, v2, v3 = state
    return v0 ^ v1 ^ v2 ^ v3


def _mixed(state: tuple[int, int, int, int], word: int) -> tuple[int, int, int, int]:
    v0, v1, v2, v3 = state
    v0, v1, v2, v3 = _round(_round((v0, v1, v2, v3 ^ word)))
    return v0 ^ word, v1, v2, v3


def _round(state: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    v0, v1, v2, v3 = state
    v0 = (v0 + v1) & _MASK
    v1 = _turned(v1, 13) ^ v0
    v0 = _turned(v0, 32)
    v2 = (v2 + v3) & _MASK
    v3 = _turned(v3, 16) ^ v2
    v0 = (v0 + v3) & _MASK
    v3 = _turned(v3, 21) ^ v0
    v2 = (v2 + v1) & _MASK
    v1 = _turned(v1, 17) ^ v2
    return v0, v1, _turned(v2, 32), v3


def _turned(value: int, bits: int) -> int:
    return (value << bits | value >> (64 - bits)) & _MASK
