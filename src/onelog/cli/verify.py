"""`onelog verify`: is a data directory as a broker leaves it, down to every checksum.

A line on stdout for each finding, and exit code 1; what the next start puts right by itself
is a note on stderr, and so is what is in the commit log only. Changes nothing. Takes the
directory's lock, so that no broker is at work.
"""

import argparse
import sys

from onelog.broker.topics import rows as topic_rows
from onelog.broker.topics.rows import Loaded, PartitionRow
from onelog.cli.output import CommandFailed, Progress
from onelog.errors import DiskFailed
from onelog.storage import layout
from onelog.storage.catalog import CatalogFile
from onelog.storage.disk import RealDisk, StoreRefused
from onelog.storage.ends import UNSAID, Said
from onelog.storage.frames import LogKey
from onelog.storage.home import is_half_made, topic_id_of
from onelog.storage.layout import LogDir, Role
from onelog.storage.pending import Pending, pending
from onelog.storage.verify import Verdict, check_log

_DISK = RealDisk(read_only=True)
_NEW = PartitionRow(log_start=0, leader_epoch=0)


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("dir", metavar="DIR", help="a data directory whose broker is stopped")


def run(args: argparse.Namespace) -> int:
    """Do it."""
    path: str = args.dir.rstrip("/") or "/"
    if not _DISK.exists(layout.join(path, layout.FORMAT)):
        raise CommandFailed(f"{path}: no {layout.FORMAT} in it; expected a data directory of onelog.")
    try:
        lock = _DISK.lock(layout.join(path, layout.LOCK))
    except StoreRefused as refusal:
        raise CommandFailed(str(refusal)) from refusal
    try:
        verdict = _verified(path)
    finally:
        lock.release()
    for finding in verdict.findings:
        print(finding)
    for note in verdict.notes:
        print(note, file=sys.stderr)
    looked_at = f"{verdict.segments} segments, {verdict.batches} batches, {verdict.bytes} bytes"
    Progress().end(f"{looked_at}: {len(verdict.findings) or 'no'} findings")
    return 1 if verdict.findings else 0


def _verified(path: str) -> Verdict:
    verdict = Verdict()
    _check_format(path, verdict)
    catalog_path = layout.join(path, layout.CATALOG)
    try:
        catalog = CatalogFile.look(catalog_path, has_pending=_size(catalog_path + "-wal") > 0)
        try:
            for fault in catalog.faults():
                verdict.find(catalog_path, fault, "a sound SQLite file")
            loaded = topic_rows.load(catalog.rows)
        finally:
            catalog.close()
    except (StoreRefused, DiskFailed) as refusal:
        verdict.findings.append(str(refusal))
        return verdict
    try:
        waiting = pending(_DISK, path)
    except StoreRefused as refusal:
        verdict.findings.append(str(refusal))
        return verdict
    was_clean = _DISK.exists(layout.join(path, layout.CLEAN_STOP))
    topics = loaded.state.by_id
    _check_pending(path, waiting, loaded, verdict)
    for topic_id, topic in topics.items():
        for partition in range(topic.partition_count):
            row = loaded.partitions.get((topic_id, partition), _NEW)
            key = LogKey(topic_id, partition)
            end = waiting.end_of(key)
            directory = layout.join(path, layout.live_dir(topic.name, partition))
            if _DISK.exists(directory) and topic_id_of(_DISK, directory) == topic_id:
                check_log(
                    _DISK,
                    directory,
                    start=row.log_start,
                    was_clean=was_clean,
                    verdict=verdict,
                    said=_said(waiting, key),
                    end=end,
                )
            elif row.log_start > end:
                verdict.find(
                    directory, f"no directory of topic {topic_id}", f"segments up to {row.log_start}"
                )
    owners = {
        layout.live_dir(topic.name, partition): topic_id
        for topic_id, topic in topics.items()
        for partition in range(topic.partition_count)
    }
    for name in _DISK.names(path):
        directory = layout.join(path, name)
        if _DISK.is_dir(directory):
            found = topic_id_of(_DISK, directory)
            if found is None or found != owners.get(name):
                _judge_other(directory, layout.log_dir(name), found in loaded.state.removed, verdict)
    return verdict


def _said(waiting: Pending, key: LogKey) -> Said | None:
    """What the root says of a log; None where it has to be found out, as at its adoption."""
    if waiting.ends is None:
        return None
    said = waiting.ends.logs.get(key, Said(0, 0, 0))
    return None if said == UNSAID else said


def _check_pending(path: str, waiting: Pending, loaded: Loaded, verdict: Verdict) -> None:
    """What is in the commit log only: a program of others would miss it."""
    for key, entries in waiting.tails.items():
        topic = loaded.state.by_id.get(key.topic_id)
        if topic is None:
            if key.topic_id not in loaded.state.removed:
                found = f"records of log {key.partition} of topic {key.topic_id}"
                verdict.find(f"{path}: the commit log", found, "topics that the catalog knows")
            continue
        first, end = entries[0].base, entries[-1].next
        log = layout.live_dir(topic.name, key.partition)
        verdict.notes.append(
            f"{log}: offsets {first} to {end} are in the commit log only; the next start settles them."
        )
        said = _said(waiting, key)
        if said is not None and first > said.next:
            verdict.find(f"{path}: the commit log", f"{log} from offset {first} on", str(said.next))
    for key, said in () if waiting.ends is None else waiting.ends.logs.items():
        if said.is_refused and key.topic_id in loaded.state.by_id:
            log = layout.live_dir(loaded.state.by_id[key.topic_id].name, key.partition)
            verdict.find(f"{path}/{log}", "a log that was refused at a start", "one that serves")


def _check_format(path: str, verdict: Verdict) -> None:
    file = _DISK.open(layout.join(path, layout.FORMAT))
    try:
        found = file.pread(0, 4096)
    finally:
        file.close()
    if found not in (layout.FORMAT_TEXT, layout.FIRST_FORM_TEXT):
        verdict.find(layout.join(path, layout.FORMAT), repr(found[:60]), repr(layout.FORMAT_TEXT))


def _size(path: str) -> int:
    if not _DISK.exists(path):
        return 0
    file = _DISK.open(path)
    try:
        return file.size()
    finally:
        file.close()


def _judge_other(directory: str, meaning: LogDir | None, is_removed: bool, verdict: Verdict) -> None:
    if is_removed or (meaning is not None and meaning.role is Role.DELETE):
        verdict.notes.append(f"{directory}: of a deleted topic; the next start removes it.")
    elif meaning is not None and meaning.role is Role.LIVE and is_half_made(_DISK, directory):
        verdict.notes.append(f"{directory}: half-made; the next start or write sees to it.")
    else:
        verdict.find(directory, "a directory that belongs to no topic", "directories of the catalog's topics")
