import pytest

from onelog.client.fluvio.partitioner import partition_of, siphash


@pytest.mark.parametrize(
    ("key", "partition"), [(b"a", 1), (b"b", 0), (b"c", 2), (b"d", 0), (b"", 2), (b"hello", 2)]
)
def test_keys_go_where_fluvios_own_producer_puts_them(key: bytes, partition: int) -> None:
    """Seen of the wheel 0.21.0, with three partitions."""
    assert partition_of(key, 3) == partition


def test_the_hash_is_siphash_2_4() -> None:
    # Of no bytes and of eight, as other implementations have it.
    assert siphash(b"") == 0x1E924B9D737700D7
    assert siphash(bytes(8)) == 0xE849E8BB6FFE2567


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 255, 256, 1000])
def test_any_length_has_a_partition_of(size: int) -> None:
    assert 0 <= partition_of(bytes(size), 7) < 7
