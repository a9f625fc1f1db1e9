"""Apache Kafka's DumpLogSegments over directories of ours: it finds nothing."""

from pathlib import Path

import pytest

from onelog.binary.compression import Codec
from onelog.records.batch import Batch
from onelog.records.control import Marker, Verdict
from tests.support.brokers import Desk, batch, numbered, open_desk
from tests.support.kafka_jars import NEEDS_JARS, dumped
from tests.support.virtual_clock import run

pytestmark = [pytest.mark.real, pytest.mark.interop, NEEDS_JARS]


def _codecs(words: int) -> list[Batch]:
    return [batch(*(f"{codec.name} {n}" for n in range(words)), codec=codec) for codec in Codec]


def _transactional(sequence: int, *words: str, producer_id: int) -> Batch:
    return batch(
        *words, producer_id=producer_id, producer_epoch=0, base_sequence=sequence, transactional=True
    )


async def _write(desk: Desk, *, rounds: int) -> None:
    """Every codec, plain and numbered; transactions committed, aborted and left open."""
    for number in range(rounds):
        await desk.append(*_codecs(20))
        await desk.append(numbered(number * 2, "n", "m", producer_id=5))
        await desk.append(_transactional(number, f"t{number}", producer_id=7))
        await desk.append(_transactional(number, f"u{number}", producer_id=8))
        for producer_id, verdict in ((7, Verdict.ABORTED), (8, Verdict.COMMITTED)):
            await desk.broker.end_transaction(
                "orders", 0, Marker(verdict, 3), producer_id=producer_id, producer_epoch=0
            )
        await desk.settle()
    await desk.append(_transactional(rounds, "open", producer_id=7))


def test_a_cleanly_closed_directory_of_ours_is_right_in_every_file(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic(settings={"segment.bytes": "4096", "index.interval.bytes": "512"})
            await _write(desk, rounds=12)

    run(story())
    directory = tmp_path / "orders-0"
    names = [path.name for path in directory.iterdir()]
    for suffix in (".log", ".index", ".timeindex", ".txnindex", ".snapshot"):
        assert sum(name.endswith(suffix) for name in names) > 2, suffix
    said = dumped(directory, "--print-data-log")
    for codec in Codec:
        assert f"compresscodec: {codec.name.lower()}" in said
        assert f"payload: {codec.name} 19" in said
    assert said.count("endTxnMarker: ABORT") == 12
    assert said.count("endTxnMarker: COMMIT") == 12
    assert said.count("producerId: 7 firstOffset:") == 12
    (last,) = [
        line for line in said.splitlines() if "producerId: 7" in line and "currentTxnFirstOffset" in line
    ][-1:]
    assert "currentTxnFirstOffset: OptionalLong[" in last


def test_the_tools_words_are_read_and_not_its_exit_code(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.append(batch("a"), batch("b"))

    run(story())
    log = tmp_path / "orders-0" / "00000000000000000000.log"
    data = bytearray(log.read_bytes())
    data[-1] ^= 1
    log.write_bytes(data)
    with pytest.raises(AssertionError, match="isvalid: false"):
        dumped(tmp_path / "orders-0")
