import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import cramjam
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from onelog.binary.compression import Codec, compress, decompress, snappy_block
from onelog.binary.errors import BinaryError

COMPRESSING = [codec for codec in Codec if codec is not Codec.NONE]
# Those whose frames say where they end.
FRAMED = [Codec.GZIP, Codec.LZ4, Codec.ZSTD]
MIB = 1 << 20

payloads = st.one_of(
    st.binary(max_size=200), st.builds(bytes.__mul__, st.binary(max_size=9), st.integers(0, 30_000))
)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(list(Codec)), payloads)
def test_what_was_compressed_comes_back_within_exactly_its_size(codec: Codec, data: bytes) -> None:
    packed = compress(codec, memoryview(data))
    assert decompress(codec, packed, bytes_max=len(data)) == data
    assert decompress(codec, memoryview(packed), bytes_max=len(data) + MIB) == data


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(list(Codec)), payloads.filter(bool))
def test_one_byte_more_than_allowed_is_refused(codec: Codec, data: bytes) -> None:
    with pytest.raises(BinaryError, match="once decompressed"):
        decompress(codec, compress(codec, data), bytes_max=len(data) - 1)


@pytest.mark.parametrize("codec", COMPRESSING)
def test_a_bomb_is_refused_before_it_takes_memory(codec: Codec) -> None:
    bomb = compress(codec, bytes(64 * MIB))
    tracemalloc.start()
    try:
        with pytest.raises(BinaryError, match=r"once decompressed"):
            decompress(codec, bomb, bytes_max=MIB // 4)
        assert tracemalloc.get_traced_memory()[1] < MIB
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("codec", COMPRESSING)
def test_a_claim_alone_takes_no_memory(codec: Codec) -> None:
    # A snappy block and a zstd frame whose headers say 1 GiB, with next to nothing behind.
    liars = {
        Codec.SNAPPY: bytes.fromhex("8080808004") + b"abc",
        Codec.ZSTD: bytes.fromhex("28b52ffda000000040") + bytes.fromhex("010000"),
    }
    tracemalloc.start()
    try:
        with pytest.raises(BinaryError):
            decompress(codec, liars.get(codec, b"\x1f\x8b"), bytes_max=2 << 30)
        assert tracemalloc.get_traced_memory()[1] < MIB
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("codec", FRAMED)
def test_frames_that_follow_each_other_count_as_one(codec: Codec) -> None:
    two = compress(codec, b"one ") + compress(codec, b"") + compress(codec, b"two")
    assert decompress(codec, two, bytes_max=7) == b"one two"
    with pytest.raises(BinaryError, match="once decompressed"):
        decompress(codec, two, bytes_max=6)


@pytest.mark.parametrize("codec", FRAMED)
def test_garbage_behind_a_frame_is_refused(codec: Codec) -> None:
    with pytest.raises(BinaryError):
        decompress(codec, compress(codec, b"whole") + b"surplus!", bytes_max=100)


@pytest.mark.parametrize("codec", FRAMED)
def test_data_cut_anywhere_is_refused(codec: Codec) -> None:
    packed = compress(codec, b"all of this, or nothing " * 5)
    for end in range(len(packed)):
        with pytest.raises(BinaryError):
            decompress(codec, packed[:end], bytes_max=1000)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(COMPRESSING), st.binary(max_size=60), st.integers(0, 40))
def test_nonsense_is_refused_or_small_and_never_anything_else(codec: Codec, tail: bytes, kept: int) -> None:
    try:
        found = decompress(codec, compress(codec, b"a beginning" * 3)[:kept] + tail, bytes_max=500)
    except BinaryError:
        return
    assert len(found) <= 500


def test_snappy_is_read_as_one_raw_block_too() -> None:
    data = b"as librdkafka sends it" * 10
    assert decompress(Codec.SNAPPY, bytes(cramjam.snappy.compress_raw(data)), bytes_max=len(data)) == data


@pytest.mark.parametrize("broken", ["0000", "7fffffff", "ffffffff", "00000005aabb"])
def test_a_snappy_frame_with_a_wrong_length_is_refused(broken: str) -> None:
    head = compress(Codec.SNAPPY, b"")
    with pytest.raises(BinaryError):
        decompress(Codec.SNAPPY, head + bytes.fromhex(broken), bytes_max=100)


def test_zstd_is_read_from_a_stream_that_did_not_know_its_size() -> None:
    stream = zstandard.ZstdCompressor(write_checksum=True).compressobj()
    packed = stream.compress(b"in pieces " * 1000) + stream.flush()
    skipped = bytes.fromhex("502a4d1803000000") + b"abc"
    assert decompress(Codec.ZSTD, skipped + packed, bytes_max=10_000) == b"in pieces " * 1000
    with pytest.raises(BinaryError, match="once decompressed"):
        decompress(Codec.ZSTD, packed, bytes_max=9_999)


def test_the_bytes_begin_as_the_clients_of_kafka_expect_them() -> None:
    begins = {codec: compress(codec, b"hello").hex() for codec in COMPRESSING}
    assert begins[Codec.GZIP].startswith("1f8b08")
    assert begins[Codec.SNAPPY].startswith("82534e41505059000000000100000001")
    assert begins[Codec.LZ4].startswith("04224d1860")
    assert begins[Codec.ZSTD].startswith("28b52ffd")


def test_a_level_is_passed_on() -> None:
    data = bytes(range(256)) * 500
    for codec in FRAMED:
        assert decompress(codec, compress(codec, data, level=1), bytes_max=len(data)) == data


def test_threads_do_not_meet() -> None:
    data = b"the same for all" * 5000
    with ThreadPoolExecutor(4) as threads:
        for codec in COMPRESSING:
            packed = compress(codec, data)
            found = threads.map(lambda _, c=codec, p=packed: decompress(c, p, bytes_max=len(data)), range(20))
            assert set(found) == {data}


@given(st.binary(max_size=200_000))
@settings(max_examples=30, deadline=None)
def test_a_block_of_snappy_stands_alone(data: bytes) -> None:
    block = snappy_block(data)
    assert not block.startswith(bytes.fromhex("82534e41"))
    assert decompress(Codec.SNAPPY, block, bytes_max=len(data)) == data
