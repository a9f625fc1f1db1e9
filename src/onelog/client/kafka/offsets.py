"""Where the logs of a topic begin and end, asked of their leaders, and where they are to begin."""

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import NamedTuple, TypeVar

from onelog.client.errors import BadAnswer
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.errors import check
from onelog.client.retry import Deadline
from onelog.model import Address, Isolation
from onelog.protocols.kafka.messages.fetch import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from onelog.protocols.kafka.messages.topics import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)

V = TypeVar("V")
W = TypeVar("W")

TIMEOUT_MS = 30_000
HIGH_WATERMARK = -1


class Spot(Enum):
    """Offsets that are asked for by name."""

    LATEST = -1
    EARLIEST = -2
    MAX_TIMESTAMP = -3


class OffsetAt(NamedTuple):
    """An offset that was asked for, and the time of its record, if it was asked by time; -1: none."""

    offset: int
    timestamp_ms: int


class Offsets:
    """Offsets of any topic of one cluster. Holds no state: safe to use from several threads."""

    def __init__(self, client: KafkaClient) -> None:
        self._client = client

    def list(
        self, topic: str, at: Spot | int, *, partitions: Iterable[int] | None, isolation: Isolation
    ) -> dict[int, OffsetAt]:
        """For each partition the offset of a Spot, or of the first record at or after a time in ms."""
        timestamp = at.value if isinstance(at, Spot) else at

        def ask(address: Address, some: Mapping[int, None], deadline: Deadline) -> dict[int, OffsetAt]:
            asked = [
                ListOffsetsPartition(partition_index=p, current_leader_epoch=-1, timestamp=timestamp)
                for p in some
            ]
            request = ListOffsetsRequest(
                replica_id=-1,
                isolation_level=isolation.value,
                topics=[ListOffsetsTopic(name=topic, partitions=asked)],
                timeout_ms=TIMEOUT_MS,
            )
            doing = f"asking for offsets of {topic}"
            answer = self._client.ask(address, request, ListOffsetsResponse, doing=doing, deadline=deadline)
            found = {}
            for each in (p for t in answer.topics for p in t.partitions):
                check(each.error_code, where=f"{topic}/{each.partition_index}")
                found[each.partition_index] = OffsetAt(each.offset, each.timestamp)
            return found

        wanted = None if partitions is None else dict.fromkeys(partitions)
        return self._of_leaders(topic, wanted, ask)

    def delete_records(self, topic: str, below: Mapping[int, int | None]) -> dict[int, int]:
        """Nothing below these offsets is read any more, None: nothing that is there; where logs begin now."""

        def ask(address: Address, some: Mapping[int, int | None], deadline: Deadline) -> dict[int, int]:
            asked = [
                DeleteRecordsPartition(partition_index=p, offset=HIGH_WATERMARK if offset is None else offset)
                for p, offset in some.items()
            ]
            request = DeleteRecordsRequest(
                topics=[DeleteRecordsTopic(name=topic, partitions=asked)], timeout_ms=TIMEOUT_MS
            )
            doing = f"deleting records of {topic}"
            answer = self._client.ask(address, request, DeleteRecordsResponse, doing=doing, deadline=deadline)
            found = {}
            for each in (p for t in answer.topics for p in t.partitions):
                check(each.error_code, where=f"{topic}/{each.partition_index}")
                found[each.partition_index] = each.low_watermark
            return found

        return self._of_leaders(topic, dict(below), ask)

    def _of_leaders(
        self,
        topic: str,
        wanted: Mapping[int, W] | None,
        ask: Callable[[Address, Mapping[int, W | None], Deadline], dict[int, V]],
    ) -> dict[int, V]:
        """What the leaders of these partitions, or of all, say of them."""

        def attempt(deadline: Deadline) -> dict[int, V]:
            view = self._client.topic(topic, deadline)
            some: Mapping[int, W | None] = (
                dict.fromkeys(sorted(view.partitions)) if wanted is None else wanted
            )
            by_leader: dict[Address, dict[int, W | None]] = {}
            for partition, each in some.items():
                by_leader.setdefault(self._client.leader(view, partition), {})[partition] = each
            found: dict[int, V] = {}
            for address, asked in by_leader.items():
                answered = ask(address, asked, deadline)
                if answered.keys() != asked.keys():
                    raise BadAnswer(f"{address}: asked about {topic} and was told of other partitions.")
                found |= answered
            return found

        return self._client.run(attempt)
