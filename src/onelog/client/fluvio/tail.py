"""Following partitions of a topic: a stream for each, acknowledged as it is read.

A frame is acknowledged when it has come, so the next one is on its way while its records are
used. A cluster's own units cut the last batch of a frame: what is cut is asked for again. When
a connection breaks, all is opened anew where reading was.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from onelog.client.closing import Closing
from onelog.client.errors import BadAnswer, ClientError, ConnectionLost
from onelog.client.fluvio.cluster import Cluster
from onelog.client.fluvio.connection import Connection, with_frames
from onelog.client.fluvio.errors import check
from onelog.client.retry import Deadline
from onelog.errors import CorruptBatch, InvalidRecord
from onelog.model import Address
from onelog.protocols.fluvio.messages.fetch import StreamFetchRequest, StreamFetchResponse
from onelog.protocols.fluvio.messages.positions import (
    StreamOffset,
    UpdateConsumerOffsetRequest,
    UpdateConsumerOffsetResponse,
    UpdateOffsetsRequest,
    UpdateOffsetsResponse,
)
from onelog.protocols.fluvio.recordset import decode_records, records_end
from onelog.protocols.fluvio.versions import STREAM_FETCH, UPDATE_CONSUMER_OFFSET, UPDATE_OFFSETS
from onelog.records.record import Record

FETCH_BYTES_MAX = 1 << 20
# A single batch that does not fit is asked for in frames of twice the size, up to here.
FETCH_BYTES_END = 1 << 30


@dataclass(frozen=True, slots=True)
class Fetched:
    """Records in order of their offsets, and where to go on."""

    records: Sequence[tuple[int, Record]]
    next_offset: int


@dataclass(slots=True)
class _Place:
    """Where one partition is read. stream_id: known once its first frame has come."""

    offset: int
    bytes_max: int
    stream_id: int = 0


class Tail(Closing):
    """A reader of some partitions of one topic. One thread at a time. Close it, or use it in a `with`."""

    def __init__(
        self,
        cluster: Cluster,
        topic: str,
        offsets: Mapping[int, int],
        *,
        consumer_id: str | None = None,
        bytes_max: int = FETCH_BYTES_MAX,
    ) -> None:
        self._cluster = cluster
        self._topic = topic
        self._consumer_id = consumer_id
        self._places = {partition: _Place(offset, bytes_max) for partition, offset in offsets.items()}
        self._connections: dict[Address, Connection] = {}
        self._of_partition: dict[int, Connection] = {}
        self._asked: dict[tuple[Connection, int], int | None] = {}
        self._doing = f"reading {topic}"

    def close(self) -> None:
        """Let go of the connections; the streams end with them."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()
        self._of_partition.clear()
        self._asked.clear()

    @property
    def offsets(self) -> Mapping[int, int]:
        """Where each partition goes on."""
        return {partition: place.offset for partition, place in self._places.items()}

    def read(self, *, wait_ms: int = 0) -> dict[int, Fetched]:
        """What has come, by partition; nothing if nothing came in time."""
        retrier = self._cluster.retrier
        deadline = retrier.deadline(longer_s=wait_ms / 1000)
        return retrier.run(
            lambda left: self._attempt(left, wait_ms / 1000), deadline=deadline, between=self._again
        )

    def commit(self, partition: int, next_offset: int) -> None:
        """Keep how far the consumer is: the next offset that it wants. Its stream has to have begun."""
        doing = f"keeping the offset of {self._consumer_id} in {self._topic}/{partition}"
        place, connection = self._places[partition], self._of_partition.get(partition)
        if connection is None or not place.stream_id:
            raise ClientError(f"{doing}: nothing was read yet.")
        request = UpdateConsumerOffsetRequest(offset=next_offset - 1, stream_id=place.stream_id)
        deadline = self._cluster.retrier.deadline()
        answer: UpdateConsumerOffsetResponse = connection.ask(
            UPDATE_CONSUMER_OFFSET, request, doing=doing, deadline=deadline
        )
        check(answer.error, doing=doing)

    def _again(self, error: ClientError) -> None:
        self.close()
        self._cluster.forget()

    def _attempt(self, deadline: Deadline, wait_s: float) -> dict[int, Fetched]:
        for partition in self._places:
            if partition not in self._of_partition:
                self._open(partition, deadline)
        found: dict[int, Fetched] = {}
        until_s = deadline.waited_s() + wait_s
        try:
            while not found:
                left_s = until_s - deadline.waited_s()
                ready = with_frames(list(self._connections.values()), left_s)
                if not ready:
                    break
                for connection in ready:
                    found.update(self._take(connection, deadline))
        except ConnectionLost:
            if found:
                return found  # what came is kept; the next call opens anew
            raise
        return found

    def _open(self, partition: int, deadline: Deadline) -> None:
        address = self._cluster.leader(self._topic, partition, deadline)
        connection = self._connections.get(address)
        if connection is None:
            connection = self._connections[address] = self._cluster.open_unit(address, deadline)
        place = self._places[partition]
        place.stream_id = 0
        request = StreamFetchRequest(
            topic=self._topic,
            partition=partition,
            fetch_offset=place.offset,
            bytes_max=place.bytes_max,
            consumer_id=self._consumer_id,
        )
        number = connection.begin(STREAM_FETCH, request, doing=self._doing, deadline=deadline)
        self._asked[connection, number] = partition
        self._of_partition[partition] = connection

    def _take(self, connection: Connection, deadline: Deadline) -> dict[int, Fetched]:
        """One frame: of a stream, or the answer to an acknowledgement."""
        number, body = connection.next(doing=self._doing, deadline=deadline)
        if (connection, number) not in self._asked:
            answer: UpdateOffsetsResponse = connection.decoded(UPDATE_OFFSETS, body, doing=self._doing)
            for each in answer.offsets:
                check(each.error, doing=self._doing)
            return {}
        partition = self._asked[connection, number]
        if partition is None:
            return {}
        frame: StreamFetchResponse = connection.decoded(STREAM_FETCH, body, doing=self._doing)
        return self._taken(connection, partition, frame, deadline)

    def _taken(
        self, connection: Connection, partition: int, frame: StreamFetchResponse, deadline: Deadline
    ) -> dict[int, Fetched]:
        doing = f"{self._doing}/{partition}"
        place = self._places[partition]
        records = frame.fetched.records or b""
        try:
            numbered = [r for r in decode_records(records, where=doing) if r[0] >= place.offset]
        except (CorruptBatch, InvalidRecord) as error:
            raise BadAnswer(f"{connection.address}: a bad batch while {doing}: {error}") from error
        end = max(records_end(records), frame.fetched.next_filter_offset)
        if not numbered:
            check(frame.fetched.error, doing=doing)
        if end <= place.offset:
            self._ask_for_more(partition, deadline)
            return {}
        place.offset, place.stream_id = end, frame.stream_id
        said = UpdateOffsetsRequest(offsets=[StreamOffset(offset=end, stream_id=frame.stream_id)])
        connection.begin(UPDATE_OFFSETS, said, doing=doing, deadline=deadline)
        return {partition: Fetched(numbered, end)} if numbered else {}

    def _ask_for_more(self, partition: int, deadline: Deadline) -> None:
        """Not one whole batch came: it is larger than what was asked for."""
        place = self._places[partition]
        if place.bytes_max >= FETCH_BYTES_END:
            raise ClientError(
                f"{self._doing}/{partition}: the next batch has more than {place.bytes_max} bytes."
            )
        place.bytes_max *= 2
        old = self._of_partition.pop(partition)
        for key, of in self._asked.items():
            if of == partition and key[0] is old:
                self._asked[key] = None  # what it may still send is for nobody
        self._open(partition, deadline)
