"""Fetch: whole bundles from sequences on; where there is nothing yet, a wait.

An answer that has anything to say leaves at once. Only when every entry stands at the end of
its partition does the request wait, as a task of its own, and other requests go on.
"""

import asyncio
from dataclasses import dataclass
from typing import Final

from onelog.broker.broker import PartitionInfo, Read, ReadResult, Topic
from onelog.errors import OnelogError, UnknownTopic
from onelog.model import TopicName, View
from onelog.protocols.contract import Later, Reply
from onelog.protocols.contract import Outcome as Answer
from onelog.protocols.tank.errors import FETCH_CODES
from onelog.protocols.tank.handlers.context import DIALECT, ISOLATION, Context
from onelog.protocols.tank.messages.fetch import (
    SEQUENCE_END,
    SEQUENCE_FIRST,
    FetchedPartition,
    FetchedTopic,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    Outcome,
)
from onelog.protocols.tank.recordset import Chunk

# What one answer may hold beside one bundle: it is made in one go, and others wait meanwhile.
ANSWER_BYTES_MAX: Final = 1 << 20
READ_BYTES_MAX: Final = 1 << 20
BYTES_MIN_MAX: Final = 64 << 20
WAIT_MS_MAX: Final = 3_600_000


def fetch(context: Context, request: FetchRequest) -> Answer:
    """At once, or when there is something."""
    context.session.client_id = request.client_id.decode("latin-1")
    work = _Fetch(context, request)
    if context.is_appending:
        return Later(work.behind_appends())
    response = work.look()
    return Later(work.waited()) if work.may_wait and request.wait_ms else Reply(response)


@dataclass(slots=True)
class _Entry:
    """One partition of the request. offset None: from the first message. at: where it waits."""

    topic: TopicName
    asked: FetchPartition
    offset: int | None
    at: int = 0
    is_at_end: bool = False

    @property
    def is_for_what_comes(self) -> bool:
        """Whether it asked for nothing that was there before it."""
        return self.asked.sequence == SEQUENCE_END


