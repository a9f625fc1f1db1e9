import tracemalloc
from contextlib import suppress

import cramjam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onelog.binary.errors import BinaryError
from onelog.binary.snappy_frames import OPENING, compress_frames, decompress_frames

MIB = 1 << 20
payloads = st.one_of(
    st.binary(max_size=200), st.builds(bytes.__mul__, st.binary(max_size=9), st.integers(0, 30_000))
)
# Opened, and the beginning of a compressed chunk of 31 bytes.
TORN = bytes.fromhex("ff060000734e61507059001f0000")


@settings(max_examples=60, deadline=None)
@given(payloads)
def test_what_was_framed_comes_back_within_exactly_its_size(data: bytes) -> None:
    packed = compress_frames(data)
    assert decompress_frames(memoryview(packed), bytes_max=len(data)) == data
    assert bytes(cramjam.snappy.decompress(packed)) == data or not data


@settings(max_examples=60, deadline=None)
@given(payloads.filter(bool))
def test_one_byte_more_than_allowed_is_refused(data: bytes) -> None:
    with pytest.raises(BinaryError, match="once decompressed"):
        decompress_frames(compress_frames(data), bytes_max=len(data) - 1)


def test_a_bomb_is_refused_before_it_takes_memory() -> None:
    bomb = compress_frames(bytes(64 * MIB))
    tracemalloc.start()
    try:
        with pytest.raises(BinaryError, match=f"at most {MIB // 4} once decompressed"):
            decompress_frames(bomb, bytes_max=MIB // 4)
        assert tracemalloc.get_traced_memory()[1] < MIB
    finally:
        tracemalloc.stop()


def test_a_chunk_that_claims_more_than_a_chunk_holds_is_refused() -> None:
    block = bytes(cramjam.snappy.compress_raw(bytes(MIB)))
    chunk = b"\x00" + (len(block) + 4).to_bytes(3, "little") + bytes(4) + block
    with pytest.raises(BinaryError, match="65536 in a chunk"):
        decompress_frames(OPENING + chunk, bytes_max=2 * MIB)


def test_streams_that_follow_each_other_count_as_one_and_padding_as_nothing() -> None:
    padding = b"\xfe\x03\x00\x00abc"
    packed = compress_frames(b"one") + padding + compress_frames(b"two")
    assert decompress_frames(packed, bytes_max=6) == b"onetwo"


@pytest.mark.parametrize(
    ("packed", "found"),
    [
        (b"", "no opening chunk"),
        (b"\x03abc", "no opening chunk"),
        (TORN, "the data ends early"),
        (OPENING + b"\x00\x01", "the data ends early"),
        (OPENING + b"\x01\x03\x00\x00abc", "without its checksum"),
        (OPENING + b"\x01\x05\x00\x00abcde", "wrong checksum"),
        (OPENING + b"\x02\x00\x00\x00", "a chunk of kind 02"),
        (OPENING + b"\xff\x03\x00\x00abc", "an opening chunk of another kind"),
    ],
)
def test_what_is_no_framed_snappy_is_refused(packed: bytes, found: str) -> None:
    with pytest.raises(BinaryError, match=found):
        decompress_frames(packed, bytes_max=MIB)


@settings(max_examples=200, deadline=None)
@given(st.binary(min_size=1, max_size=200), st.data())
def test_a_spoilt_byte_is_noticed_or_makes_padding_of_its_chunk(data: bytes, draw: st.DataObject) -> None:
    packed = bytearray(compress_frames(data))
    at = draw.draw(st.integers(0, len(packed) - 1))
    packed[at] ^= draw.draw(st.integers(1, 255))
    with suppress(BinaryError):
        assert decompress_frames(packed, bytes_max=2 * len(data)) in (data, b"")
