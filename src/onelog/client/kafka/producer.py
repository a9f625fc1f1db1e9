"""Records into topics, once each: sequenced, acknowledged by all replicas, sent again when lost.

A send returns when every record is acknowledged; the broker knows a batch again by producer
and sequence, so that an attempt whose answer was lost does no harm. When a send fails, some
of its records may be in the log: the error says so, and the next send begins as a new
producer, so that no sequence is ever used for two different batches.
"""

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple
from uuid import UUID

from onelog.binary.compression import Codec
from onelog.client.errors import ClientError, ConnectionLost, OutcomeUnknown
from onelog.client.kafka.batching import BATCH_BYTES_MAX, chunks, sequence_behind, sequenced
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.connection import ANY_VERSION
from onelog.client.kafka.delivery import MAYBE_DONE, Delivery, Sent
from onelog.client.kafka.errors import KafkaError, check
from onelog.client.kafka.metadata import TopicView
from onelog.client.kafka.partitioner import Partitioner, partition_of
from onelog.client.retry import Deadline
from onelog.model import NO_TOPIC_ID, Address
from onelog.protocols.kafka.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from onelog.protocols.kafka.messages.transactions import InitProducerIdRequest, InitProducerIdResponse
from onelog.records.batch import Batch
from onelog.records.record import Record

ACKS_ALL = -1
# From the next version on a topic goes by its id, which old clusters do not tell.
PRODUCE_BY_NAME_MAX = 12
# Batches of several partitions share a request up to this size.
REQUEST_BYTES_MAX = 8 << 20


class _Identity(NamedTuple):
    producer_id: int
    epoch: int


