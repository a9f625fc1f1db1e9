"""FETCH and CONSUME: reading, many records or the one at an offset. Nobody waits for more but a moment."""

from typing import Any, Final

from onelog import metrics as m
from onelog.broker.broker import Read, ReadResult, Topic
from onelog.errors import ErrorCode, OnelogError, UnknownPartition
from onelog.model import OFFSET_MAX, Isolation, View
from onelog.protocols.contract import Outcome, Reply
from onelog.protocols.flymq.errors import END_OF_PARTITION, OUT_OF_RANGE, Error
from onelog.protocols.flymq.filters import wanted
from onelog.protocols.flymq.framing import PAYLOAD_BYTES_MAX
from onelog.protocols.flymq.handlers.context import DIALECT, Context
from onelog.protocols.flymq.messages.fetch import Consume, Consumed, Fetch
from onelog.protocols.flymq.recordset import Bounds, FetchAnswer, Taken, Wanted, take

COUNT_DEFAULT: Final = 10
# Records that one FETCH looks at, whether the filter wants them or not.
LOOKS_MAX: Final = 1000
LOOKS_BYTES_MAX: Final = 16 << 20
# How much is read at a time: little first, since most want few records, then twice as much.
READ_BYTES_MIN: Final = 64 * 1024
READ_BYTES_MAX: Final = 1 << 20
# What one FETCH answers beyond its first record. The next one goes on.
ANSWER_BYTES_MAX: Final = 4 << 20
READS_MAX: Final = 16
# How long a FETCH that finds nothing may take. Short: consumers ask partition after partition.
IDLE_PAUSE_MS: Final = 2

Result = ReadResult | OnelogError


def fetch(context: Context, request: Fetch) -> Outcome:
    """Records from an offset on, those that the filter wants, and where to go on."""
    if context.has_appends():
        return context.behind_appends(lambda: _fetched(context, request))
    answer = _fetched(context, request)
    is_idle = isinstance(answer, FetchAnswer) and answer.next_offset == request.offset <= OFFSET_MAX
    return _pause(context, request) if is_idle else Reply(answer)


def consume(context: Context, request: Consume) -> Outcome:
    """The record at an offset."""
    return context.behind_appends(lambda: _consumed(context, request))


def _pause(context: Context, request: Fetch) -> Outcome:
    """A moment for a record to come: the programs ask again at once, and would keep a core busy."""
    read = Read(context.topic(request.topic).name, request.partition, request.offset, READ_BYTES_MAX)
    waiting = context.broker.wait_fetch(
        [read],
        bytes_max=READ_BYTES_MAX,
        bytes_min=1,
        wait_ms=IDLE_PAUSE_MS,
        isolation=Isolation.READ_COMMITTED,
        view=View.CLEAN,
        dialect=DIALECT,
    )
    # What stands behind it on its connection is not to be read by it.
    return context.later(waiting, lambda found: _fetched(context, request, found[0]), hold=True)


def _fetched(context: Context, request: Fetch, found: Result | None = None) -> Any:
    topic = context.topic(request.topic)
    count_max = request.count_max if request.count_max > 0 else COUNT_DEFAULT
    place = (topic, request.partition, request.offset)
    taken = _taken(context, *place, count_max=count_max, wanted=wanted(request.filter), found=found)
    if taken.oversized is not None:
        return _oversized(context, *taken.oversized)
    return FetchAnswer(taken.records, taken.next_offset)


def _consumed(context: Context, request: Consume) -> Any:
    topic = context.topic(request.topic)
    try:
        taken = _taken(context, topic, request.partition, request.offset, count_max=1)
    except UnknownPartition as error:
        context.refuse(error)
        return Error(OUT_OF_RANGE.format(partition=request.partition))
    if taken.records and taken.records[0].offset == request.offset:
        return Consumed(key=taken.records[0].key, value=taken.records[0].value)
    if taken.oversized is not None and taken.oversized[0] == request.offset:
        return _oversized(context, *taken.oversized)
    return _missing(context, topic, request, taken)


def _missing(context: Context, topic: Topic, request: Consume, taken: Taken) -> Error:
    """No record is at the offset: there is none yet, or something took it that is no record."""
    following = taken.next_offset
    if taken.records:
        following = taken.records[0].offset
    elif taken.oversized is not None:
        following = taken.oversized[0]
    elif following >= context.broker.describe_partition(topic.name, request.partition).stable:
        return Error(END_OF_PARTITION)
    return Error(f"no message at offset {request.offset}; go on at {following}")


def _taken(
    context: Context,
    topic: Topic,
    partition: int,
    offset: int,
    *,
    count_max: int,
    wanted: Wanted | None = None,
    found: Result | None = None,
) -> Taken:
    """What is there, in several reads, so that no loop is held up for long by one of them.

    found: the first of them, if it is done.
    """
    info = context.broker.describe_partition(topic.name, partition)
    taken = Taken(offset)
    bounds = Bounds(count_max, ANSWER_BYTES_MAX, LOOKS_MAX, LOOKS_BYTES_MAX)
    if offset > OFFSET_MAX or offset >= info.high_watermark:
        return taken
    # One record needs its batch only, which always comes.
    bytes_max = 1 if count_max == 1 and wanted is None else READ_BYTES_MIN
    for _ in range(READS_MAX):
        read = Read(topic.name, partition, taken.next_offset, bytes_max)
        result, found = found or _read(context, read), None
        bytes_max = min(2 * bytes_max, READ_BYTES_MAX)
        if isinstance(result, OnelogError):
            raise result
        take(taken, result.batches, bounds=bounds, wanted=wanted)
        if taken.is_full or result.offset_next == read.offset:
            break
        taken.next_offset = max(taken.next_offset, result.offset_next)
        if taken.looked_at == LOOKS_MAX or len(taken.records) == count_max:
            break
    for reason, count in taken.losses.items():
        context.broker.metrics.series(m.LOSSES, DIALECT, reason).add(count)
    return taken


def _read(context: Context, read: Read) -> Result:
    [result] = context.broker.fetch(
        [read],
        bytes_max=read.bytes_max,
        isolation=Isolation.READ_COMMITTED,
        view=View.CLEAN,
        dialect=DIALECT,
    )
    return result


def _oversized(context: Context, offset: int, size: int) -> Error:
    context.broker.metrics.series(m.REFUSALS, DIALECT, ErrorCode.RECORD_TOO_LARGE.value).add()
    return Error(
        f"message too large: the record at offset {offset} has {size} bytes and does not fit a frame of "
        f"{PAYLOAD_BYTES_MAX}; go on at {offset + 1}, or read it through another protocol"
    )
