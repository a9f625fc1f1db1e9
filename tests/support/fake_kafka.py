"""A Kafka cluster of as many nodes as a test wants, in threads, with faults at will.

It keeps batches as they come, knows sequences as far as repetitions go, and answers what the
client's tests need. It is written for the tests of the client and decides little: what a
request may be is not judged here. A fault is taken by the next request of its kind.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self
from uuid import UUID

from onelog.binary.message import codec
from onelog.model import NO_TOPIC_ID
from onelog.protocols.kafka.errors import Code
from onelog.protocols.kafka.messages import admin, fetch, groups, header, produce, topics, transactions
from onelog.protocols.kafka.versions import API_VERSIONS, APIS, FETCH, PRODUCE
from onelog.records.batch import Batch, split
from tests.support.fake_groups import FakeGroups
from tests.support.scripted_server import HANG_UP, ScriptedServer

# The connection ends before the request is looked at, or after it was done.
LOSE_REQUEST = "lose request"
LOSE_ANSWER = "lose answer"
Fault = Code | str


@dataclass
class Log:
    """One partition: who leads it, and its batches in order."""

    leader: int = 0
    start: int = 0
    batches: list[Batch] = field(default_factory=list)

    @property
    def end(self) -> int:
        return self.batches[-1].offset_end if self.batches else self.start

    def append(self, records: Any) -> tuple[Code, int]:
        (batch,) = split(records, whole=True)
        for known in self.batches:
            same = (known.producer_id, known.producer_epoch, known.base_sequence)
            if batch.producer_id >= 0 and same == (
                batch.producer_id,
                batch.producer_epoch,
                batch.base_sequence,
            ):
                return Code.NONE, known.base_offset
        self.batches.append(batch.renumbered(base_offset=self.end, leader_epoch=0))
        return Code.NONE, self.batches[-1].base_offset


@dataclass
class Topic:
    """A topic of the fake cluster."""

    id: UUID
    logs: list[Log]


class FakeKafka:
    """The cluster: its topics, its faults, and what it was asked. One lock is Python's own."""

    def __init__(self, *, nodes: int = 1, versions: Mapping[int, tuple[int, int]] | None = None) -> None:
        self.versions = {k: (a.advertised_min, a.version_max) for k, a in APIS.items()} | dict(versions or {})
        self.topics: dict[str, Topic] = {}
        self.positions: dict[tuple[str, str, int], tuple[int, str]] = {}
        self.groups = FakeGroups()
        self.faults: dict[str, deque[Fault]] = {}
        self.asked: list[tuple[int, str, int, Any]] = []
        self.creates_topics = True
        # Answers of a test's own, instead of those below.
        self.answers: dict[str, Callable[[int, Any, Code], Any]] = {}
        self._next_producer = 100
        self._topics_made = 0
        self._nodes = [ScriptedServer(self._script(node)) for node in range(nodes)]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for node in self._nodes:
            node.close()

    @property
    def bootstrap(self) -> str:
        return self._nodes[0].address

    def node(self, node: int) -> ScriptedServer:
        return self._nodes[node]

    def add_topic(self, name: str, *, leaders: list[int]) -> Topic:
        self._topics_made += 1
        self.topics[name] = Topic(UUID(int=self._topics_made), [Log(leader) for leader in leaders])
        return self.topics[name]

    def fault(self, api: str, *faults: Fault) -> None:
        """The next requests of this kind meet these, one each."""
        self.faults.setdefault(api, deque()).extend(faults)

    def requests(self, api: str) -> list[tuple[int, int, Any]]:
        """The requests of a kind, in order: node, version, body."""
        return [(node, version, body) for node, name, version, body in self.asked if name == api]

    def _script(self, node: int) -> Callable[[bytes], object]:
        def answer(frame: bytes) -> object:
            key, version = int.from_bytes(frame[:2], "big"), int.from_bytes(frame[2:4], "big")
            least, most = self.versions.get(key, (0, -1))
            if key == API_VERSIONS and version > most:
                return self._versions_refused(frame)
            if not least <= version <= most:
                return HANG_UP
            api = APIS[key]
            head, pos = codec(header.RequestHeader, api.request_header(version)).decode(frame)
            request, end = codec(api.request, version).decode(frame, pos)
            assert end == len(frame)
            self.asked.append((node, api.name, version, request))
            faults = self.faults.get(api.name)
            fault = faults.popleft() if faults else None
            if fault == LOSE_REQUEST:
                return HANG_UP
            code = fault if isinstance(fault, Code) else Code.NONE
            own = self.answers.get(api.name)
            response = own(node, request, code) if own else _ANSWERS[api.name](self, node, request, code)
            if fault == LOSE_ANSWER:
                return HANG_UP
            answered = header.ResponseHeader(correlation_id=head.correlation_id)
            return codec(header.ResponseHeader, api.response_header(version)).encode_bytes(answered) + codec(
                api.response, version
            ).encode_bytes(response)

        return answer

    def _versions_refused(self, frame: bytes) -> bytes:
        least, most = self.versions[API_VERSIONS]
        keys = [admin.ApiVersion(api_key=API_VERSIONS, min_version=least, max_version=most)]
        refused = admin.ApiVersionsResponse(error_code=Code.UNSUPPORTED_VERSION, api_keys=keys)
        return frame[4:8] + codec(admin.ApiVersionsResponse, 0).encode_bytes(refused)

    def _topic(self, name: str, topic_id: UUID) -> tuple[str, Topic | None]:
        for known, topic in self.topics.items():
            if known == name or (not name and topic.id == topic_id):
                return known, topic
        return name, None

    def _log(self, node: int, topic: Topic | None, index: int, code: Code) -> tuple[Log, Code]:
        if topic is None or index >= len(topic.logs):
            return Log(), code or Code.UNKNOWN_TOPIC_OR_PARTITION
        log = topic.logs[index]
        return log, code or (Code.NONE if log.leader == node else Code.NOT_LEADER_OR_FOLLOWER)

    def answer_api_versions(self, node: int, request: Any, code: Code) -> Any:
        keys = [
            admin.ApiVersion(api_key=k, min_version=least, max_version=most)
            for k, (least, most) in self.versions.items()
        ]
        return admin.ApiVersionsResponse(error_code=code, api_keys=keys)

    def answer_metadata(self, node: int, request: topics.MetadataRequest, code: Code) -> Any:
        names = list(self.topics) if request.topics is None else [t.name or "" for t in request.topics]
        for name in names:
            if name not in self.topics and self.creates_topics and request.allow_auto_topic_creation:
                self.add_topic(name, leaders=[0])
        brokers = [
            topics.MetadataResponseBroker(node_id=i, host="127.0.0.1", port=server.port)
            for i, server in enumerate(self._nodes)
        ]
        return topics.MetadataResponse(
            brokers=brokers,
            cluster_id="fake",
            controller_id=len(self._nodes) - 1,
            topics=[self._described(name, code) for name in names],
        )

    def _described(self, name: str, code: Code) -> Any:
        topic = self.topics.get(name)
        if topic is None or code:
            return topics.MetadataResponseTopic(error_code=code or Code.UNKNOWN_TOPIC_OR_PARTITION, name=name)
        partitions = [
            topics.MetadataResponsePartition(partition_index=i, leader_id=log.leader, leader_epoch=0)
            for i, log in enumerate(topic.logs)
        ]
        return topics.MetadataResponseTopic(name=name, topic_id=topic.id, partitions=partitions)

    def answer_init_producer_id(self, node: int, request: Any, code: Code) -> Any:
        self._next_producer += 1
        return transactions.InitProducerIdResponse(
            error_code=code, producer_id=self._next_producer, producer_epoch=0
        )

    def answer_produce(self, node: int, request: produce.ProduceRequest, code: Code) -> Any:
        responses = []
        for data in request.topic_data:
            name, topic = self._topic(data.name, data.topic_id)
            answers = []
            for part in data.partition_data:
                log, refused = self._log(node, topic, part.index, code)
                refused, offset = (refused, -1) if refused else log.append(part.records)
                answers.append(
                    produce.PartitionProduceResponse(index=part.index, error_code=refused, base_offset=offset)
                )
            topic_id = NO_TOPIC_ID if topic is None else topic.id
            responses.append(
                produce.TopicProduceResponse(name=name, topic_id=topic_id, partition_responses=answers)
            )
        return produce.ProduceResponse(responses=responses)

    def answer_fetch(self, node: int, request: fetch.FetchRequest, code: Code) -> Any:
        responses = []
        for asked in request.topics:
            name, topic = self._topic(asked.topic, asked.topic_id)
            parts = [self._fetched(node, topic, part, code) for part in asked.partitions]
            topic_id = NO_TOPIC_ID if topic is None else topic.id
            responses.append(fetch.FetchableTopicResponse(topic=name, topic_id=topic_id, partitions=parts))
        return fetch.FetchResponse(responses=responses)

    def _fetched(self, node: int, topic: Topic | None, part: fetch.FetchPartition, code: Code) -> Any:
        log, refused = self._log(node, topic, part.partition, code)
        if not refused and not log.start <= part.fetch_offset <= log.end:
            refused = Code.OFFSET_OUT_OF_RANGE
        found: list[Any] = []
        for batch in log.batches:
            if not refused and batch.offset_end > part.fetch_offset:
                if found and sum(map(len, found)) + batch.size > part.partition_max_bytes:
                    # Brokers may cut the last one short; a client drops it.
                    found.append(bytes(batch.data)[: batch.size // 2])
                    break
                found.append(batch.data)
        return fetch.PartitionData(
            partition_index=part.partition,
            error_code=refused,
            high_watermark=log.end,
            last_stable_offset=log.end,
            log_start_offset=log.start,
            aborted_transactions=None,
            records=b"".join(found),
        )

    def answer_list_offsets(self, node: int, request: fetch.ListOffsetsRequest, code: Code) -> Any:
        answered = []
        for asked in request.topics:
            parts = []
            for part in asked.partitions:
                log, refused = self._log(node, self.topics.get(asked.name), part.partition_index, code)
                offset = log.start if part.timestamp == -2 else log.end
                if part.timestamp >= 0:
                    later = [b for b in log.batches if b.max_timestamp_ms >= part.timestamp]
                    offset = later[0].base_offset if later else -1
                parts.append(
                    fetch.ListOffsetsPartitionResponse(
                        partition_index=part.partition_index, error_code=refused, offset=offset
                    )
                )
            answered.append(fetch.ListOffsetsTopicResponse(name=asked.name, partitions=parts))
        return fetch.ListOffsetsResponse(topics=answered)

    def answer_create_topics(self, node: int, request: topics.CreateTopicsRequest, code: Code) -> Any:
        results = []
        for topic in request.topics:
            exists = Code.TOPIC_ALREADY_EXISTS if topic.name in self.topics else Code.NONE
            if not (code or exists) and not request.validate_only:
                self.add_topic(topic.name, leaders=[0] * max(topic.num_partitions, 1))
            results.append(topics.CreatableTopicResult(name=topic.name, error_code=code or exists))
        return topics.CreateTopicsResponse(topics=results)

    def answer_delete_records(self, node: int, request: topics.DeleteRecordsRequest, code: Code) -> Any:
        results = []
        for asked in request.topics:
            parts = []
            for part in asked.partitions:
                log, refused = self._log(node, self.topics.get(asked.name), part.partition_index, code)
                if not refused:
                    log.start = max(log.start, log.end if part.offset == -1 else part.offset)
                parts.append(
                    topics.DeleteRecordsPartitionResult(
                        partition_index=part.partition_index, low_watermark=log.start, error_code=refused
                    )
                )
            results.append(topics.DeleteRecordsTopicResult(name=asked.name, partitions=parts))
        return topics.DeleteRecordsResponse(topics=results)

    def answer_delete_topics(self, node: int, request: topics.DeleteTopicsRequest, code: Code) -> Any:
        names = [t.name or "" for t in request.topics] or request.topic_names
        results = []
        for name in names:
            gone = self.topics.pop(name, None) if not code else None
            unknown = Code.NONE if gone else Code.UNKNOWN_TOPIC_OR_PARTITION
            results.append(topics.DeletableTopicResult(name=name, error_code=code or unknown))
        return topics.DeleteTopicsResponse(responses=results)

    def answer_find_coordinator(self, node: int, request: groups.FindCoordinatorRequest, code: Code) -> Any:
        at: dict[str, Any] = {"host": "127.0.0.1", "port": self._nodes[-1].port, "error_code": code}
        found = [groups.Coordinator(key=key, **at) for key in request.coordinator_keys]
        return groups.FindCoordinatorResponse(coordinators=found, **at)

    def answer_offset_commit(self, node: int, request: groups.OffsetCommitRequest, code: Code) -> Any:
        answered = []
        for topic in request.topics:
            for p in topic.partitions:
                kept = (p.committed_offset, p.committed_metadata or "")
                self.positions[request.group_id, topic.name, p.partition_index] = kept
            parts = [
                groups.OffsetCommitResponsePartition(partition_index=p.partition_index, error_code=code)
                for p in topic.partitions
            ]
            answered.append(groups.OffsetCommitResponseTopic(name=topic.name, partitions=parts))
        return groups.OffsetCommitResponse(topics=answered)

    def answer_offset_fetch(self, node: int, request: groups.OffsetFetchRequest, code: Code) -> Any:
        group: Any = request.groups[0] if request.groups else request
        wanted = (
            [(t.name, p) for t in group.topics for p in t.partition_indexes]
            if group.topics is not None
            else [(t, p) for g, t, p in self.positions if g == group.group_id]
        )
        # The same two, under other names in the answer to many groups.
        topic: Any = groups.OffsetFetchResponseTopics if request.groups else groups.OffsetFetchResponseTopic
        parts: Any = (
            groups.OffsetFetchResponsePartitions if request.groups else groups.OffsetFetchResponsePartition
        )
        found = []
        for name, index in wanted:
            offset, note = self.positions.get((group.group_id, name, index), (-1, ""))
            part = parts(partition_index=index, committed_offset=offset, metadata=note, error_code=Code.NONE)
            found.append(topic(name=name, partitions=[part]))
        if request.groups:
            one = groups.OffsetFetchResponseGroup(group_id=group.group_id, topics=found, error_code=code)
            return groups.OffsetFetchResponse(groups=[one])
        return groups.OffsetFetchResponse(topics=found, error_code=code)


_ANSWERS: dict[str, Callable[[FakeKafka, int, Any, Code], Any]] = {
    "ApiVersions": FakeKafka.answer_api_versions,
    "Metadata": FakeKafka.answer_metadata,
    "InitProducerId": FakeKafka.answer_init_producer_id,
    "Produce": FakeKafka.answer_produce,
    "Fetch": FakeKafka.answer_fetch,
    "ListOffsets": FakeKafka.answer_list_offsets,
    "CreateTopics": FakeKafka.answer_create_topics,
    "DeleteTopics": FakeKafka.answer_delete_topics,
    "FindCoordinator": FakeKafka.answer_find_coordinator,
    "OffsetCommit": FakeKafka.answer_offset_commit,
    "OffsetFetch": FakeKafka.answer_offset_fetch,
    "DeleteRecords": FakeKafka.answer_delete_records,
    "JoinGroup": lambda fake, _, request, code: fake.groups.join(request, code),
    "SyncGroup": lambda fake, _, request, code: fake.groups.sync(request, code),
    "Heartbeat": lambda fake, _, request, code: fake.groups.heartbeat(request, code),
    "LeaveGroup": lambda fake, _, request, code: fake.groups.leave(request, code),
    "ListGroups": lambda fake, _, request, code: fake.groups.list(request, code),
    "DescribeGroups": lambda fake, _, request, code: fake.groups.describe(request, code),
    "DeleteGroups": lambda fake, _, request, code: fake.groups.delete(request, code),
    "OffsetDelete": lambda fake, _, request, code: fake.groups.delete_offsets(request, code),
}

# What a broker of 2018 advertises: nothing flexible, no topic ids, no batched look-ups.
_OLD_MAX = {
    PRODUCE: 7,
    FETCH: 10,
    2: 4,
    3: 7,
    8: 6,
    9: 5,
    10: 2,
    11: 3,
    12: 2,
    13: 2,
    14: 2,
    15: 2,
    16: 2,
    API_VERSIONS: 2,
    19: 3,
    20: 3,
    21: 1,
    22: 1,
    23: 2,
    32: 2,
    33: 1,
    35: 1,
    37: 1,
    42: 1,
}
OLD_VERSIONS: Mapping[int, tuple[int, int]] = {
    key: (api.advertised_min, _OLD_MAX.get(key, -1)) for key, api in APIS.items()
}
