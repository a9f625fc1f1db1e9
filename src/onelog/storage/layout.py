"""Names of directories and files, both ways: path <-> meaning. It opens nothing.

The names are Kafka's, so that its tools find their way:

    DATA/
      .lock                               held while a broker runs; Kafka takes the same
      .kafka_cleanshutdown                there after a clean stop, and only then
      onelog.format                       which form of directory this is
      onelog.db                           the catalog: all that is not a record
      orders-3/                           partition 3 of the topic "orders"
        partition.metadata                the id of the topic it belongs to
        00000000000000001000.log          record batches from offset 1000 on
        00000000000000001000.index        offset -> position, sparse
        00000000000000001000.timeindex    time -> offset, sparse
        00000000000000001000.snapshot     the producers of everything before
      orders-3.<32 hex>-delete/           of a deleted topic, about to go
      orders-3.<32 hex>-stray/            of nobody that the catalog knows; kept for people
"""

import base64
import re
from dataclasses import dataclass
from enum import Enum
from uuid import UUID

LOCK = ".lock"
CLEAN_STOP = ".kafka_cleanshutdown"
FORMAT = "onelog.format"
CATALOG = "onelog.db"
METADATA = "partition.metadata"

# What is made aside, and renamed when it is whole and synced.
ASIDE_SUFFIX = ".new"

LOG_SUFFIX = ".log"
INDEX_SUFFIX = ".index"
TIME_INDEX_SUFFIX = ".timeindex"
SNAPSHOT_SUFFIX = ".snapshot"

FORMAT_VERSION = 1
FORMAT_TEXT = f"onelog data directory\nversion: {FORMAT_VERSION}\n".encode()
# What Kafka writes there, with the epoch of a broker that never had one.
CLEAN_STOP_TEXT = b'{"version":0,"brokerEpoch":-1}'

_NAME_LENGTH_MAX = 255
_LIVE = re.compile(r"(.+)-(\d{1,10})")
_MOVED = re.compile(r"(.+)-(\d{1,10})\.([0-9a-f]{32})-(delete|stray|future)")
_SEGMENT_FILE = re.compile(r"(\d{20})(\.log|\.index|\.timeindex|\.snapshot)")


class Role(Enum):
    """Whether a log directory is in use, and if not, why it is still there."""

    LIVE = "live"
    DELETE = "delete"
    STRAY = "stray"
    FUTURE = "future"


@dataclass(frozen=True)
class LogDir:
    """What the name of a log directory says."""

    topic: str
    partition: int
    role: Role = Role.LIVE


def join(*parts: str) -> str:
    """One path of several parts."""
    return "/".join(parts)


def above(path: str) -> str:
    """The directory that holds this one."""
    parent, slash, _ = path.rstrip("/").rpartition("/")
    return parent or slash or "."


def live_dir(topic: str, partition: int) -> str:
    """The directory of a partition in use."""
    return f"{topic}-{partition}"


def moved_dir(topic: str, partition: int, *, mark: UUID, role: Role) -> str:
    """The directory of a partition that is out of use. A long topic's name is cut, as Kafka does."""
    end = f"-{partition}.{mark.hex}-{role.value}"
    return topic[: _NAME_LENGTH_MAX - len(end)] + end


def log_dir(name: str) -> LogDir | None:
    """What a directory's name means; None if it is not the name of a log."""
    if moved := _MOVED.fullmatch(name):
        return LogDir(moved[1], int(moved[2]), Role(moved[4]))
    if live := _LIVE.fullmatch(name):
        # "orders-007" is nobody's: every partition has one spelling.
        return LogDir(live[1], int(live[2])) if str(int(live[2])) == live[2] else None
    return None


def segment_file(base_offset: int, suffix: str = LOG_SUFFIX) -> str:
    """The name of one of a segment's files."""
    return f"{base_offset:020d}{suffix}"


def segment_of(name: str) -> tuple[int, str] | None:
    """(base offset, suffix) of a segment's file; None for any other name."""
    found = _SEGMENT_FILE.fullmatch(name)
    return (int(found[1]), found[2]) if found else None


def metadata_text(topic_id: UUID) -> bytes:
    """The content of partition.metadata."""
    return f"version: 0\ntopic_id: {kafka_id(topic_id)}".encode()


def metadata_topic_id(text: bytes) -> UUID | None:
    """The topic's id in a partition.metadata; None if it is torn or another form."""
    found = re.fullmatch(rb"version: 0\r?\ntopic_id: ([A-Za-z0-9_-]{22})\s*", text)
    return UUID(bytes=base64.urlsafe_b64decode(found[1] + b"==")) if found else None


def kafka_id(topic_id: UUID) -> str:
    """An id as Kafka spells it: 22 characters of base64."""
    return base64.urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")
