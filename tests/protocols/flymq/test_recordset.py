from hypothesis import given
from hypothesis import strategies as st

from onelog.binary.compression import Codec
from onelog.protocols.flymq.messages.versions import DOCUMENT, PROGRAMS
from onelog.protocols.flymq.recordset import (
    RECORD_BYTES_MAX,
    Bounds,
    FetchAnswer,
    Fetched,
    Taken,
    batch_of,
    decode_fetched,
    encode_fetched,
    take,
)
from onelog.records.batch import Batch
from onelog.records.record import Header, Record
from tests.support.flymq_wire import fetched


def batches(*values: bytes, base: int = 0, codec: Codec = Codec.NONE) -> list[Batch]:
    records = [Record(key=None, value=value, timestamp_ms=1) for value in values]
    return [Batch.build(records, base_offset=base, codec=codec)]


def taken(
    some: list[Batch],
    offset: int = 0,
    *,
    count: int = 100,
    looks: int = 100,
    size: int = 1 << 20,
    looks_bytes: int = 1 << 30,
) -> Taken:
    found = Taken(offset)
    take(found, some, bounds=Bounds(count, size, looks, looks_bytes))
    return found


def test_a_produced_record_is_one_batch() -> None:
    batch = batch_of(b"k", b"v", timestamp_ms=17)
    assert list(batch.records()) == [Record(b"k", b"v", 17)]


records = st.builds(Fetched, st.integers(0, 2**64 - 1), st.binary(max_size=9), st.binary(max_size=9))


@given(st.lists(records, max_size=5), st.integers(0, 2**64 - 1), st.sampled_from([DOCUMENT, PROGRAMS]))
def test_both_layouts_carry_the_same_records(some: list[Fetched], next_offset: int, form: int) -> None:
    payload = b"".join(encode_fetched(FetchAnswer(some, next_offset), form))
    assert decode_fetched(payload, form) == FetchAnswer(some, next_offset)
    assert fetched(payload, by_document=form == DOCUMENT) == (some, next_offset)


def test_without_records_both_layouts_are_the_same_twelve_bytes() -> None:
    answer = FetchAnswer([], 50)
    assert b"".join(encode_fetched(answer, DOCUMENT)) == b"".join(encode_fetched(answer, PROGRAMS))
    assert b"".join(encode_fetched(answer, PROGRAMS)) == bytes(4) + (50).to_bytes(8, "big")


def test_records_are_taken_from_the_offset_on_until_the_count() -> None:
    found = taken(batches(b"a", b"b", b"c", b"d", base=5), 6, count=2)
    assert [record.offset for record in found.records] == [6, 7]
    assert (found.next_offset, found.is_full) == (8, True)


def test_records_are_taken_over_batches_of_every_codec() -> None:
    some = [b for base, codec in enumerate(Codec) for b in batches(b"x", base=base, codec=codec)]
    found = taken(some)
    assert [record.offset for record in found.records] == list(range(len(Codec)))
    assert not found.is_full


def test_at_least_one_record_comes_however_small_the_bound() -> None:
    found = taken(batches(b"a" * 100, b"b"), size=1)
    assert (len(found.records), found.next_offset, found.is_full) == (1, 1, True)


def test_looks_count_whether_wanted_or_not() -> None:
    found = Taken(0)
    bounds = Bounds(count_max=100, bytes_max=1000, looks_max=4, looks_bytes_max=1000)
    take(found, batches(*[b"no", b"yes"] * 5), bounds=bounds, wanted=lambda key, value: value == b"yes")
    assert ([record.offset for record in found.records], found.next_offset) == ([1, 3], 4)


def test_bytes_that_are_looked_at_count_too_and_one_record_always_is() -> None:
    found = Taken(0)
    bounds = Bounds(count_max=100, bytes_max=1000, looks_max=100, looks_bytes_max=50)
    take(found, batches(*[bytes(20)] * 5), bounds=bounds, wanted=lambda key, value: False)
    assert (found.looked_at, found.next_offset, found.is_full) == (1, 1, True)
    assert taken(batches(bytes(100), b"b"), looks_bytes=50).next_offset == 1


def test_a_first_record_that_no_frame_holds_is_told_with_its_size() -> None:
    found = taken(batches(b"a", bytes(RECORD_BYTES_MAX + 1), b"c"), 1)
    assert (found.records, found.oversized) == ([], (1, RECORD_BYTES_MAX + 1))
    found = taken(batches(b"a", bytes(RECORD_BYTES_MAX + 1), b"c"), 0)
    assert ([record.offset for record in found.records], found.oversized) == ([0], None)


def test_what_flymq_cannot_say_is_left_out_and_counted() -> None:
    some = [
        Batch.build(
            [
                Record(b"", b"v", 1),
                Record(b"k", None, 1),
                Record(None, b"v", 1, (Header("h", b"x"),)),
            ]
        )
    ]
    found = taken(some)
    assert [(record.key, record.value) for record in found.records] == [(b"", b"v"), (b"k", b""), (b"", b"v")]
    assert found.losses == {"empty_key": 1, "null_value": 1, "headers": 1}
