"""What Kafka's own files say of a directory that Kafka wrote: its logs, where they begin, and two of its topics.

Reads and changes nothing. Only bytes are taken apart here, and only those forms that a broker of
version 4 writes; what they mean for a broker of ours is decided above.

    log-start-offset-checkpoint    "0", a count, and a line "topic partition offset" each
    leader-epoch-checkpoint        in a log's directory: "0", a count, and a line "epoch start" each
    __cluster_metadata-0           settings of topics and producer ids: records of kind 4 and 15 (frame 1)
    __consumer_offsets-N           positions: keys of version 0 and 1, values up to version 3
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from onelog.errors import CorruptBatch, InvalidRecord
from onelog.records.record import Record
from onelog.storage import layout
from onelog.storage.disk import Disk
from onelog.storage.home import topic_id_of
from onelog.storage.layout import LogDir, Role
from onelog.storage.transactions import Transactions
from onelog.storage.walk import walk
from onelog.storage.whole import read_whole

METADATA_TOPIC = "__cluster_metadata"
OFFSETS_TOPIC = "__consumer_offsets"
# Kafka's own, which mean nothing to a broker of ours: they stay as they are.
OWN_TOPICS = frozenset({METADATA_TOPIC, OFFSETS_TOPIC, "__transaction_state", "__share_group_state"})

EPOCHS = "leader-epoch-checkpoint"
_CONFIG_RECORD = 4
_PRODUCER_IDS_RECORD = 15
_TOPIC = 2
_OFFSET_KEYS = (0, 1)


@dataclass(frozen=True)
class ForeignLog:
    """One log of a topic."""

    topic: str
    partition: int
    topic_id: UUID
    start: int
    leader_epoch: int


class ForeignSetting(NamedTuple):
    """A setting of a topic; None where its default was brought back."""

    topic: str
    name: str
    value: str | None


class ForeignPosition(NamedTuple):
    """How far a group has read; offset None where that was forgotten."""

    group: str
    topic: str
    partition: int
    offset: int | None
    leader_epoch: int = -1
    note: str = ""


def logs(disk: Disk, root: str) -> list[ForeignLog]:
    """The logs that say whose they are, and are not Kafka's own."""
    starts = _starts(disk, root)
    found: list[ForeignLog] = []
    for name, meaning in _directories(disk, root):
        path = layout.join(root, name)
        topic_id = topic_id_of(disk, path)
        if topic_id is not None and meaning.topic not in OWN_TOPICS:
            place = (meaning.topic, meaning.partition)
            found.append(ForeignLog(*place, topic_id, starts.get(place, -1), _leader_epoch(disk, path)))
    return [_begun(disk, root, log) for log in found]


def _begun(disk: Disk, root: str, log: ForeignLog) -> ForeignLog:
    """Without a word of the checkpoint, or below its first segment, a log begins with that."""
    names = disk.names(layout.join(root, layout.live_dir(log.topic, log.partition)))
    bases = [
        base for base, suffix in filter(None, map(layout.segment_of, names)) if suffix == layout.LOG_SUFFIX
    ]
    start = max(log.start, min(bases, default=0))
    return ForeignLog(log.topic, log.partition, log.topic_id, start, log.leader_epoch)


def settings(disk: Disk, root: str) -> list[ForeignSetting]:
    """Every change of a topic's setting, oldest first."""
    found: list[ForeignSetting] = []
    for name, meaning in _directories(disk, root):
        if meaning.topic == METADATA_TOPIC:
            for record in _records(disk, layout.join(root, name)):
                setting = _setting(record.value or b"")
                if setting is not None:
                    found.append(setting)
    return found


def producer_ids_end(disk: Disk, root: str) -> int:
    """Every producer id that Kafka gave out, or may have, is below this."""
    found = 0
    for name, meaning in _directories(disk, root):
        if meaning.topic == METADATA_TOPIC:
            for record in _records(disk, layout.join(root, name)):
                found = max(found, _producer_ids_end(record.value or b""))
    return found


def positions(disk: Disk, root: str) -> list[ForeignPosition]:
    """Every commit of every group, oldest first for each of them."""
    found: list[ForeignPosition] = []
    for name, meaning in _directories(disk, root):
        if meaning.topic == OFFSETS_TOPIC:
            for record in _records(disk, layout.join(root, name)):
                position = _position(record)
                if position is not None:
                    found.append(position)
    return found


def _directories(disk: Disk, root: str) -> Iterator[tuple[str, LogDir]]:
    for name in disk.names(root):
        meaning = layout.log_dir(name)
        if meaning is not None and meaning.role is Role.LIVE and disk.is_dir(layout.join(root, name)):
            yield name, meaning


