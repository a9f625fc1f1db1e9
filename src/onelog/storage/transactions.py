"""The transactions of one log: which are open, which were undone. Derived from its batches, like sequences.

A transaction begins in a log with its producer's first transactional batch and ends with that
producer's marker. What lies behind the first record of an open one is not stable, and a marker
that is not visible yet has ended nothing for readers. Of each segment, the transactions whose
abort stands in it are on disk as Kafka's .txnindex, 34 bytes each:

    version i16 = 0 | producer id i64 | first offset i64 | the marker's offset i64
    | where the stable part of the log ended behind it i64
"""

import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from onelog.records.batch import Batch
from onelog.records.control import Verdict, read_marker

ENTRY = struct.Struct(">hqqqq")
_VERSION = 0


class Undone(NamedTuple):
    """An aborted transaction: whose, from its first offset to that of its marker."""

    producer_id: int
    first: int
    last: int
    stable: int


class Span(NamedTuple):
    """A transaction that ended: from its first offset to that of its marker."""

    producer_id: int
    first: int
    last: int


class Transactions:
    """What is known of a log's transactions. Owned by its producers' state.

    Those that ended are remembered until their markers are settled, so that what is said for an
    offset before (a snapshot, the stable part) is what was true there.
    """

    __slots__ = ("_ended", "_open", "undone")

    def __init__(self) -> None:
        self._open: dict[int, int] = {}
        self._ended: list[Span] = []
        self.undone: list[Undone] = []
        """In the order of their markers; those of sealed segments are on disk."""

    def opened(self, producer_id: int, first: int) -> None:
        """A producer's transaction begins here, unless it is open already."""
        self._open.setdefault(producer_id, first)

    def is_open(self, producer_id: int) -> bool:
        """Whether a producer's transaction has no marker yet."""
        return producer_id in self._open

    def note(self, batch: Batch, *, base: int, settled: int) -> None:
        """The batch is in the log, at this offset."""
        if batch.is_control:
            marker = read_marker(batch)
            if marker is not None:
                self._end(batch.producer_id, marker.verdict, last=base, settled=settled)
        elif batch.is_transactional:
            self.opened(batch.producer_id, base)

    def _end(self, producer_id: int, verdict: Verdict, *, last: int, settled: int) -> None:
        first = self._open.pop(producer_id, None)
        if first is None:
            return
        self._ended = [span for span in self._ended if span.last >= settled]
        self._ended.append(Span(producer_id, first, last))
        if verdict is Verdict.ABORTED:
            stable = min(self._open.values(), default=last + 1)
            self.undone.append(Undone(producer_id, first, last, stable))

    def stable(self, visible: int) -> int:
        """Up to where no transaction is open for those who see the log up to `visible`."""
        if not self._open and not self._ended:
            return visible
        return min((first for _, first in self.open_at(visible)), default=visible)

    def open_at(self, offset: int) -> Iterator[tuple[int, int]]:
        """(producer id, first offset) of each that was open when the log ended at this offset."""
        for producer_id, first in self._open.items():
            if first < offset:
                yield producer_id, first
        for span in self._ended:
            if span.first < offset <= span.last:
                yield span.producer_id, span.first

    def only_open(self, known: dict[int, int]) -> None:
        """These are open, and no others."""
        self._open = known

    def forget_below(self, offset: int) -> None:
        """The aborts whose markers lie below this offset are on disk: nobody asks here for them."""
        if self.undone and self.undone[0].last < offset:
            self.undone = [undone for undone in self.undone if undone.last >= offset]


def within(undone: Iterable[Undone], first: int, end: int) -> list[Undone]:
    """Those that touch this range of offsets."""
    return [each for each in undone if each.first < end and each.last >= first]


def encoded(undone: Iterable[Undone]) -> bytes:
    """The content of a .txnindex file."""
    return b"".join(ENTRY.pack(_VERSION, *each) for each in undone)


def decoded(data: bytes, *, base_offset: int, offset_end: int) -> list[Undone] | None:
    """What a .txnindex says; None when it cannot be that of a segment between these offsets."""
    if len(data) % ENTRY.size:
        return None
    found: list[Undone] = []
    for version, *numbers in ENTRY.iter_unpack(data):
        undone = Undone(*numbers)
        floor = found[-1].last + 1 if found else base_offset
        if version != _VERSION or not floor <= undone.last < offset_end or undone.first > undone.last:
            return None
        found.append(undone)
    return found
