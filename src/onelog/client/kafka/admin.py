"""Topics, their settings and offsets: looked at and changed.

What cannot be told from an attempt whose answer was lost (a topic that "exists already"
because that attempt made it) counts as done.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar
from uuid import UUID

from onelog.client.errors import ConnectionLost
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.errors import KafkaError
from onelog.client.kafka.metadata import TopicView
from onelog.client.kafka.offsets import OffsetAt as OffsetAt
from onelog.client.kafka.offsets import Offsets
from onelog.client.kafka.offsets import Spot as Spot
from onelog.client.retry import Deadline
from onelog.model import Isolation
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

R = TypeVar("R")

TOPIC_RESOURCE = 2
TOPIC_SOURCE = 1
OPERATION_SET = 0
OPERATION_DELETE = 1
TIMEOUT_MS = 30_000


class Outcome(Protocol):
    """What an answer says of one topic."""

    error_code: int
    error_message: str | None


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


class Admin:
    """Changes and looks at one cluster. Holds no state: safe to use from several threads."""

    def __init__(self, client: KafkaClient) -> None:
        self._client = client
        self._offsets = Offsets(client)

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

        self._change(
            request,
            CreateTopicsResponse,
            lambda answer: answer.topics,
            doing="creating",
            name=name,
            done_before=Code.TOPIC_ALREADY_EXISTS,
        )
        return None if validate_only else self._client.run(lambda d: self._appeared(name, d))

    def delete_topic(self, name: str) -> None:
        """Remove a topic with all its records."""
        request = DeleteTopicsRequest(
            topics=[DeleteTopicState(name=name)], topic_names=[name], timeout_ms=TIMEOUT_MS
        )

        self._change(
            request,
            DeleteTopicsResponse,
            lambda answer: answer.responses,
            doing="deleting",
            name=name,
            done_before=Code.UNKNOWN_TOPIC_OR_PARTITION,
        )

    def grow_partitions(self, name: str, count: int) -> None:
        """Give a topic more partitions, so that it has count of them."""
        topic = CreatePartitionsTopic(name=name, count=count, assignments=None)
        request = CreatePartitionsRequest(topics=[topic], timeout_ms=TIMEOUT_MS)

        self._change(
            request,
            CreatePartitionsResponse,
            lambda answer: answer.results,
            doing="growing",
            name=name,
            done_before=Code.INVALID_PARTITIONS,
        )

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

        self._change(
            request,
            IncrementalAlterConfigsResponse,
            lambda answer: answer.responses,
            doing="altering",
            name=name,
        )

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
        return self._offsets.list(topic, at, partitions=partitions, isolation=isolation)

    def delete_records(self, topic: str, below: Mapping[int, int | None]) -> dict[int, int]:
        """Nothing below these offsets is read any more (None: nothing that is there); where logs begin now."""
        return self._offsets.delete_records(topic, below)

    def _change(
        self,
        request: Any,
        answer: type[R],
        outcomes: Callable[[R], Iterable[Outcome]],
        *,
        doing: str,
        name: str,
        done_before: Code | None = None,
    ) -> None:
        """Have the controller make a change to one topic; a refusal of it is KafkaError."""

        def attempt(deadline: Deadline) -> None:
            answered = self._client.ask_controller(
                request, answer, doing=f"{doing} topic {name}", deadline=deadline
            )
            for each in outcomes(answered):
                _check_topic(each.error_code, where=name, message=each.error_message)

        if done_before is None:
            self._client.run(attempt)
        else:
            self._once(attempt, done_before=done_before)

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