def _starts(disk: Disk, root: str) -> dict[tuple[str, int], int]:
    path = layout.join(root, layout.LOG_STARTS)
    if not disk.exists(path):
        return {}
    found: dict[tuple[str, int], int] = {}
    for line in read_whole(disk, path).decode("utf-8", "replace").splitlines()[2:]:
        words = line.split()
        if len(words) == 3 and words[1].isdigit() and words[2].isdigit():
            found[words[0], int(words[1])] = int(words[2])
    return found


def _leader_epoch(disk: Disk, directory: str) -> int:
    """The last one: leaders that come go on from it."""
    path = layout.join(directory, EPOCHS)
    if not disk.exists(path):
        return 0
    lines = read_whole(disk, path).decode("utf-8", "replace").splitlines()[2:]
    return max((int(line.split()[0]) for line in lines if line and line.split()[0].isdigit()), default=0)


def _records(disk: Disk, directory: str) -> Iterator[Record]:
    """The records of a log that count: committed ones, in their order, up to where it is torn."""
    paths = [
        layout.join(directory, name)
        for name in disk.names(directory)
        if (found := layout.segment_of(name)) is not None and found[1] == layout.LOG_SUFFIX
    ]
    undone = _undone(disk, paths)
    for path in paths:
        file = disk.open(path)
        try:
            for _, batch in walk(file, position=0, end=file.size()):
                is_undone = any(
                    producer_id == batch.producer_id and first <= batch.base_offset <= last
                    for producer_id, first, last in undone
                )
                if not batch.is_control and not (batch.is_transactional and is_undone):
                    yield from _sound(batch.records())
        finally:
            file.close()


def _sound(records: Iterator[Record]) -> Iterator[Record]:
    try:
        yield from records
    except (CorruptBatch, InvalidRecord):
        return


def _undone(disk: Disk, paths: list[str]) -> list[tuple[int, int, int]]:
    """(producer id, first, last offset) of transactions that were aborted, or never ended."""
    found = Transactions()
    end = 0
    for path in paths:
        file = disk.open(path)
        try:
            for _, batch in walk(file, position=0, end=file.size()):
                found.note(batch, base=batch.base_offset, settled=batch.offset_end)
                end = batch.offset_end
        finally:
            file.close()
    left = [(producer_id, first, end) for producer_id, first in found.open_at(end)]
    return [*((each.producer_id, each.first, each.last) for each in found.undone), *left]


class _Bytes:
    """What is left of a record's bytes. Shorter than it says: struct.error or IndexError."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, form: str) -> int:
        values = struct.unpack_from(form, self._data, self._at)
        self._at += struct.calcsize(form)
        return int(values[-1])

    def number(self) -> int:
        value = shift = 0
        while True:
            byte = self._data[self._at]
            self._at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def text(self, size: int) -> str:
        self._at += size
        return self._data[self._at - size : self._at].decode()


_TORN = (struct.error, IndexError, UnicodeDecodeError)


def _setting(value: bytes) -> ForeignSetting | None:
    """Frame u v = 1 | kind u v = 4 | version u v | resource i8 | name | key | value, compact texts."""
    data = _Bytes(value)
    try:
        if data.number() != 1 or data.number() != _CONFIG_RECORD:
            return None
        data.number()
        if data.take(">b") != _TOPIC:
            return None
        topic, name, size = data.text(data.number() - 1), data.text(data.number() - 1), data.number()
        return ForeignSetting(topic, name, data.text(size - 1) if size else None)
    except _TORN:
        return None


def _producer_ids_end(value: bytes) -> int:
    """Frame u v = 1 | kind u v = 15 | version u v | broker i32 | its epoch i64 | next producer id i64."""
    data = _Bytes(value)
    try:
        if data.number() != 1 or data.number() != _PRODUCER_IDS_RECORD:
            return 0
        data.number()
        data.take(">iq")
        return data.take(">q")
    except _TORN:
        return 0


def _position(record: Record) -> ForeignPosition | None:
    """Key: version i16 | group | topic | partition i32. Value: version i16 | offset i64 | epoch i32 | note | times."""
    key, value = _Bytes(record.key or b""), _Bytes(record.value or b"")
    try:
        if key.take(">h") not in _OFFSET_KEYS:
            return None
        group, topic = key.text(key.take(">h")), key.text(key.take(">h"))
        partition = key.take(">i")
        if record.value is None:
            return ForeignPosition(group, topic, partition, None)
        version = value.take(">h")
        offset = value.take(">q")
        epoch = value.take(">i") if version >= 3 else -1
        # Version 4 has its texts in the compact form.
        size = value.take(">h") if version <= 3 else value.number() - 1
        return ForeignPosition(group, topic, partition, offset, epoch, value.text(size))
    except _TORN:
        return None
