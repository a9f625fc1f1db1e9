"""Which partition a record goes to: by its key as Kafka's Java client does, else in turns.

The same key lands in the same partition whichever client wrote it; that is what makes a
topic with keys usable by several producers.
"""

from itertools import count

_MASK = 0xFFFFFFFF
_FACTOR = 0x5BD1E995
_SEED = 0x9747B28C


def murmur2(key: bytes) -> int:
    """MurmurHash2 of 32 bits, with the seed that Kafka's clients share."""
    whole = len(key) & ~3
    state = _SEED ^ len(key)
    for at in range(0, whole, 4):
        word = int.from_bytes(key[at : at + 4], "little") * _FACTOR & _MASK
        word = (word ^ (word >> 24)) * _FACTOR & _MASK
        state = (state * _FACTOR & _MASK) ^ word
    if whole < len(key):
        state = (state ^ int.from_bytes(key[whole:], "little")) * _FACTOR & _MASK
    state = (state ^ (state >> 13)) * _FACTOR & _MASK
    return state ^ (state >> 15)


def partition_of(key: bytes, partition_count: int) -> int:
    """Where a record with this key goes."""
    return (murmur2(key) & 0x7FFFFFFF) % partition_count


class Partitioner:
    """Whose turn it is among the partitions, for records without a key. Owned by one producer.

    What one send has without keys goes to one partition, so that it makes one large batch
    rather than many small ones.
    """

    def __init__(self) -> None:
        self._turn = count()

    def next_without_key(self, partition_count: int) -> int:
        """The partition for the next lot of records without keys."""
        return next(self._turn) % partition_count
