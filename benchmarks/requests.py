"""Small produces of 1, 8 and 64 connections beside raw writes of the same bytes and a sync.

Each connection has one request in flight: one record of 100 bytes. The floor is one thread
that appends a batch of that size to a file and syncs it, again and again. Expected of this
first form, where a turn's segment is written and synced by a thread: 0.5 of the floor with
one connection, 1.5 with 8 and 5 with 64, since many requests share one sync.
"""

import os
import select
import socket
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.measure import cpu_s, median, now_s, spread, table
from onelog.binary.message import codec
from onelog.client.kafka.admin import Admin
from onelog.client.kafka.client import KafkaClient
from onelog.protocols.kafka.messages.header import RequestHeader
from onelog.protocols.kafka.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from onelog.records.batch import Batch
from onelog.records.record import Record
from tests.support.served import Served

CONNECTIONS = (1, 8, 64)
ROUNDS = 5
SECONDS = 2.0
VERSION = 9
TOPIC = "requests"


def main() -> None:
    """Rounds alternate between the floor and each number of connections."""
    print("one synchronous record of 100 bytes per request, every answer after its sync")
    rates: dict[int, list[float]] = {n: [] for n in CONNECTIONS}
    cpu: dict[int, list[float]] = {n: [] for n in CONNECTIONS}
    floors: list[float] = []
    with (
        tempfile.TemporaryDirectory(prefix="onelog-bench-") as folder,
        Served(Path(folder) / "data") as served,
    ):
        with KafkaClient(served.bootstrap) as client:
            Admin(client).create_topic(TOPIC, partition_count=1)
        frame = produce_frame()
        for _ in range(ROUNDS):
            floors.append(_timed_floor(Path(folder) / "floor", len(frame)))
            for connections in CONNECTIONS:
                before = cpu_s(served.pid)
                done, seconds = load(served.ports["shared"], frame, connections)
                rates[connections].append(done / seconds)
                cpu[connections].append((cpu_s(served.pid) - before) / done * 1e6)
    floor = median(floors)
    rows = [["raw write + sync", spread(floors), "1.00", ""]]
    rows += [
        [f"{n} connections", spread(rates[n]), f"{median(rates[n]) / floor:.2f}", f"{median(cpu[n]):.0f}"]
        for n in CONNECTIONS
    ]
    table(["", "requests/s: median (p10-p90)", "ratio to raw", "broker CPU s per million"], rows)


def produce_frame() -> bytes:
    """One record to the first partition of TOPIC, as Kafka's clients send it."""
    batch = Batch.build([Record(key=None, value=b"x" * 100, timestamp_ms=0)])
    request = ProduceRequest(
        transactional_id=None,
        acks=-1,
        timeout_ms=30_000,
        topic_data=[
            TopicProduceData(
                name=TOPIC, partition_data=[PartitionProduceData(index=0, records=bytes(batch.data))]
            )
        ],
    )
    header = RequestHeader(
        request_api_key=0, request_api_version=VERSION, correlation_id=7, client_id="bench"
    )
    body = codec(RequestHeader, 2).encode_bytes(header) + codec(ProduceRequest, VERSION).encode_bytes(request)
    return struct.pack(">i", len(body)) + body


def load(
    port: int, frame: bytes, connections: int, *, greeting: bytes = b"", seconds_max: float = SECONDS
) -> tuple[int, float]:
    """One request in flight per connection, one thread, epoll; answers come in one piece. Count and time."""
    poll = select.epoll()
    doors: dict[int, socket.socket] = {}
    for _ in range(connections):
        door = socket.create_connection(("127.0.0.1", port))
        door.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        assert door.recv(len(greeting), socket.MSG_WAITALL) == greeting if greeting else True
        poll.register(door.fileno(), select.EPOLLIN)
        doors[door.fileno()] = door
    for door in doors.values():
        door.sendall(frame)
    done, begin = 0, now_s()
    while now_s() - begin < seconds_max:
        for number, _ in poll.poll(1.0):
            door = doors[number]
            assert len(door.recv(4096)) > 4, "the broker closed the connection"
            door.sendall(frame)
            done += 1
    seconds = now_s() - begin
    for door in doors.values():
        door.close()
    return done, seconds


def _timed_floor(path: Path, size: int) -> float:
    def step(file: int) -> None:
        os.write(file, b"x" * size)
        os.fdatasync(file)

    return _repeated(step, path)


def _repeated(step: Callable[[int], object], path: Path) -> float:
    file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    done, begin = 0, now_s()
    while now_s() - begin < SECONDS:
        step(file)
        done += 1
    seconds = now_s() - begin
    os.close(file)
    return done / seconds


if __name__ == "__main__":
    main()
