"""Names of directories and files, both ways: path <-> meaning. It opens nothing.

The names are Kafka's, so that its tools find their way:

    DATA/
      .lock                               held while a broker runs; Kafka takes the same
      .kafka_cleanshutdown                there after a clean stop, and only then
      onelog.format                       which form of directory this is
      onelog.db                           the catalog: all that is not a record
      onelog.commit.0, onelog.commit.1    the commit log: records on their way to their logs
      onelog.ends                         the root: how far every log is settled
      onelog.tail.<32 hex>-3              records of a refused log that are not in its segments
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
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from uuid import UUID

LOCK = ".lock"
CLEAN_STOP = ".kafka_cleanshutdown"
FORMAT = "onelog.format"
CATALOG = "onelog.db"
METADATA = "partition.metadata"
ENDS = "onelog.ends"
COMMIT_PREFIX = "onelog.commit."
TAIL_PREFIX = "onelog.tail."

# Kafka's own, there after a clean stop: up to where each log is synced, and where it begins.
RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"

# What is made aside, and renamed when it is whole and synced.
ASIDE_SUFFIX = ".new"

LOG_SUFFIX = ".log"
INDEX_SUFFIX = ".index"
TIME_INDEX_SUFFIX = ".timeindex"
SNAPSHOT_SUFFIX = ".snapshot"

# The first form had no commit log; a directory of it is adopted once.
FIRST_FORM_TEXT = b"onelog data directory\nversion: 1\n"
FORMAT_VERSION = 2
FORMAT_TEXT = f"onelog data directory\nversion: {FORMAT_VERSION}\n".encode()
# What Kafka writes there, with the epoch of a broker that never had one.
CLEAN_STOP_TEXT = b'{"version":0,"brokerEpoch":-1}'

_NAME_LENGTH_MAX = 255
_LIVE = re.compile(r"(.+)-(\d{1,10})")
_MOVED = re.compile(r"(.+)-(\d{1,10})\.([0-9a-f]{32})-(delete|stray|future)")
_TAIL_FILE = re.compile(re.escape(TAIL_PREFIX) + r"([0-9a-f]{32})-(\d{1,10})")
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


def commit_file(slot: int) -> str:
    """The name of a commit log file. It keeps it, whatever it is used for."""
    return f"{COMMIT_PREFIX}{slot}"


def commit_slot(name: str) -> int | None:
    """Which commit log file has this name; None for any other name."""
    slot = name.removeprefix(COMMIT_PREFIX)
    return int(slot) if slot != name and slot.isdigit() and str(int(slot)) == slot else None


def tail_file(topic_id: UUID, partition: int) -> str:
    """The name of the file with the tail of a log that is refused."""
    return f"{TAIL_PREFIX}{topic_id.hex}-{partition}"


def tail_key(name: str) -> tuple[UUID, int] | None:
    """Whose tail a file of this name has; None for any other name."""
    found = _TAIL_FILE.fullmatch(name)
    return (UUID(found[1]), int(found[2])) if found else None


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


def checkpoint_text(offsets: Mapping[tuple[str, int], int]) -> bytes:
    """The content of a checkpoint file: an offset for each partition."""
    lines = [f"{topic} {partition} {offset}" for (topic, partition), offset in sorted(offsets.items())]
    return "\n".join(["0", str(len(lines)), *lines, ""]).encode()


def kafka_id(topic_id: UUID) -> str:
    """An id as Kafka spells it: 22 characters of base64."""
    return base64.urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")
