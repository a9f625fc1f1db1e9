import pytest

from onelog.client.kafka.partitioner import Partitioner, murmur2, partition_of


# The values that Kafka's own Java client gives (org.apache.kafka.common.utils.Utils.murmur2), as
# its test states them; negative there, because Java has no unsigned int.
@pytest.mark.parametrize(
    ("key", "hash"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_a_key_hashes_as_in_the_java_client(key: bytes, hash: int) -> None:
    assert murmur2(key) == hash & 0xFFFFFFFF


def test_a_key_always_goes_to_the_same_partition() -> None:
    assert partition_of(b"foobar", 7) == (-790332482 & 0x7FFFFFFF) % 7
    assert {partition_of(str(n).encode(), 3) for n in range(100)} == {0, 1, 2}


def test_records_without_keys_take_turns() -> None:
    partitioner = Partitioner()
    assert [partitioner.next_without_key(3) for _ in range(4)] == [0, 1, 2, 0]
