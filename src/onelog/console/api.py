"""What the console's pages say: plain values of the broker, as bytes. No sockets, no HTTP."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from onelog.errors import OnelogError
from onelog.metrics import CONNECTIONS

if TYPE_CHECKING:
    from onelog.broker.broker import Broker

# A broker with more closed partitions than this has told enough.
CLOSED_MAX: Final = 100


@dataclass(frozen=True)
class Page:
    """An answer: its status, what it is, and its bytes."""

    status: int
    content_type: str
    body: bytes
    allow: str = ""


def health(broker: "Broker") -> Page:
    """Whether it serves, and how much. A closed partition is named; the others serve on."""
    failure = broker.barrier().error
    topics = broker.topics()
    closed = _closed_partitions(broker)
    facts = {
        "status": "ok" if failure is None else "failed",
        "failure": None if failure is None else str(failure),
        "cluster_id": broker.cluster_id,
        "topics": len(topics),
        "partitions": sum(topic.partition_count for topic in topics),
        "partitions_closed": len(closed),
        "closed": closed[:CLOSED_MAX],
        "connections": broker.metrics.total(CONNECTIONS),
    }
    body = msgspec.json.format(msgspec.json.encode(facts), indent=2) + b"\n"
    return Page(200 if failure is None else 503, "application/json", body)


def metrics(broker: "Broker") -> Page:
    """All numbers."""
    return Page(200, "text/plain; version=0.0.4; charset=utf-8", broker.metrics.text().encode())


def _closed_partitions(broker: "Broker") -> list[str]:
    """Why, each in a line."""
    closed: list[str] = []
    for topic in broker.topics():
        for index in range(topic.partition_count):
            try:
                broker.describe_partition(topic.name, index)
            except OnelogError as error:
                closed.append(str(error))
    return closed
