"""A cluster as a client sees it: which broker to ask what, and asking again when it may help.

Producer, Consumer and Admin are built on this. Requests go over pooled connections; the
metadata is kept until something says that it is old. Safe to use from several threads.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from onelog.client.address import DEFAULT_BOOTSTRAP, parse_bootstrap
from onelog.client.closing import Closing
from onelog.client.errors import ClientError, ConnectionLost
from onelog.client.kafka.connection import ANY_VERSION, Connection
from onelog.client.kafka.errors import KafkaError, check
from onelog.client.kafka.metadata import Cluster, TopicView
from onelog.client.pool import Pool
from onelog.client.retry import Deadline, Retrier, RetryPolicy
from onelog.clock import Clock
from onelog.model import Address
from onelog.protocols.kafka.errors import Code
from onelog.protocols.kafka.messages.groups import FindCoordinatorRequest, FindCoordinatorResponse
from onelog.protocols.kafka.messages.topics import MetadataRequest, MetadataRequestTopic, MetadataResponse

R = TypeVar("R")
T = TypeVar("T")

# Topics grow new partitions without anybody telling; so much later at most it is seen.
METADATA_AGE_S_MAX = 300.0


class KafkaClient(Closing):
    """Connections and metadata of one cluster. Close it, or use it in a `with`."""

    def __init__(
        self,
        bootstrap: str | Sequence[Address] = DEFAULT_BOOTSTRAP,
        *,
        client_id: str = "onelog",
        timeout_s: float = 30.0,
        retrier: Retrier | None = None,
    ) -> None:
        self._bootstrap = parse_bootstrap(bootstrap) if isinstance(bootstrap, str) else list(bootstrap)
        self._retrier = retrier or Retrier(RetryPolicy(timeout_s=timeout_s))
        self._pool: Pool[Connection] = Pool(lambda a, d: Connection(a, d, client_id=client_id))
        self._lock = threading.Lock()
        self._cluster = Cluster()
        self._heard_s: dict[str, float] = {}
        self._coordinators: dict[str, Address] = {}

    def close(self) -> None:
        """Close the connections. Calls after it fail."""
        self._pool.close()

    @property
    def clock(self) -> Clock:
        """The clock that deadlines go by."""
        return self._retrier.clock

    def pause(self, seconds: float) -> None:
        """Wait, as between two attempts."""
        self._retrier.sleep(seconds)

    def run(self, attempt: Callable[[Deadline], T], *, longer_s: float = 0.0) -> T:
        """The attempt's result, trying again under one deadline as long as its errors allow that.

        Between two attempts all metadata is forgotten: most retriable errors say it is old.
        """
        return self._retrier.run(
            attempt, deadline=self._retrier.deadline(longer_s=longer_s), between=self._forget
        )

    def ask(
        self,
        address: Address,
        request: Any,
        answer: type[R],
        *,
        doing: str,
        deadline: Deadline,
        version_max: int = ANY_VERSION,
    ) -> R:
        """One broker's answer to one request. One attempt."""
        with self._pool.borrow(address, deadline) as connection:
            return connection.ask(request, answer, doing=doing, deadline=deadline, version_max=version_max)

    def ask_any(self, request: Any, answer: type[R], *, doing: str, deadline: Deadline) -> R:
        """The answer of the first broker that can be reached. One attempt at each."""
        lost: ConnectionLost | None = None
        for address in dict.fromkeys([*self._cluster.nodes.values(), *self._bootstrap]):
            try:
                return self.ask(address, request, answer, doing=doing, deadline=deadline)
            except ConnectionLost as error:
                if error.sent:
                    raise
                lost = error
        assert lost is not None
        raise lost

    def ask_all(self, request: Any, answer: type[R], *, doing: str, deadline: Deadline) -> list[R]:
        """The answers of every broker there is, for what each of them knows a part of."""
        nodes = self.refresh([], deadline).nodes
        return [
            self.ask(address, request, answer, doing=doing, deadline=deadline) for address in nodes.values()
        ]

    def ask_controller(self, request: Any, answer: type[R], *, doing: str, deadline: Deadline) -> R:
        """The answer of the broker that changes topics, or of any, where none is named."""
        if not self._cluster.nodes:
            self.refresh([], deadline)
        cluster = self._cluster
        address = cluster.nodes.get(cluster.controller)
        if address is None:
            return self.ask_any(request, answer, doing=doing, deadline=deadline)
        return self.ask(address, request, answer, doing=doing, deadline=deadline)

    def ask_coordinator(
        self,
        group: str,
        request: Any,
        answer: type[R],
        *,
        doing: str,
        deadline: Deadline,
        version_max: int = ANY_VERSION,
    ) -> R:
        """The answer of the broker that keeps a group's positions."""
        address = self._coordinators.get(group)
        if address is None:
            address = self._coordinators[group] = self._find_coordinator(group, deadline)
        return self.ask(address, request, answer, doing=doing, deadline=deadline, version_max=version_max)

    def topic(self, name: str, deadline: Deadline, *, create: bool = False) -> TopicView:
        """A topic as the cluster knows it; KafkaError if it has none of that name.

        create: the broker may make it now, if its settings let it.
        """
        with self._lock:
            view = self._cluster.topics.get(name)
            heard_s = self._heard_s.get(name)
        now_s = self._retrier.clock.monotonic_s()
        if view is not None and heard_s is not None and now_s - heard_s <= METADATA_AGE_S_MAX:
            return view
        return self.refresh([name], deadline, create=create).topics[name]

    def leader(self, topic: TopicView, partition: int) -> Address:
        """Where the leader of a partition listens; KafkaError when there is none."""
        view = topic.partition(partition)
        address = self._cluster.nodes.get(view.leader)
        if address is None:
            raise KafkaError(Code.LEADER_NOT_AVAILABLE, where=f"{topic.name}/{partition}")
        return address

    def refresh(self, names: Sequence[str] | None, deadline: Deadline, *, create: bool = False) -> Cluster:
        """Ask for some topics, or with None for all; what is heard of brokers counts in any case."""
        request = MetadataRequest(
            topics=None if names is None else [MetadataRequestTopic(name=name) for name in names],
            allow_auto_topic_creation=create,
        )
        answer = self.ask_any(request, MetadataResponse, doing="asking for metadata", deadline=deadline)
        now_s = self._retrier.clock.monotonic_s()
        with self._lock:
            # An answer about all topics is the whole truth: what it does not name is gone.
            cluster = (Cluster() if names is None else self._cluster).with_answer(answer)
            self._cluster = cluster
            self._heard_s.update(dict.fromkeys(cluster.topics, now_s))
        for topic in answer.topics:
            if names is not None and topic.error_code != Code.NONE:
                error = KafkaError(topic.error_code, where=topic.name or "")
                # The broker that could have made it has just said that it is not there.
                if topic.error_code == Code.UNKNOWN_TOPIC_OR_PARTITION and not create:
                    error.retriable = False
                raise error
        return cluster

    def _find_coordinator(self, group: str, deadline: Deadline) -> Address:
        request = FindCoordinatorRequest(key=group, key_type=0, coordinator_keys=[group])
        doing = f"asking who keeps group {group!r}"
        answer = self.ask_any(request, FindCoordinatorResponse, doing=doing, deadline=deadline)
        # One group a request: since version 4 it comes in a list.
        found: Any = answer.coordinators[0] if answer.coordinators else answer
        check(found.error_code, where=f"group {group!r}", message=found.error_message)
        return Address(found.host, found.port)

    def _forget(self, _: ClientError) -> None:
        with self._lock:
            self._heard_s.clear()
            self._coordinators.clear()