class Producer:
    """Sends to any topic of one cluster. Safe to use from several threads, one send at a time.

    idempotent=False sends without sequences: then a batch whose answer was lost is not sent
    again, but ends in OutcomeUnknown. create_topics lets the broker make a topic that is not there.
    """

    def __init__(
        self,
        client: KafkaClient,
        *,
        codec: Codec = Codec.NONE,
        idempotent: bool = True,
        create_topics: bool = True,
        batch_bytes_max: int = BATCH_BYTES_MAX,
    ) -> None:
        self._client = client
        self._codec = codec
        self._idempotent = idempotent
        self._create_topics = create_topics
        self._batch_bytes_max = batch_bytes_max
        self._partitioner = Partitioner()
        self._lock = threading.Lock()
        self._identity: _Identity | None = None
        self._sequences: dict[tuple[UUID | str, int], int] = {}

    def send(self, topic: str, records: Iterable[Record], *, partition: int | None = None) -> list[Sent]:
        """Write the records; where each batch of them went, when all are acknowledged.

        Order holds within a partition. Keys choose it as Kafka's Java client does, unless it is given.
        """
        with self._lock:
            routed = self._routed(topic, records, partition)
            lots = {p: self._built(some) for p, some in routed.items()}
            return self._send_rounds(topic, lots)

    def send_batches(self, topic: str, batches: Mapping[int, Iterable[Batch]]) -> list[Sent]:
        """Write ready batches, by partition; each is sequenced and otherwise left as it is."""
        with self._lock:
            return self._send_rounds(topic, {p: iter(some) for p, some in batches.items()})

    def _routed(
        self, topic: str, records: Iterable[Record], partition: int | None
    ) -> dict[int, list[Record]]:
        if partition is not None:
            return {partition: list(records)}
        view = self._client.run(lambda d: self._client.topic(topic, d, create=self._create_topics))
        count = view.partition_count
        without_key: int | None = None
        routed: dict[int, list[Record]] = {}
        for record in records:
            if record.key is not None:
                index = partition_of(record.key, count)
            else:
                if without_key is None:
                    without_key = self._partitioner.next_without_key(count)
                index = without_key
            routed.setdefault(index, []).append(record)
        return routed

    def _built(self, records: Iterable[Record]) -> Iterator[Batch]:
        for lot in chunks(records, bytes_max=self._batch_bytes_max):
            yield Batch.build(lot, codec=self._codec)

    def _send_rounds(self, topic: str, lots: Mapping[int, Iterator[Batch]]) -> list[Sent]:
        """A produce request takes one batch a partition, so the n-th batches of all go together."""
        sent: list[Sent] = []
        for batches in zip_longest(*lots.values()):
            pending = {p: b for p, b in zip(lots, batches, strict=True) if b is not None}
            delivery = Delivery(topic, pending)
            try:
                self._client.run(lambda d, one=delivery: self._attempt(one, d))  # type: ignore[misc]  # bound here
            finally:
                if delivery.pending:
                    # What is out there under the next sequence is not known; nobody else may use it.
                    self._forget_identity()
            sent.extend(delivery.sent)
        return sent

    def _attempt(self, delivery: Delivery, deadline: Deadline) -> None:
        """Send all that is pending once; raises the first of its errors that is final, else the last."""
        view = self._client.topic(delivery.topic, deadline, create=self._create_topics)
        self._number(delivery, view, deadline)
        failed: ClientError | None = None
        by_leader: dict[Address, list[int]] = {}
        for partition in delivery.pending:
            try:
                by_leader.setdefault(self._client.leader(view, partition), []).append(partition)
            except KafkaError as error:
                failed = error
                if not error.retriable:
                    raise
        for address, partitions in by_leader.items():
            for some in _requests(delivery, partitions):
                failed = self._ask(address, delivery, view, some, deadline) or failed
        if failed is not None:
            raise failed

    def _ask(
        self, address: Address, delivery: Delivery, view: TopicView, partitions: list[int], deadline: Deadline
    ) -> ClientError | None:
        """One request to one leader; the error that may be retried, if there is one."""
        doing = f"producing to {_named(view.name, partitions)}"
        request = _request(delivery, view, partitions, timeout_ms=int(max(deadline.remaining_s(), 1) * 1000))
        version_max = PRODUCE_BY_NAME_MAX if view.id == NO_TOPIC_ID else ANY_VERSION
        try:
            answer = self._client.ask(
                address, request, ProduceResponse, doing=doing, deadline=deadline, version_max=version_max
            )
        except ConnectionLost as error:
            if error.sent:
                delivery.lost(partitions)
                if not self._idempotent:
                    raise OutcomeUnknown(error) from error
            return error
        failed: ClientError | None = None
        for each in (p for t in answer.responses for p in t.partition_responses):
            numbered = delivery.numbered.get(each.index)
            refused = delivery.answered(each)
            if refused is None and numbered is not None:
                self._sequences[_key(view), each.index] = sequence_behind(numbered)
            elif refused is not None:
                failed = self._judged(delivery, refused)
        return failed

    def _judged(self, delivery: Delivery, error: KafkaError) -> KafkaError:
        """The error, if what is pending may be sent again; raises it otherwise."""
        if self._idempotent and delivery.may_renew(error.code):
            delivery.renew()
            self._forget_identity()
            error.retriable = True
        if not error.retriable or (not self._idempotent and error.code in MAYBE_DONE):
            error.retriable = False
            raise error
        return error

    def _number(self, delivery: Delivery, view: TopicView, deadline: Deadline) -> None:
        if not self._idempotent:
            delivery.numbered = dict(delivery.pending)
            return
        if self._identity is None:
            self._identity = self._new_identity(deadline)
        topic = _key(view)
        for partition, batch in delivery.pending.items():
            if partition not in delivery.numbered:
                delivery.numbered[partition] = sequenced(
                    batch,
                    producer_id=self._identity.producer_id,
                    producer_epoch=self._identity.epoch,
                    base_sequence=self._sequences.get((topic, partition), 0),
                )

    def _new_identity(self, deadline: Deadline) -> _Identity:
        request = InitProducerIdRequest(
            transactional_id=None, transaction_timeout_ms=60_000, producer_id=-1, producer_epoch=-1
        )
        answer = self._client.ask_any(
            request, InitProducerIdResponse, doing="asking for a producer id", deadline=deadline
        )
        check(answer.error_code, where="a producer id")
        return _Identity(answer.producer_id, answer.producer_epoch)

    def _forget_identity(self) -> None:
        self._identity = None
        self._sequences.clear()


def _key(view: TopicView) -> UUID | str:
    """The topic by its id, where it has one: a topic made anew counts its sequences from 0."""
    return view.id if view.id != NO_TOPIC_ID else view.name


def _requests(delivery: Delivery, partitions: Sequence[int]) -> Iterator[list[int]]:
    """The partitions in lots whose batches make a request of bearable size."""
    lot: list[int] = []
    size = 0
    for partition in partitions:
        more = delivery.numbered[partition].size
        if lot and size + more > REQUEST_BYTES_MAX:
            yield lot
            lot, size = [], 0
        lot.append(partition)
        size += more
    if lot:
        yield lot


def _request(
    delivery: Delivery, view: TopicView, partitions: list[int], *, timeout_ms: int
) -> ProduceRequest:
    data = [PartitionProduceData(index=p, records=delivery.numbered[p].data) for p in partitions]
    topic = TopicProduceData(name=view.name, topic_id=view.id, partition_data=data)
    return ProduceRequest(transactional_id=None, acks=ACKS_ALL, timeout_ms=timeout_ms, topic_data=[topic])


def _named(topic: str, partitions: list[int]) -> str:
    return f"{topic}/{partitions[0]}" if len(partitions) == 1 else f"{len(partitions)} partitions of {topic}"
