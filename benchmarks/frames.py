"""Ready-made Kafka frames for the load program, and what their answers say when all is well."""

import socket
import struct
from collections.abc import Iterator, Sequence

from benchmarks.load import Expected
from onelog.binary.message import codec
from onelog.protocols.kafka.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from onelog.protocols.kafka.messages.header import RequestHeader
from onelog.protocols.kafka.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from onelog.records.batch import Batch, split
from onelog.records.record import Record

PRODUCE, PRODUCE_VERSION = 0, 9
FETCH, FETCH_VERSION = 1, 12
_NO_ERROR = b"\x00\x00"


def batch(*, records: int, value_bytes: int, now_ms: int) -> bytes:
    """A batch of so many records of so many bytes, without key."""
    value = bytes(i % 251 for i in range(value_bytes))
    return bytes(Batch.build([Record(key=None, value=value, timestamp_ms=now_ms)] * records).data)


def produce(topic: str, partitions: Sequence[int], batch: bytes) -> bytes:
    """One request that appends the batch to each of the partitions, acknowledged by all."""
    data = [PartitionProduceData(index=index, records=batch) for index in partitions]
    request = ProduceRequest(
        transactional_id=None,
        acks=-1,
        timeout_ms=30_000,
        topic_data=[TopicProduceData(name=topic, partition_data=data)],
    )
    return _frame(PRODUCE, PRODUCE_VERSION, codec(ProduceRequest, PRODUCE_VERSION).encode_bytes(request))


def produced(topic: str) -> Expected:
    """The error code of the first partition is 0."""
    # length 4, correlation 4, tags 1, topics 1, name 1 + n, partitions 1, index 4
    return Expected(at=16 + len(topic), bytes=_NO_ERROR)


def fetch(topic: str, partition: int, *, offset: int, bytes_max: int) -> bytes:
    """One request for so many bytes of a partition, answered at once."""
    request = FetchRequest(
        replica_id=-1,
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=bytes_max,
        isolation_level=0,
        session_id=0,
        session_epoch=-1,
        topics=[
            FetchTopic(
                topic=topic,
                partitions=[
                    FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=bytes_max)
                ],
            )
        ],
        forgotten_topics_data=[],
    )
    return _frame(FETCH, FETCH_VERSION, codec(FetchRequest, FETCH_VERSION).encode_bytes(request))


def fetches_to(end: int, door: socket.socket, topic: str, *, bytes_max: int) -> Iterator[bytes]:
    """The requests of a consumer that reads partition 0 from its beginning to the end, which are sent as well."""
    offset = 0
    answers = door.makefile("rb")
    while offset < end:
        frame = fetch(topic, 0, offset=offset, bytes_max=bytes_max)
        yield frame
        door.sendall(frame)
        (size,) = struct.unpack(">i", answers.read(4))
        # Behind the correlation id and the tags of the header.
        answer, _ = codec(FetchResponse, FETCH_VERSION).decode(memoryview(answers.read(size))[5:])
        offset = split(answer.responses[0].partitions[0].records)[-1].offset_end


# length 4, correlation 4, tags 1, throttle 4
FETCHED = Expected(at=13, bytes=_NO_ERROR)


def _frame(key: int, version: int, body: bytes) -> bytes:
    header = RequestHeader(
        request_api_key=key, request_api_version=version, correlation_id=7, client_id="bench"
    )
    head = codec(RequestHeader, 2).encode_bytes(header)
    return struct.pack(">i", len(head) + len(body)) + head + body
