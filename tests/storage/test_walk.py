"""From batch to batch through a file."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onelog.records.batch import Batch
from onelog.storage.walk import is_intact, walk
from tests.support.simulated_disk import SimulatedDisk, SimulatedFile
from tests.support.small_logs import batch_of

BATCHES = [batch_of("x" * n).renumbered(base_offset=n, leader_epoch=0) for n in range(1, 8)]
CONTENT = b"".join(bytes(b.data) for b in BATCHES)


def _file(content: bytes) -> SimulatedFile:
    file = SimulatedDisk(Random(0)).open("a", create=True)
    file.write_at(0, [content])
    return file


def _walked(content: bytes, *, chunk_bytes: int = 1 << 20, end: int | None = None) -> list[tuple[int, Batch]]:
    return list(walk(_file(content), position=0, end=end or len(content), chunk_bytes=chunk_bytes))


@pytest.mark.parametrize("chunk_bytes", [1, 61, 100, 200, 1 << 20])
def test_every_whole_batch_is_met_however_small_the_looks(chunk_bytes: int) -> None:
    found = _walked(CONTENT, chunk_bytes=chunk_bytes)
    assert [bytes(b.data) for _, b in found] == [bytes(b.data) for b in BATCHES]
    assert all(CONTENT[p : p + b.size] == bytes(b.data) for p, b in found)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, len(CONTENT)), st.sampled_from([80, 1 << 20]))
def test_a_torn_end_ends_the_walk_at_the_last_whole_batch(cut: int, chunk_bytes: int) -> None:
    whole = [b for p, b in _walked(CONTENT) if p + b.size <= cut]
    assert len(_walked(CONTENT[:cut], chunk_bytes=chunk_bytes)) == len(whole)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300))
def test_garbage_ends_the_walk_and_nothing_else(garbage: bytes) -> None:
    found = _walked(CONTENT + garbage)
    assert [bytes(b.data) for _, b in found[: len(BATCHES)]] == [bytes(b.data) for b in BATCHES]


def test_zeroes_end_the_walk() -> None:
    assert len(_walked(CONTENT + bytes(1000))) == len(BATCHES)


def test_a_changed_byte_is_seen_by_the_checksum() -> None:
    data = bytearray(BATCHES[3].data)
    assert is_intact(Batch.of(data))
    data[-1] ^= 1
    assert not is_intact(Batch.of(data))
