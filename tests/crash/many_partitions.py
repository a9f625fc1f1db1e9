"""2 000 partitions of three segments each, in a process that may have 1 024 files: handles and mappings.

    python -m tests.crash.many_partitions [--partitions 2000] [--files 1024]

Written, settled, read from every segment by two kinds of readers, killed, read again, stopped and
read again. Files and mappings of the process are counted at each of these moments, and have to
stay under a bound that has nothing to do with the number of partitions.
"""

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from onelog.client.kafka.admin import Admin
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.consumer import Consumer
from onelog.client.kafka.producer import Producer
from onelog.model import Address
from onelog.records.batch import Batch
from onelog.records.record import Record
from tests.support.served import Served

TOPIC = "many"
SEGMENTS = 3
SEGMENT_BYTES = 1024
PARTITIONS_AT_ONCE = 100
# What storage keeps open, and what a broker has besides: listeners, the catalog, threads' pipes.
FILES_MAX = 500
MAPPINGS_MAX = 600
SETTLED_WITHIN_S = 120.0
STOPPED_WITHIN_S = 180.0


def main(argv: list[str] | None = None) -> int:
    """Measure, print, judge; 0 when everything stays under its bound and every record is there."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash.many_partitions")
    parser.add_argument("--partitions", type=int, default=2000)
    parser.add_argument("--files", type=int, default=1024)
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="onelog-many-") as folder:
        served = _limited(Path(folder) / "data", files=args.files)
        try:
            findings = list(_story(served, args.partitions))
        finally:
            if served.process is not None:
                served.kill()
    for line in findings:
        print(f"FINDING {line}")
    return 1 if findings else 0


def _limited(data: Path, *, files: int) -> Served:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    assert files <= hard
    return Served(data, wrapper=["prlimit", f"--nofile={files}:{files}"], ports={"shared": 0, "console": 0})


def _story(served: Served, partitions: int) -> Iterator[str]:
    served.start()
    _write(served, partitions)
    yield from _judged(served, "written")
    yield from _settled(served, partitions)
    yield from _judged(served, "settled")
    yield from _read(served, partitions)
    yield from _judged(served, "read")
    served.kill()
    served.start()
    yield from _read(served, partitions)
    yield from _judged(served, "read after a kill")
    if _stopped(served) != 0:
        yield "it did not stop cleanly: " + " | ".join(served.log[-3:])
    served.start()
    yield from _read(served, partitions)
    yield from _judged(served, "read after a stop")
    if _stopped(served) != 0:
        yield "it did not stop cleanly: " + " | ".join(served.log[-3:])


def _stopped(served: Served) -> int:
    """A clean stop leaves files beside each log, which takes longer than one of a few logs."""
    assert served.process is not None
    served.process.terminate()
    began_s = time.monotonic()
    served.process.wait(timeout=STOPPED_WITHIN_S)
    print(f"stopped in {time.monotonic() - began_s:.1f} s")
    return served.wait()


def _client(served: Served) -> KafkaClient:
    host, port = served.bootstrap.rsplit(":", 1)
    return KafkaClient([Address(host, int(port))])


def _batch(partition: int, number: int) -> Batch:
    return Batch.build([Record(b"key", _value(partition, number), int(time.time() * 1000))])


def _value(partition: int, number: int) -> bytes:
    return f"{partition} {number} ".encode() * 130


def _lots(partitions: int) -> Iterator[range]:
    for first in range(0, partitions, PARTITIONS_AT_ONCE):
        yield range(first, min(first + PARTITIONS_AT_ONCE, partitions))


def _write(served: Served, partitions: int) -> None:
    """A batch that nearly fills a segment, as often as there are to be segments."""
    with _client(served) as client:
        settings = {"segment.bytes": str(SEGMENT_BYTES)}
        Admin(client).create_topic(TOPIC, partition_count=partitions, settings=settings)
        producer = Producer(client)
        for number in range(SEGMENTS):
            for lot in _lots(partitions):
                producer.send_batches(TOPIC, {partition: [_batch(partition, number)] for partition in lot})


def _settled(served: Served, partitions: int) -> Iterator[str]:
    """Until all segments are there, which nobody asks for: an idle broker settles."""
    end = time.monotonic() + SETTLED_WITHIN_S
    found = 0
    while found < partitions * SEGMENTS and time.monotonic() < end:
        time.sleep(0.5)
        found = sum(1 for _ in served.data.glob(f"{TOPIC}-*/*.log"))
    print(f"{partitions} partitions, {found} segments")
    if found != partitions * SEGMENTS:
        yield f"{found} segments; expected {partitions * SEGMENTS}"


def _read(served: Served, partitions: int) -> Iterator[str]:
    """Everything, first lot by lot from the start, then each segment by its offset, newest first."""
    with _client(served) as client:
        consumer = Consumer(client)
        for lot in _lots(partitions):
            found = consumer.fetch_many(TOPIC, dict.fromkeys(lot, 0))
            for partition in lot:
                values = [record.value for _, record in found[partition].records()]
                if values != [_value(partition, number) for number in range(SEGMENTS)]:
                    yield f"partition {partition} has {len(values)} records, or others"
        for number in reversed(range(SEGMENTS)):
            for lot in _lots(partitions):
                found = consumer.fetch_many(TOPIC, dict.fromkeys(lot, number))
                for partition in lot:
                    first = next(iter(found[partition].records()), None)
                    if first is None or first[1].value != _value(partition, number):
                        yield f"partition {partition} at offset {number}: another record"


def _judged(served: Served, moment: str) -> Iterator[str]:
    process = Path("/proc") / str(served.pid)
    files = len(list((process / "fd").iterdir()))
    mappings = len((process / "maps").read_text().splitlines())
    segments = sum(".log" in line for line in (process / "maps").read_text().splitlines())
    print(f"{moment:20} {files:5} files open, {mappings:5} mappings, {segments} of them of segments")
    if files > FILES_MAX:
        yield f"{moment}: {files} files; expected at most {FILES_MAX}"
    if mappings > MAPPINGS_MAX:
        yield f"{moment}: {mappings} mappings; expected at most {MAPPINGS_MAX}"


if __name__ == "__main__":
    sys.exit(main())
