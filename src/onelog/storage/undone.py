"""Which transactions of a range were aborted: from the segments' .txnindex files, and from memory.

An index file is never evidence. One that cannot be right is made again from the batches: from
the last snapshot before its segment, which says what was open there.
"""

from collections.abc import Iterable, Sequence

from onelog.storage import layout, snapshot, transactions
from onelog.storage.producers import Producers
from onelog.storage.segment import Segment
from onelog.storage.transactions import Transactions, Undone, within


def find(
    segments: Sequence[Segment], memory: Transactions, first: int, end: int, *, before: Sequence[Segment]
) -> list[Undone]:
    """Those that touch the range. segments: from the one with `first` on; before: those before them."""
    found: list[Undone] = []
    for number, segment in enumerate(segments):
        if not segment.has_undone:
            continue
        if segment.undone is None:
            segment.undone = loaded(segment) or derived(segment, [*before, *segments[:number]])
        found += within(segment.undone, first, end)
        if any(each.stable >= end for each in segment.undone):
            return found
    return found + within(memory.undone, first, end)


def loaded(segment: Segment) -> list[Undone] | None:
    """What a sealed segment's file says; None when it is not there or not right."""
    path = path_of(segment)
    if not segment.handles.disk.exists(path):
        return None
    with segment.handles.use(path) as file:
        data = file.pread(0, file.size())
    return transactions.decoded(data, base_offset=segment.base_offset, offset_end=segment.offset_end)


def derived(segment: Segment, before: Sequence[Segment]) -> list[Undone]:
    """The same from the batches."""
    walked = [segment]
    for earlier in reversed(before):
        known = snapshot.load(segment.handles.disk, segment.directory, walked[-1].base_offset)
        if known is not None:
            break
        walked.append(earlier)
    else:
        known = snapshot.load(segment.handles.disk, segment.directory, walked[-1].base_offset)
    producers = Producers() if known is None else known
    for each in reversed(walked):
        for _, batch in each.batches():
            producers.transactions.note(batch, base=batch.base_offset, settled=batch.offset_end)
    return of_segment(producers.transactions.undone, segment.base_offset, segment.offset_end)


def of_segment(undone: Iterable[Undone], base_offset: int, offset_end: int) -> list[Undone]:
    """Those whose markers stand between these offsets."""
    return [each for each in undone if base_offset <= each.last < offset_end]


def path_of(segment: Segment) -> str:
    """The name of a segment's .txnindex."""
    return layout.join(
        segment.directory, layout.segment_file(segment.base_offset, layout.TRANSACTION_INDEX_SUFFIX)
    )
