"""`onelog inspect`: what is in a data directory, the directory of a log, or one of its files.

Only looks, so a broker may be running: what it is writing just then shows as bytes that are
no whole batch yet. Says what is there, not whether it is right; `onelog verify` does. Of a
directory, `pending` is what the commit log has and the log's own segments have not yet.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from onelog.cli.formats import PRINTERS, Placed, Text, time_text
from onelog.cli.output import CommandFailed, json_line, table
from onelog.errors import CorruptBatch, InvalidRecord
from onelog.records.batch import Batch
from onelog.storage import ends as roots
from onelog.storage import layout, snapshot
from onelog.storage.disk import RealDisk, StoreRefused
from onelog.storage.frames import BLOCK_BYTES, LogKey
from onelog.storage.home import topic_id_of
from onelog.storage.index import OFFSET_ENTRY, TIME_ENTRY
from onelog.storage.layout import LogDir
from onelog.storage.pending import Pending, pending
from onelog.storage.replay import frames_in
from onelog.storage.walk import is_intact, walk

_DISK = RealDisk(read_only=True)
Row = dict[str, Any]


@dataclass
class _Seen:
    """What a walk through one segment has met."""

    base: int
    end: int
    batches: int = 0
    records: int = 0
    newest_ms: int = -1
    bytes_whole: int = 0


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "path", metavar="PATH", help="a data directory, the directory of a log, or a file in it"
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--batches", action="store_true", help="every batch, by its header")
    what.add_argument("--records", action="store_true", help="every record")
    parser.add_argument("--json", action="store_true", help="one object a line")


def run(args: argparse.Namespace) -> int:
    """Do it."""
    path: str = args.path.rstrip("/") or "/"
    if not _DISK.exists(path):
        raise CommandFailed(f"{path}: not there.")
    if not _DISK.is_dir(path):
        return _file(path, args)
    if _is_data(path):
        return _shown(_logs(path), args)
    segments = _segments(path)
    if not segments:
        raise CommandFailed(
            f"{path}: neither logs nor segments in it. Expected a directory of onelog or Kafka."
        )
    if args.batches or args.records:
        for segment in segments:
            _file(segment, args)
        return 0
    return _shown((_segment_row(segment) for segment in segments), args)


def _is_data(path: str) -> bool:
    return _DISK.exists(layout.join(path, layout.FORMAT)) or any(
        layout.log_dir(name) and _DISK.is_dir(layout.join(path, name)) for name in _DISK.names(path)
    )


def _segments(directory: str) -> list[str]:
    names = (name for name in _DISK.names(directory) if name.endswith(layout.LOG_SUFFIX))
    return [layout.join(directory, name) for name in names if layout.segment_of(name)]


def _logs(path: str) -> Iterator[Row]:
    waiting = _pending(path)
    for name in _DISK.names(path):
        directory = layout.join(path, name)
        meaning = layout.log_dir(name)
        if meaning is None or not _DISK.is_dir(directory):
            continue
        segments = _segments(directory)
        last = _walked(segments[-1]) if segments else _Seen(base=0, end=0)
        topic_id = topic_id_of(_DISK, directory)
        yield {
            "directory": name,
            "topic": meaning.topic,
            "partition": meaning.partition,
            "role": meaning.role.value,
            "topic_id": None if topic_id is None else str(topic_id),
            "segments": len(segments),
            "first": _base(segments[0].rpartition("/")[2]) if segments else 0,
            "end": last.end,
            "bytes": sum(_size(segment) for segment in segments),
            "pending": 0 if topic_id is None else _pending_records(waiting, topic_id, meaning.partition),
        }


def _pending(path: str) -> Pending:
    """What is in the commit log only. While a broker writes, it may be torn anywhere: then nothing is said."""
    try:
        return pending(_DISK, path)
    except StoreRefused as refusal:
        print(refusal, file=sys.stderr)
        return Pending()


def _pending_records(waiting: Pending, topic_id: UUID, partition: int) -> int:
    entries = waiting.tails.get(LogKey(topic_id, partition), [])
    return sum(entry.next - entry.base for entry in entries)


def _ends_rows(path: str) -> Iterator[Row]:
    """The root, log by log; of one without logs, nothing but the line for itself."""
    ends = roots.decoded(_content(path), path=path)
    for key, said in ends.logs.items():
        yield {
            "topic_id": str(key.topic_id),
            "partition": key.partition,
            "active": said.base,
            "length": said.length,
            "next": said.next,
            "refused": said.is_refused,
            "epoch": f"{ends.epoch:016x}",
            "first_frame": ends.first,
            "clean": ends.is_clean,
        }


def _frame_rows(path: str) -> Iterator[Row]:
    """Every frame that stands whole in a commit log file, whether it still matters or not."""
    for position, frame in frames_in(_DISK, path, block_bytes=BLOCK_BYTES):
        for entry in frame.entries:
            yield {
                "position": position,
                "lsn": frame.lsn,
                "epoch": f"{frame.epoch:016x}",
                "durable": frame.durable,
                "topic_id": str(entry.key.topic_id),
                "partition": entry.key.partition,
                "first": entry.base,
                "end": entry.next,
                "bytes": entry.size,
            }


def _segment_row(path: str) -> Row:
    seen = _walked(path)
    size = _size(path)
    return {
        "segment": path.rpartition("/")[2],
        "first": seen.base,
        "end": seen.end,
        "batches": seen.batches,
        "records": seen.records,
        "bytes": size,
        "bytes_not_whole": size - seen.bytes_whole,
        "newest_ms": seen.newest_ms,
    }


def _file(path: str, args: argparse.Namespace) -> int:
    name = path.rpartition("/")[2]
    if name == layout.ENDS:
        return _shown(_ends_rows(path), args)
    if layout.commit_slot(name) is not None or layout.tail_key(name) is not None:
        return _shown(_frame_rows(path), args)
    if name.endswith(layout.INDEX_SUFFIX):
        entries = OFFSET_ENTRY.iter_unpack(_whole_entries(path, OFFSET_ENTRY.size))
        return _shown(({"offset": _base(name) + r, "position": p} for r, p in entries), args)
    if name.endswith(layout.TIME_INDEX_SUFFIX):
        times = TIME_ENTRY.iter_unpack(_whole_entries(path, TIME_ENTRY.size))
        return _shown(({"timestamp_ms": t, "offset": _base(name) + r} for t, r in times), args)
    if name.endswith(layout.SNAPSHOT_SUFFIX):
        return _shown(_producers(path), args)
    if not name.endswith(layout.LOG_SUFFIX):
        raise CommandFailed(
            f"{path}: expected a file whose name ends in .log, .index, .timeindex or .snapshot, "
            f"{layout.ENDS}, {layout.COMMIT_PREFIX}0 or the like."
        )
    if args.records:
        return _records(path, args)
    if args.batches:
        return _shown(_batch_rows(path), args)
    return _shown(iter([_segment_row(path)]), args)


def _batch_rows(path: str) -> Iterator[Row]:
    for position, batch in _batches(path):
        yield {
            "first": batch.base_offset,
            "last": batch.last_offset,
            "position": position,
            "bytes": batch.size,
            "records": batch.record_count,
            "codec": batch.codec.name.lower(),
            "time": batch.timestamp_type.name.lower(),
            "newest_ms": batch.max_timestamp_ms,
            "leader_epoch": batch.leader_epoch,
            "producer": batch.producer_id,
            "epoch": batch.producer_epoch,
            "sequence": batch.base_sequence,
            "transactional": batch.is_transactional,
            "control": batch.is_control,
            "checksum": "right" if is_intact(batch) else "wrong",
        }


def _records(path: str, args: argparse.Namespace) -> int:
    meaning = layout.log_dir(path.rpartition("/")[0].rpartition("/")[2]) or LogDir("?", -1)
    printer, text = PRINTERS["json" if args.json else "full"], Text()
    out = sys.stdout.buffer
    for position, batch in _batches(path):
        try:
            for offset, record in batch.numbered():
                out.write(printer(Placed(meaning.topic, meaning.partition, offset, record), text))
        except (CorruptBatch, InvalidRecord) as error:
            raise CommandFailed(f"{path} at byte {position}: {error}") from error
    out.flush()
    return 0


def _producers(path: str) -> Iterator[Row]:
    known = snapshot.decoded(_content(path))
    if known is None:
        raise CommandFailed(f"{path}: its checksum or form is not right; expected a snapshot of producers.")
    for producer_id, producer in known.items():
        last = producer.seen[-1]
        yield {
            "producer": producer_id,
            "epoch": producer.epoch,
            "last_sequence": last.last_sequence,
            "last_offset": last.next - 1,
            "heard_ms": producer.heard_ms,
        }


def _walked(path: str) -> _Seen:
    base = _base(path.rpartition("/")[2])
    seen = _Seen(base=base, end=base)
    for position, batch in _batches(path):
        seen.end = batch.offset_end
        seen.batches += 1
        seen.records += batch.record_count
        seen.newest_ms = max(seen.newest_ms, batch.max_timestamp_ms)
        seen.bytes_whole = position + batch.size
    return seen


def _batches(path: str) -> Iterator[tuple[int, Batch]]:
    file = _DISK.open(path)
    try:
        yield from walk(file, position=0, end=file.size())
    finally:
        file.close()


def _content(path: str) -> bytes:
    file = _DISK.open(path)
    try:
        return file.pread(0, file.size())
    finally:
        file.close()


def _whole_entries(path: str, size: int) -> bytes:
    content = _content(path)
    return content[: len(content) // size * size]


def _size(path: str) -> int:
    file = _DISK.open(path)
    try:
        return file.size()
    finally:
        file.close()


def _base(name: str) -> int:
    found = layout.segment_of(name)
    if found is None:
        raise CommandFailed(f"{name}: expected 20 digits before the suffix.")
    return found[0]


def _shown(rows: Iterator[Row], args: argparse.Namespace) -> int:
    if args.json:
        for row in rows:
            print(json_line(row))
        return 0
    found = list(rows)
    if found:
        header = [name.removesuffix("_ms").replace("_", " ").upper() for name in found[0]]
        print(table([[_cell(n, v) for n, v in row.items()] for row in found], header=header))
    return 0


def _cell(name: str, value: Any) -> str:
    if name.endswith("_ms"):
        return time_text(value) if value >= 0 else "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value is None else str(value)