class _Fetch:
    """One request on its way. Where "the end" is, is decided when it arrives."""

    def __init__(self, context: Context, request: FetchRequest) -> None:
        self._context = context
        self._broker = context.broker
        self._request = request
        self._room = ANSWER_BYTES_MAX
        self._has_waited = False
        self._topics = [
            [self._entry(topic.name, asked) for asked in topic.partitions] for topic in request.topics
        ]
        self._entries = [entry for entries in self._topics for entry in entries]

    def _entry(self, name: bytes, asked: FetchPartition) -> _Entry:
        topic = TopicName(name.decode("latin-1"))
        if asked.sequence not in (SEQUENCE_FIRST, SEQUENCE_END):
            return _Entry(topic, asked, asked.sequence - 1)
        if asked.sequence == SEQUENCE_FIRST:
            return _Entry(topic, asked, None)
        try:
            info = self._broker.describe_partition(topic, asked.partition)
        except OnelogError:
            return _Entry(topic, asked, None)  # look() will say it
        # What this connection appended before is no news to it.
        return _Entry(topic, asked, info.offset_next if self._context.is_appending else info.stable)

    @property
    def may_wait(self) -> bool:
        """Whether no entry has anything to say, and there is one."""
        return bool(self._entries) and all(entry.is_at_end for entry in self._entries)

    # ---- looking

    def look(self) -> FetchResponse:
        """What there is now, in the order of the request."""
        self._room = ANSWER_BYTES_MAX
        response = FetchResponse(self._request.request_id)
        for topic, entries in zip(self._request.topics, self._topics, strict=True):
            response.topics.append(FetchedTopic(topic.name, len(entries), self._topic(topic.name, entries)))
        return response

    def _topic(self, name: bytes, entries: list[_Entry]) -> list[FetchedPartition] | None:
        for entry in entries:
            entry.is_at_end = False
        try:
            topic = self._context.topic(name)
        except UnknownTopic as error:
            self._context.refused(error)
            return None
        return [self._partition(topic, entry) for entry in entries]

    def _partition(self, topic: Topic, entry: _Entry) -> FetchedPartition:
        try:
            info = self._broker.describe_partition(topic.name, entry.asked.partition)
            return self._fetched(topic, entry, info)
        except OnelogError as error:
            self._context.refused(error)
            return FetchedPartition(entry.asked.partition, FETCH_CODES[error.code])

    def _fetched(self, topic: Topic, entry: _Entry, info: PartitionInfo) -> FetchedPartition:
        partition = entry.asked.partition
        answer = FetchedPartition(partition, last=info.stable)
        entry.at = info.start if entry.offset is None else entry.offset
        if entry.at < info.start or (entry.at > info.stable and not entry.is_for_what_comes):
            return self._out_of_range(answer, topic, info)
        if entry.at < info.stable and self._room > 0:
            chunk = self._chunk(topic.name, entry, info)
            if chunk.base > entry.at + 1 and self._is_below_first(topic, entry, info):
                return self._out_of_range(answer, topic, info)
            if chunk.data:
                return self._with_chunk(answer, chunk)
        entry.is_at_end = entry.at >= info.stable
        answer.base = self._context.first_sequence(topic, partition, info)
        return answer

    def _is_below_first(self, topic: Topic, entry: _Entry, info: PartitionInfo) -> bool:
        """Whether a number was asked for that no message ever had: a log may begin with a hole."""
        if entry.offset is None or self._has_waited:
            return False
        return entry.at + 1 < self._context.first_sequence(topic, entry.asked.partition, info)

    def _out_of_range(self, answer: FetchedPartition, topic: Topic, info: PartitionInfo) -> FetchedPartition:
        answer.outcome = Outcome.OUT_OF_RANGE
        answer.first_available = self._context.first_sequence(topic, answer.partition, info)
        return answer

    def _with_chunk(self, answer: FetchedPartition, chunk: Chunk) -> FetchedPartition:
        self._context.lost(chunk.losses)
        self._room -= len(chunk.data)
        answer.base, answer.chunk = chunk.base, chunk.data
        if chunk.is_sparse and not self._has_waited:
            answer.outcome = Outcome.FETCHED_SPARSE
        return answer

    def _chunk(self, topic: TopicName, entry: _Entry, info: PartitionInfo) -> Chunk:
        """Bundles until the size asked for is reached or passed; entry.at moves over what has none."""
        chunk = Chunk()
        bytes_max = max(min(entry.asked.bytes_max, self._room), 1)
        at = entry.at
        while at < info.stable:
            result = self._read(topic, entry.asked.partition, at, bytes_max - len(chunk.data))
            for batch in result.batches:
                if not chunk.add(batch, offset_start=info.start) or len(chunk.data) >= bytes_max:
                    return chunk
            if result.offset_next == at:
                break
            at = result.offset_next
            if not chunk.data:
                entry.at = at
        return chunk

    def _read(self, topic: TopicName, partition: int, offset: int, bytes_max: int) -> ReadResult:
        bytes_max = min(bytes_max, READ_BYTES_MAX)
        [result] = self._broker.fetch(
            [Read(topic, partition, offset, bytes_max)],
            bytes_max=bytes_max,
            isolation=ISOLATION,
            view=View.CLEAN,
            dialect=DIALECT,
        )
        if isinstance(result, OnelogError):
            raise result
        return result

    # ---- waiting

    async def behind_appends(self) -> FetchResponse:
        """The answer, once what this connection appended is visible."""
        await self._context.appended()
        response = self.look()
        return await self.waited() if self.may_wait and self._request.wait_ms else response

    async def waited(self) -> FetchResponse:
        """The answer, once there are bytes enough or time is over."""
        clock = self._broker.clock
        wait_ms = min(self._request.wait_ms, WAIT_MS_MAX)
        until_s = clock.monotonic_s() + wait_ms / 1000
        missing = min(max(self._request.bytes_min, 1), BYTES_MIN_MAX)
        reads = [Read(e.topic, e.asked.partition, e.at, READ_BYTES_MAX) for e in self._entries]
        while missing > 0 and wait_ms > 0:
            results = await self._more(reads, wait_ms)
            # To be weighed, bundles have to be made; mostly there is nothing to weigh.
            size = self._size(reads, results) if missing > 1 else 0
            if not size:
                break  # one will do, time is over, or something is wrong
            missing -= size
            wait_ms = int((until_s - clock.monotonic_s()) * 1000)
        self._has_waited = True
        return self.look()

    async def _more(self, reads: list[Read], wait_ms: int) -> list[ReadResult | OnelogError]:
        try:
            ticket = self._broker.wait_fetch(
                reads,
                bytes_max=READ_BYTES_MAX,
                bytes_min=1,
                wait_ms=wait_ms,
                isolation=ISOLATION,
                view=View.CLEAN,
                dialect=None,  # look() reads it again, for the reader
            )
        except OnelogError:
            return []
        try:
            return await ticket
        except asyncio.CancelledError:
            ticket.cancel()
            raise

    def _size(self, reads: list[Read], results: list[ReadResult | OnelogError]) -> int:
        """What came as bundles takes, and from where on more will come; 0 where waiting is over."""
        chunk = Chunk()
        size = 0
        for read, result in zip(reads, results, strict=False):
            if isinstance(result, OnelogError):
                return 0
            read.offset = result.offset_next
            for batch in result.batches:
                if not chunk.add(batch, offset_start=0):
                    size += len(chunk.data)
                    chunk = Chunk()
                    chunk.add(batch, offset_start=0)
        return size + len(chunk.data)
