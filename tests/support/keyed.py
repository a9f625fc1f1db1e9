"""Small batches of records with keys, for what is compacted."""

from collections.abc import Mapping, Sequence

from onelog.binary.compression import Codec
from onelog.records.batch import Batch
from onelog.records.record import Record
from onelog.storage.log import PartitionLog
from onelog.storage.rewrite import Compaction, Steps


def keyed(
    *pairs: str,
    codec: Codec = Codec.NONE,
    timestamp_ms: int = 1000,
    producer_id: int = -1,
    sequence: int = -1,
    transactional: bool = False,
) -> Batch:
    """One batch of "key=value" each; "key" alone is a tombstone."""
    records = [_record(pair, timestamp_ms) for pair in pairs]
    return Batch.build(
        records,
        codec=codec,
        producer_id=producer_id,
        producer_epoch=0 if producer_id >= 0 else -1,
        base_sequence=sequence,
        transactional=transactional,
    )


def _record(pair: str, timestamp_ms: int) -> Record:
    key, equals, value = pair.partition("=")
    return Record(key.encode(), value.encode() if equals else None, timestamp_ms)


def pairs_of(batches: Sequence[Batch]) -> dict[int, str]:
    """The records' offsets and what they say, without markers."""
    return {
        offset: _said(record)
        for batch in batches
        if not batch.is_control
        for offset, record in batch.numbered()
    }


def _said(record: Record) -> str:
    key = (record.key or b"").decode()
    return key if record.value is None else f"{key}={record.value.decode()}"


def all_batches(log: PartitionLog) -> list[Batch]:
    """Everything that is visible, read piece by piece as readers do."""
    found: list[Batch] = []
    offset = log.marks.start
    while batches := log.read(offset, bytes_max=200, offset_max=log.visible):
        found += batches
        offset = batches[-1].offset_end
    return found


def table_of(pairs: Mapping[int, str]) -> dict[str, str | None]:
    """What a reader that keeps the last value of each key has in the end."""
    table: dict[str, str | None] = {}
    for _, pair in sorted(pairs.items()):
        key, equals, value = pair.partition("=")
        if equals:
            table[key] = value
        else:
            table.pop(key, None)
    return table


def ran(compaction: Compaction) -> None:
    """All of a pass, in one go."""
    run_steps(compaction.steps())


def run_steps(steps: Steps) -> None:
    for act in steps:
        if act is not None:
            act()
