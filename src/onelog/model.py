"""The nouns that everyone uses, and what makes their values valid.

Plain values without behaviour. A dialect's own words (bundle, sequence number, SPU) have
no place here; they are translated at the dialect's door.
"""

import re
from enum import Enum
from typing import NamedTuple, NewType
from uuid import UUID

from onelog.errors import InvalidName

TopicName = NewType("TopicName", str)
TopicId = UUID
PartitionId = NewType("PartitionId", int)
Offset = NewType("Offset", int)
GroupId = NewType("GroupId", str)
ProducerId = NewType("ProducerId", int)

NO_PRODUCER = ProducerId(-1)
NO_TOPIC_ID = UUID(int=0)
POSITION_MAX = (1 << 64) - 1
OFFSET_MAX = (1 << 63) - 1

_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")


class Address(NamedTuple):
    """A host and a port; an IPv6 host is written in brackets."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Principal(NamedTuple):
    """Who is on the other end of a connection."""

    kind: str
    name: str


ANONYMOUS = Principal("User", "ANONYMOUS")


class Isolation(Enum):
    """Which records a reader may see."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


class View(Enum):
    """Who filters: RAW hands everything to a client that filters, CLEAN filters for it."""

    RAW = "raw"
    CLEAN = "clean"


def topic_name(text: str) -> TopicName:
    """The text as a topic name, or InvalidName."""
    if _NAME.fullmatch(text) is None or text in (".", ".."):
        raise InvalidName(name=text)
    return TopicName(text)
