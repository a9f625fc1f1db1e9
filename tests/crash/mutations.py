"""Frames made wrong: bits, numbers, pieces, and lengths that lie. Pure; a seed gives the same again."""

import random
import struct
from collections.abc import Callable, Sequence

Change = Callable[[random.Random, bytearray, Sequence[bytes]], None]

_NUMBERS = (0, 1, 2, -1, -2, 127, 128, 255, 256, 32767, -32768, 65535, 1 << 20, (1 << 31) - 1, -(1 << 31))
_WIDTHS = "bhiq"
_CHANGES_MAX = 4


def mutated(rng: random.Random, frame: bytes, others: Sequence[bytes]) -> bytes:
    """One frame, changed in up to four places."""
    made = bytearray(frame)
    for _ in range(rng.randint(1, _CHANGES_MAX)):
        rng.choice(_CHANGES)(rng, made, others)
    return bytes(made)


def _flip(rng: random.Random, made: bytearray, others: Sequence[bytes]) -> None:
    if made:
        made[rng.randrange(len(made))] ^= 1 << rng.randrange(8)


def _number(rng: random.Random, made: bytearray, others: Sequence[bytes]) -> None:
    """A number that programs trip over, where a number may stand."""
    width, order = rng.choice(_WIDTHS), rng.choice("<>")
    size = struct.calcsize(width)
    if len(made) >= size:
        number = rng.choice(_NUMBERS) % (1 << 8 * size)
        at = rng.randrange(len(made) - size + 1)
        made[at : at + size] = struct.pack(order + width.upper(), number)


def _cut(rng: random.Random, made: bytearray, others: Sequence[bytes]) -> None:
    del made[rng.randrange(len(made) + 1) :]


def _remove(rng: random.Random, made: bytearray, others: Sequence[bytes]) -> None:
    at = rng.randrange(len(made) + 1)
    del made[at : at + rng.randrange(1, 16)]


def _repeat(rng: random.Random, made: bytearray, others: Sequence[bytes]) -> None:
    at = rng.randrange(len(made) + 1)
    piece = made[at : at + rng.randrange(1, 64)]
    made[at:at] = piece * rng.choice((1, 1, 2, 50))


def _insert(rng: random.Random, made: bytearray, others: Sequence[bytes]) -> None:
    at = rng.randrange(len(made) + 1)
    made[at:at] = rng.randbytes(rng.choice((1, 1, 2, 4, 8, 300)))


def _splice(rng: random.Random, made: bytearray, others: Sequence[bytes]) -> None:
    other = rng.choice(others)
    made[rng.randrange(len(made) + 1) :] = other[rng.randrange(len(other) + 1) :]


_CHANGES: tuple[Change, ...] = (
    _flip,
    _flip,
    _number,
    _number,
    _number,
    _cut,
    _remove,
    _repeat,
    _insert,
    _splice,
)
