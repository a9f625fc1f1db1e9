"""The commit log's bytes: what is whole is found again, what is not is none."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onelog.storage.frames import (
    FILE_HEADER_BYTES,
    FILE_MAGIC,
    FORMAT,
    FRAME_HEADER_BYTES,
    Entry,
    FileHeader,
    LogKey,
    encoded_file_header,
    encoded_frame,
    frame_bytes,
    parsed_file_header,
    parsed_frame,
    parsed_frame_header,
)

BLOCK = 256
KEY = LogKey(UUID(int=5), 3)


def _entry(data: bytes, *, base: int = 0, next: int = 1) -> Entry:
    return Entry(KEY, base, next, [data], len(data))


def _frame(*entries: Entry, lsn: int = BLOCK, durable: int = 7, before: int = 9) -> tuple[bytes, int]:
    buffers, crc = encoded_frame(entries, epoch=1, lsn=lsn, durable=durable, before=before, block_bytes=BLOCK)
    return b"".join(bytes(b) for b in buffers), crc


@given(st.lists(st.binary(max_size=600), min_size=1, max_size=5))
def test_a_frame_is_found_again_as_it_was_written(parts: list[bytes]) -> None:
    entries = [_entry(data, base=n, next=n + 1) for n, data in enumerate(parts)]
    data, crc = _frame(*entries)
    assert len(data) == frame_bytes(entries, block_bytes=BLOCK)
    assert len(data) % BLOCK == 0
    found = parsed_frame(data, block_bytes=BLOCK)
    assert found is not None
    assert (found.lsn, found.end, found.epoch) == (BLOCK, BLOCK + len(data), 1)
    assert (found.durable, found.before, found.crc) == (7, 9, crc)
    assert [(e.key, e.base, e.next, bytes(e.buffers[0])) for e in found.entries] == [
        (KEY, n, n + 1, part) for n, part in enumerate(parts)
    ]


@pytest.mark.parametrize("position", range(0, FRAME_HEADER_BYTES + 100, 7))
def test_a_torn_header_and_a_torn_body_are_no_frame(position: int) -> None:
    data = bytearray(_frame(_entry(b"x" * 100))[0])
    data[position] ^= 1
    assert parsed_frame(data, block_bytes=BLOCK) is None
    assert (parsed_frame_header(data) is None) == (position < FRAME_HEADER_BYTES)


def test_a_frame_whose_last_page_is_there_and_whose_first_is_missing_is_none() -> None:
    data = _frame(_entry(b"x" * 1000))[0]
    assert parsed_frame(bytes(BLOCK) + data[BLOCK:], block_bytes=BLOCK) is None


def test_a_frame_cut_short_is_none() -> None:
    data = _frame(_entry(b"x" * 1000))[0]
    for size in (0, FRAME_HEADER_BYTES - 1, FRAME_HEADER_BYTES, 900):
        assert parsed_frame(data[:size], block_bytes=BLOCK) is None


def test_every_frame_has_another_crc_to_name() -> None:
    assert _frame(_entry(b"a"))[1] != _frame(_entry(b"b"))[1]
    assert _frame(_entry(b"a"))[1] != _frame(_entry(b"a"), lsn=2 * BLOCK)[1]


def test_a_torn_file_header_is_none() -> None:
    header = FileHeader(
        magic=FILE_MAGIC, format=FORMAT, directory=UUID(int=1), epoch=2, number=3, size=4096, start=5
    )
    data = encoded_file_header(header, block_bytes=BLOCK)
    assert len(data) == BLOCK
    assert parsed_file_header(data) == header
    for position in range(FILE_HEADER_BYTES):
        torn = bytearray(data)
        torn[position] ^= 0x10
        assert parsed_file_header(torn) is None


def test_a_header_of_another_form_is_none() -> None:
    header = FileHeader(magic=FILE_MAGIC, format=FORMAT + 1)
    assert parsed_file_header(encoded_file_header(header, block_bytes=BLOCK)) is None
