"""Topics, their settings and offsets, and the positions of groups: looked at and changed.

What cannot be told from an attempt whose answer was lost (a topic that "exists already"
because that attempt made it) counts as done.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, TypeVar
from uuid import UUID

from onelog.client.errors import BadAnswer, ConnectionLost
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.errors import KafkaError, check
from onelog.client.kafka.metadata import TopicView
from onelog.client.retry import Deadline
from onelog.model import Address, Isolation
from onelog.protocols.kafka.errors import Code
from onelog.protocols.kafka.messages.configs import (
    AlterableConfig,
    AlterableResource,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from onelog.protocols.kafka.messages.fetch import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from onelog.protocols.kafka.messages.topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)

T = TypeVar("T")

TOPIC_RESOURCE = 2
TOPIC_SOURCE = 1
OPERATION_SET = 0
OPERATION_DELETE = 1
TIMEOUT_MS = 30_000


class Spot(Enum):
    """Offsets that are asked for by name."""

    LATEST = -1
    EARLIEST = -2
    MAX_TIMESTAMP = -3


class TopicInfo(NamedTuple):
    """A topic in a list."""

    name: str
    id: UUID
    partition_count: int
    is_internal: bool


@dataclass(frozen=True)
class PartitionInfo:
    """A partition: who leads it, and from which offset to which end it goes (exclusive)."""

    partition: int
    leader: int
    leader_epoch: int
    start: int
    end: int


@dataclass(frozen=True)
class Setting:
    """A setting of a topic, and whether the topic itself says so."""

    name: str
    value: str | None
    is_own: bool
    documentation: str | None = None


@dataclass(frozen=True)
class TopicDescription:
    """All there is to say of a topic."""

    name: str
    id: UUID
    partitions: Sequence[PartitionInfo]
    settings: Sequence[Setting]


class OffsetAt(NamedTuple):
    """An offset that was asked for, and the time of its record, if it was asked by time; -1: none."""

    offset: int
    timestamp_ms: int


class Admin:
    """Changes and looks at one cluster. Holds no state: safe to use from several threads."""

    def __init__(self, client: KafkaClient) -> None:
        self._client = client

    def topics(self) -> list[TopicInfo]:
        """Every topic, by name."""

        def attempt(deadline: Deadline) -> list[TopicInfo]:
            known = self._client.refresh(None, deadline).topics.values()
            return [TopicInfo(t.name, t.id, t.partition_count, t.is_internal) for t in known]

        return sorted(self._client.run(attempt))

    def topic(self, name: str) -> TopicView:
        """A topic and its partitions, as the cluster tells it now."""
        return self._client.run(lambda d: self._client.refresh([name], d).topics[name])

    def create_topic(
        self,
        name: str,
        *,
        partition_count: int = -1,
        replication_factor: int = -1,
        settings: Mapping[str, str] | None = None,
        validate_only: bool = False,
    ) -> TopicView | None:
        """Make a topic and wait until it can be used; -1 leaves a number to the broker.

        None with validate_only, which only asks whether it could be made.
        """
        topic = CreatableTopic(
            name=name,
            num_partitions=partition_count,
            replication_factor=replication_factor,
            configs=[CreatableTopicConfig(name=k, value=v) for k, v in (settings or {}).items()],
        )
        request = CreateTopicsRequest(topics=[topic], timeout_ms=TIMEOUT_MS, validate_only=validate_only)

        def attempt(deadline: Deadline) -> None:
            doing = f"creating topic {name}"
            answer = self._client.ask_controller(
                request, CreateTopicsResponse, doing=doing, deadline=deadline
            )
            for each in answer.topics:
                check(each.error_code, where=name, message=each.error_message)

        self._once(attempt, done_before=Code.TOPIC_ALREADY_EXISTS)
        return None if validate_only else self._client.run(lambda d: self._appeared(name, d))

    def delete_topic(self, name: str) -> None:
        """Remove a topic with all its records."""
        request = DeleteTopicsRequest(
            topics=[DeleteTopicState(name=name)], topic_names=[name], timeout_ms=TIMEOUT_MS
        )

        def attempt(deadline: Deadline) -> None:
            doing = f"deleting topic {name}"
            answer = self._client.ask_controller(
                request, DeleteTopicsResponse, doing=doing, deadline=deadline
            )
            for each in answer.responses:
                _check_topic(each.error_code, where=name, message=each.error_message)

        self._once(attempt, done_before=Code.UNKNOWN_TOPIC_OR_PARTITION)

    def grow_partitions(self, name: str, count: int) -> None:
        """Give a topic more partitions, so that it has count of them."""
        topic = CreatePartitionsTopic(name=name, count=count, assignments=None)
        request = CreatePartitionsRequest(topics=[topic], timeout_ms=TIMEOUT_MS)

        def attempt(deadline: Deadline) -> None:
            doing = f"growing topic {name}"
            answer = self._client.ask_controller(
                request, CreatePartitionsResponse, doing=doing, deadline=deadline
            )
            for each in answer.results:
                _check_topic(each.error_code, where=name, message=each.error_message)

        self._once(attempt, done_before=Code.INVALID_PARTITIONS)

    def alter_topic(
        self, name: str, *, set: Mapping[str, str] | None = None, unset: Iterable[str] = ()
    ) -> None:
        """Give settings of a topic values of its own, or take those away."""
        configs = [
            *(
                AlterableConfig(name=k, config_operation=OPERATION_SET, value=v)
                for k, v in (set or {}).items()
            ),
            *(AlterableConfig(name=k, config_operation=OPERATION_DELETE, value=None) for k in unset),
        ]
        resource = AlterableResource(resource_type=TOPIC_RESOURCE, resource_name=name, configs=configs)
        request = IncrementalAlterConfigsRequest(resources=[resource])

        def attempt(deadline: Deadline) -> None:
            doing = f"altering topic {name}"
            answer = self._client.ask_controller(
                request, IncrementalAlterConfigsResponse, doing=doing, deadline=deadline
            )
            for each in answer.responses:
                _check_topic(each.error_code, where=name, message=each.error_message)

        self._client.run(attempt)

    def settings(self, name: str) -> list[Setting]:
        """Every setting of a topic, its own and those by default."""
        resource = DescribeConfigsResource(
            resource_type=TOPIC_RESOURCE, resource_name=name, configuration_keys=None
        )
        request = DescribeConfigsRequest(resources=[resource], include_documentation=True)

        def attempt(deadline: Deadline) -> list[Setting]:
            doing = f"asking for the settings of {name}"
            answer = self._client.ask_any(request, DescribeConfigsResponse, doing=doing, deadline=deadline)
            found: list[Setting] = []
            for each in answer.results:
                _check_topic(each.error_code, where=name, message=each.error_message)
                found += [
                    Setting(c.name, c.value, c.config_source == TOPIC_SOURCE, c.documentation)
                    for c in each.configs
                ]
            return sorted(found, key=lambda setting: setting.name)

        return self._client.run(attempt)

    def describe_topic(self, name: str) -> TopicDescription:
        """A topic, its partitions with their offsets, and its settings."""
        view = self.topic(name)
        starts = self.offsets(name, Spot.EARLIEST)
        ends = self.offsets(name, Spot.LATEST)
        partitions = [
            PartitionInfo(index, p.leader, p.leader_epoch, starts[index].offset, ends[index].offset)
            for index, p in sorted(view.partitions.items())
            if index in starts and index in ends
        ]
        return TopicDescription(name, view.id, partitions, self.settings(name))

    def offsets(
        self,
        topic: str,
        at: Spot | int,
        *,
        partitions: Iterable[int] | None = None,
        isolation: Isolation = Isolation.READ_UNCOMMITTED,
    ) -> dict[int, OffsetAt]:
        """For each partition the offset of a Spot, or of the first record at or after a time in ms."""
        timestamp = at.value if isinstance(at, Spot) else at
        wanted = None if partitions is None else list(partitions)

        def attempt(deadline: Deadline) -> dict[int, OffsetAt]:
            view = self._client.topic(topic, deadline)
            by_leader: dict[Address, list[int]] = {}
            for partition in sorted(view.partitions) if wanted is None else wanted:
                by_leader.setdefault(self._client.leader(view, partition), []).append(partition)
            found: dict[int, OffsetAt] = {}
            for address, some in by_leader.items():
                found |= self._offsets_of(address, topic, some, timestamp, isolation, deadline)
            return found

        return self._client.run(attempt)

    def _offsets_of(
        self,
        address: Address,
        topic: str,
        partitions: list[int],
        timestamp: int,
        isolation: Isolation,
        deadline: Deadline,
    ) -> dict[int, OffsetAt]:
        asked = [
            ListOffsetsPartition(partition_index=p, current_leader_epoch=-1, timestamp=timestamp)
            for p in partitions
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
        if found.keys() != set(partitions):
            raise BadAnswer(f"{address}: asked for offsets of {topic} and got those of other partitions.")
        return found

    def _once(self, attempt: Callable[[Deadline], None], *, done_before: Code) -> None:
        """Run a change that refuses to be made twice; a refusal after a lost answer is success."""
        lost = False

        def guarded(deadline: Deadline) -> None:
            nonlocal lost
            try:
                attempt(deadline)
            except ConnectionLost as error:
                lost = lost or error.sent
                raise
            except KafkaError as error:
                if not (lost and error.code == done_before):
                    raise

        self._client.run(guarded)

    def _appeared(self, name: str, deadline: Deadline) -> TopicView:
        # A cluster spreads the news; until then a broker that has not heard says "unknown".
        try:
            view = self._client.refresh([name], deadline).topics[name]
        except KafkaError as error:
            error.retriable = error.retriable or error.code == Code.UNKNOWN_TOPIC_OR_PARTITION
            raise
        for partition in view.partitions:
            self._client.leader(view, partition)
        return view


def _check_topic(code: int, *, where: str, message: str | None) -> None:
    """As check, but a topic that is not there is not waited for."""
    if code != Code.NONE:
        error = KafkaError(code, where=where, message=message)
        error.retriable = error.retriable and code != Code.UNKNOWN_TOPIC_OR_PARTITION
        raise error
