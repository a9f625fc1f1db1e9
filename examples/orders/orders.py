"""Sample orders, and one way to write them and to read one back for each dialect that the broker speaks.

The orders are JSON and the same for all; which client wrote one shows in nothing but its id.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from onelog.client.fluvio.client import FluvioClient
from onelog.client.flymq.client import FlyMQClient, Outgoing
from onelog.client.kafka.admin import Admin, Spot
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.consumer import Consumer
from onelog.client.kafka.errors import KafkaError
from onelog.client.kafka.producer import Producer
from onelog.client.rustlog.client import RustLogClient
from onelog.client.tank.client import TankClient
from onelog.protocols.kafka.errors import Code
from onelog.records.record import Record

TOPIC = "orders"
PARTITIONS = 3
CUSTOMERS = ("ann", "bob", "chi", "dan")
# What a careless client sends. These go to the dead letters; the landed table has them all the same.
SPOILT = (b'{"id": 0, "customer": "eve", "cents": -1, "at": "2026-01-01T00:00:00Z"}', b"not an order")


def sample(now: datetime, *, first_id: int, count: int) -> list[bytes]:
    """Orders of the last three minutes."""
    return [
        json.dumps(
            {
                "id": first_id + number,
                "customer": CUSTOMERS[number % len(CUSTOMERS)],
                "cents": 100 + 25 * (number % 7),
                "at": (now - timedelta(seconds=180 * number / count)).astimezone(UTC).isoformat(),
            }
        ).encode()
        for number in range(count)
    ]


def with_kafka(bootstrap: str, orders: Sequence[bytes], *, now_ms: int) -> None:
    """Keyed by customer, so that one customer's orders stay in their order."""
    records = [Record(key=_customer(order), value=order, timestamp_ms=now_ms) for order in orders]
    with KafkaClient(bootstrap) as client:
        Producer(client).send(TOPIC, records)


def with_rustlog(bootstrap: str, orders: Sequence[bytes], *, now_ms: int) -> None:
    """Without keys and times, which this dialect does not know: we say the partition, the broker the time."""
    with RustLogClient(bootstrap) as client:
        for partition in range(PARTITIONS):
            client.produce(TOPIC, partition, orders[partition::PARTITIONS])


def with_tank(bootstrap: str, orders: Sequence[bytes], *, now_ms: int) -> None:
    """With keys and times; which partition is ours to say, so it is the customer's own."""
    records: dict[int, list[Record]] = {}
    for order in orders:
        key = _customer(order)
        partition = sum(key or b"") % PARTITIONS
        records.setdefault(partition, []).append(Record(key=key, value=order, timestamp_ms=now_ms))
    with TankClient(bootstrap) as client:
        for partition, some in records.items():
            client.produce(TOPIC, partition, some)


def with_flymq(bootstrap: str, orders: Sequence[bytes], *, now_ms: int) -> None:
    """Keyed by customer too, though it is the broker that chooses the partition, and the time."""
    with FlyMQClient(bootstrap) as client:
        client.produce_all(TOPIC, [Outgoing(order, key=_customer(order)) for order in orders])


def with_fluvio(bootstrap: str, orders: Sequence[bytes], *, now_ms: int) -> None:
    """With keys and times; the partitions take turns."""
    records = [Record(key=_customer(order), value=order, timestamp_ms=now_ms) for order in orders]
    with FluvioClient(bootstrap) as client:
        for partition in range(PARTITIONS):
            client.produce(TOPIC, partition, records[partition::PARTITIONS])


WRITERS: Mapping[str, Callable[..., None]] = {
    "kafka": with_kafka,
    "rustlog": with_rustlog,
    "flymq": with_flymq,
    "tank": with_tank,
    "fluvio": with_fluvio,
}
# The listeners of dialects that have ports of their own. Fluvio's clients ask the controller first.
OWN_LISTENERS: Mapping[str, str] = {"tank": "tank", "fluvio": "fluvio-sc"}


def kafka_reads(bootstrap: str, partition: int, offset: int) -> bytes | None:
    with KafkaClient(bootstrap) as client:
        return next(record.value for _, record in Consumer(client).iterate(TOPIC, partition, offset))


def rustlog_reads(bootstrap: str, partition: int, offset: int) -> bytes | None:
    with RustLogClient(bootstrap) as client:
        return client.fetch(TOPIC, partition, offset).records[0].payload


def flymq_reads(bootstrap: str, partition: int, offset: int) -> bytes | None:
    with FlyMQClient(bootstrap) as client:
        return client.fetch(TOPIC, partition, offset).records[0].value


def tank_reads(bootstrap: str, partition: int, offset: int) -> bytes | None:
    """Its numbers begin with 1."""
    with TankClient(bootstrap) as client:
        [(_, record), *_] = client.fetch(TOPIC, partition, offset + 1).messages
        return record.value


def fluvio_reads(bootstrap: str, partition: int, offset: int) -> bytes | None:
    with FluvioClient(bootstrap) as client:
        [(_, record), *_] = client.fetch(TOPIC, partition, offset).records
        return record.value


READERS: Mapping[str, Callable[[str, int, int], bytes | None]] = {
    "kafka": kafka_reads,
    "rustlog": rustlog_reads,
    "flymq": flymq_reads,
    "tank": tank_reads,
    "fluvio": fluvio_reads,
}


def address(dialect: str, bootstrap: str, own: Mapping[str, str]) -> str:
    """Where a dialect's clients go: a listener of its own, or the shared one. own: addresses by listener."""
    listener = OWN_LISTENERS.get(dialect)
    return bootstrap if listener is None else own[listener]


def read_back(bootstrap: str, *, own: Mapping[str, str], partition: int = 0) -> dict[str, bytes | None]:
    """The same record, the last of a partition, as each dialect reads it."""
    with KafkaClient(bootstrap) as client:
        offset = Admin(client).offsets(TOPIC, Spot.LATEST)[partition].offset - 1
    return {d: read(address(d, bootstrap, own), partition, offset) for d, read in READERS.items()}


def write(bootstrap: str, *, own: Mapping[str, str], now: datetime, count: int = 40) -> dict[str, int]:
    """Orders through every dialect; how many through each. own: addresses by listener."""
    with KafkaClient(bootstrap) as client:
        try:
            Admin(client).create_topic(TOPIC, partition_count=PARTITIONS)
        except KafkaError as error:
            if error.code != Code.TOPIC_ALREADY_EXISTS:
                raise
    now_ms = int(now.timestamp() * 1000)
    written = {}
    for turn, (dialect, writer) in enumerate(WRITERS.items()):
        orders = [*sample(now, first_id=now_ms * 10 + turn * count, count=count), *SPOILT]
        writer(address(dialect, bootstrap, own), orders, now_ms=now_ms)
        written[dialect] = len(orders)
    return written


def _customer(order: bytes) -> bytes | None:
    try:
        return str(json.loads(order)["customer"]).encode()
    except ValueError:
        return None
