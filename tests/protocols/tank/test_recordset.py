"""Bundles <-> batches: what tank-cli writes comes back byte for byte, what lies is refused."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onelog.binary.compression import Codec
from onelog.binary.errors import BinaryError
from onelog.errors import InvalidRecord
from onelog.model import OFFSET_MAX
from onelog.protocols.tank.messages.bundle import (
    MESSAGES_MAX,
    bundles,
    decode_bundle,
    encode_bundle,
    unpacked,
)
from onelog.protocols.tank.recordset import Chunk, batch_of
from onelog.records.batch import Batch
from onelog.records.codec import validate
from onelog.records.record import Header, Record
from tests.support import tank_wire as wire

T = 1_700_000_000_000

# Of the dossier: each as it is stored, without its length.
CAPTURED = {
    "one": "04 00 1b9e1cf0a1010000 05 68656c6c6f",
    "three of one time": "0c 00 559e1cf0a1010000 03 6f6e65 02 03 74776f 02 05 7468726565",
    "three of three times": "0c 00 51fe1cf0a1010000 01 78 00 56fe1cf0a1010000 01 79 00 5bfe1cf0a1010000 01 7a",
    "two with keys": "08 01 8d9e1cf0a1010000 02 6b31 02 7631 03 02 6b32 02 7632",
    "sparse, one after the other": "4c 6400000000000000 01 00 95fb1cf0a1010000 01 61 06 01 62 02 01 63",
    "sparse, with gaps": "50 c800000000000000 1d 00 d2fb1cf0a1010000 01 61 02 09 01 62 02 09 01 63 02 01 64",
    "sparse, one": "44 f401000000000000 00 0700000000000000 01 78",
}


def stored(bundle: bytes, *, base: int = 0, following: int = 0) -> Batch:
    """The batch as the log has it."""
    batch = batch_of(bundle, base_sequence=base, offset_next=following, where="t/0")
    validate(batch.data, where="t/0")
    batch = batch.renumbered(base_offset=following, leader_epoch=0)
    batch.verify_records()
    return batch


def back(*batches: Batch, start: int = 0) -> Chunk:
    chunk = Chunk()
    for batch in batches:
        assert chunk.add(batch, offset_start=start)
    return chunk


@pytest.mark.parametrize("name", CAPTURED)
def test_what_tank_cli_writes_comes_back_byte_for_byte(name: str) -> None:
    bundle = bytes.fromhex(CAPTURED[name])
    assert wire.bundles(bytes(back(stored(bundle)).data)) == [bundle]


@pytest.mark.parametrize("count", [1, 15, 16, 20, 300])
def test_counts_above_15_stand_behind_the_flags(count: int) -> None:
    bundle = wire.bundle(*[b"%d" % n for n in range(count)])
    batch = stored(bundle)
    assert (batch.record_count, batch.offset_end) == (count, count)
    assert wire.bundles(bytes(back(batch).data)) == [bundle]


def test_a_sparse_bundle_stays_sparse_where_its_numbers_go_without_saying() -> None:
    bundle = wire.sparse((1, b"a"), (2, b"b"))
    assert wire.bundles(bytes(back(stored(bundle)).data)) == [bundle]


def test_a_hole_is_kept_inside_the_batch_behind_it() -> None:
    batch = stored(wire.sparse((100, b"a"), (105, b"b")), following=7)
    assert (batch.base_offset, batch.last_offset, batch.record_count) == (7, 104, 2)
    assert [offset for offset, _ in batch.numbered()] == [99, 104]


def test_a_bundle_that_is_not_sparse_may_be_given_a_number() -> None:
    batch = stored(wire.bundle(b"a", b"b"), base=50, following=10)
    assert [offset for offset, _ in batch.numbered()] == [49, 50]
    chunk = back(batch)
    assert (chunk.base, chunk.last, chunk.is_sparse) == (50, 51, False)
    assert wire.bundles(bytes(chunk.data)) == [wire.bundle(b"a", b"b")]


def test_a_number_in_the_bundle_counts_and_that_of_the_request_does_not() -> None:
    assert [at for at, _ in stored(wire.sparse((9, b"a")), base=3).numbered()] == [8]


def test_any_64_bits_are_a_timestamp() -> None:
    for at in (0, 1, T, (1 << 63) - 1, 1 << 63, (1 << 64) - 1):
        bundle = wire.bundle(b"x", b"y", at=at)
        assert wire.bundles(bytes(back(stored(bundle)).data)) == [bundle]


def test_empty_contents_and_empty_keys_are_kept_apart_from_none() -> None:
    bundle = b"\x08" + wire.message(b"", key=b"") + wire.message(b"", at=None)
    batch = stored(bundle)
    assert [(record.key, record.value) for record in batch.records()] == [(b"", b""), (None, b"")]
    assert wire.bundles(bytes(back(batch).data)) == [bundle]


def test_snappy_stays_snappy_on_both_ways() -> None:
    body = wire.message(b"A" * 1500)
    bundle = encode_bundle([(0, Record(None, b"A" * 1500, T))], is_snappy=True)
    assert bundle[0] == 0x05
    assert len(bundle) < len(body) / 10
    batch = stored(bundle)
    assert batch.codec is Codec.SNAPPY
    assert wire.bundles(bytes(back(batch).data)) == [bundle]


def test_the_captured_snappy_bundle_comes_back_byte_for_byte() -> None:
    bundle = bytes.fromhex("05 e70b 2c 00dcfd1cf0a1010000dc0b41" + "fe0100" * 23 + "6a0100")
    [record] = decode_bundle(bundle, where="t/0").records
    assert record.value == b"A" * 1500
    assert wire.bundles(bytes(back(stored(bundle)).data)) == [bundle]


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.ZSTD])
def test_what_others_compressed_is_compressed_for_us(codec: Codec) -> None:
    batch = Batch.build([Record(None, b"A" * 1500, T)], codec=codec)
    [bundle] = wire.bundles(bytes(back(batch).data))
    assert bundle[0] == 0x05
    assert decode_bundle(bundle, where="t/0").records == [Record(None, b"A" * 1500, T)]


def test_a_batch_with_gaps_is_a_sparse_bundle_whoever_wrote_it() -> None:
    batch = Batch.build([Record(None, b"a", T), Record(None, b"b", T)], offset_deltas=[2, 5])
    chunk = back(batch)
    assert chunk.is_sparse
    assert wire.bundles(bytes(chunk.data)) == [wire.sparse((3, b"a"), (6, b"b"))]


def test_what_tank_cannot_say_is_counted_and_the_rest_is_delivered() -> None:
    records = [
        Record(b"k" * 255, b"v", T),
        Record(b"k" * 256, b"v", T),
        Record(None, None, T),
        Record(None, b"v", T, (Header("h", b"x"),)),
    ]
    chunk = back(Batch.build(records))
    assert chunk.losses == Counter(long_key=1, null_value=1, headers=1)
    [bundle] = wire.bundles(bytes(chunk.data))
    assert [(r.key, r.value) for r in decode_bundle(bundle, where="t/0").records] == [
        (b"k" * 255, b"v"),
        (None, b"v"),
        (None, b""),
        (None, b"v"),
    ]


def test_a_chunk_ends_where_readers_would_count_wrongly() -> None:
    first, hole = stored(wire.bundle(b"a")), stored(wire.bundle(b"b"), base=5, following=1)
    chunk = back(first)
    assert not chunk.add(hole, offset_start=0)
    assert (chunk.last, wire.bundles(bytes(chunk.data))) == (1, [wire.bundle(b"a")])


def test_a_chunk_ends_behind_a_bundle_with_gaps_unless_the_next_says_its_numbers() -> None:
    gappy = stored(wire.sparse((1, b"a"), (4, b"b")))
    chunk = back(gappy, stored(wire.sparse((9, b"c")), following=4))
    assert (chunk.base, chunk.last) == (1, 9)
    chunk = back(gappy)
    assert not chunk.add(stored(wire.bundle(b"d"), following=4), offset_start=0)


def test_a_chunk_leaves_out_what_was_deleted_and_batches_without_records() -> None:
    batch = stored(wire.bundle(b"a", b"b", b"c"))
    chunk = back(batch, start=1)
    assert (chunk.base, wire.bundles(bytes(chunk.data))) == (2, [wire.bundle(b"b", b"c")])
    assert back(batch, start=3).data == b""


def test_messages_have_the_sequences_of_their_chunk() -> None:
    chunk = back(
        stored(wire.bundle(b"a", b"b"), following=10),
        stored(wire.sparse((20, b"c"), (22, b"d")), following=12),
    )
    assert [s for s, _ in unpacked(chunk.data, base=chunk.base, where="t/0")] == [11, 12, 20, 22]


def test_a_bundle_that_was_cut_off_is_left_out() -> None:
    data = bytes(back(stored(wire.bundle(b"a")), stored(wire.bundle(b"b"), following=1)).data)
    assert [bytes(each) for each in bundles(data[:-1])] == [wire.bundle(b"a")]
    assert list(bundles(data[:5])) == []
    assert list(bundles(b"\x80")) == []


ONE = wire.message(b"x")
LIES = {
    "nothing": b"",
    "no messages": b"\x00\x00",
    "no messages, sparse": b"\x40\x00" + (1).to_bytes(8, "little"),
    "a count that never ends": b"\x00\xff\xff\xff\xff\xff",
    "more than there are": b"\x3c" + ONE,
    "fewer than there are": b"\x04" + ONE + ONE,
    "so many that nobody counts them": b"\x00" + wire.varint(MESSAGES_MAX + 1) + bytes(4 * MESSAGES_MAX),
    "codec 2": b"\x06" + ONE,
    "codec 3": b"\x07" + ONE,
    "the bit that no program reads": b"\x84" + ONE,
    "bad snappy": b"\x05" + ONE,
    "snappy of a gigabyte": b"\x05" + wire.varint(1 << 30) + b"\x00" * 8,
    "flags of a message that nobody knows": b"\x04\x08" + ONE[1:],
    "a time cut off": b"\x04\x00\x01\x02",
    "a key cut off": b"\x04\x03\x05ab",
    "no key": b"\x04\x03",
    "contents cut off": b"\x04\x02\x7fx",
    "no contents": b"\x04\x02",
    "number 0": wire.sparse((0, b"a")),
    "numbers of 64 bits": wire.sparse((OFFSET_MAX + 1, b"a")),
    "numbers cut off": b"\x44\x01\x02",
    "numbers that do not fit their count": b"\x4c" + (5).to_bytes(8, "little") + b"\x00" + ONE * 3,
    "a gap beyond the last number": wire.sparse((1, b"a"), (3, b"b"), (9, b"c")).replace(b"\x02\x01\x01b", b"\x02\x63\x01b"),
    "numbers that stop before the last": wire.sparse((1, b"a"), (9, b"c"))[:-3] + b"\x06\x01c",
}  # fmt: skip


@pytest.mark.parametrize("name", LIES)
def test_a_bundle_that_lies_is_refused_whole(name: str) -> None:
    with pytest.raises(InvalidRecord):
        batch_of(LIES[name], base_sequence=0, offset_next=0, where="t/0")


@pytest.mark.parametrize(
    ("bundle", "base", "following"),
    [
        (wire.sparse((7, b"a")), 0, 7),
        (wire.sparse((3, b"a"), (20, b"b")), 0, 7),
        (wire.bundle(b"a"), 7, 7),
        (wire.bundle(b"a"), (1 << 31) + 1, 0),
        (wire.bundle(b"a"), 1 << 63, 0),
        (wire.bundle(b"a"), (1 << 64) - 1, 0),
        (wire.sparse((1 << 40, b"a")), 0, 0),
        (wire.sparse((1, b"a"), ((1 << 31) + 1, b"b")), 0, 0),
        (wire.bundle(b"a"), 0, OFFSET_MAX),
    ],
)
def test_numbers_that_were_given_or_are_out_of_reach_are_refused(
    bundle: bytes, base: int, following: int
) -> None:
    with pytest.raises(InvalidRecord, match="expected"):
        batch_of(bundle, base_sequence=base, offset_next=following, where="t/0")


def test_the_widest_batch_spans_all_but_2_to_the_31_numbers() -> None:
    assert stored(wire.sparse((1 << 31, b"a"))).last_offset == (1 << 31) - 1


def test_one_request_has_a_bound_on_its_messages() -> None:
    with pytest.raises(InvalidRecord, match="3 messages; expected 1 to 2"):
        batch_of(wire.bundle(b"a", b"b", b"c"), base_sequence=0, offset_next=0, where="t/0", messages_max=2)


records = st.builds(
    Record,
    key=st.none() | st.binary(max_size=5) | st.just(b"k" * 255),
    value=st.binary(max_size=40),
    timestamp_ms=st.sampled_from([0, T, T, T + 1]) | st.integers(-(1 << 63), (1 << 63) - 1),
)


@given(st.lists(records, min_size=1, max_size=40), st.booleans(), st.integers(0, 1000))
@settings(max_examples=100, deadline=None)
def test_every_bundle_survives_the_log(found: list[Record], is_snappy: bool, following: int) -> None:
    bundle = encode_bundle(list(enumerate(found, following)), is_snappy=is_snappy)
    batch = stored(bundle, following=following)
    assert list(batch.records()) == found
    chunk = back(batch)
    assert chunk.base == following + 1
    assert wire.bundles(bytes(chunk.data)) == [bundle]


@given(st.lists(st.tuples(st.integers(1, 50), records), min_size=1, max_size=20), st.booleans())
@settings(max_examples=100, deadline=None)
def test_every_sparse_bundle_survives_the_log(steps: list[tuple[int, Record]], is_snappy: bool) -> None:
    numbered, at = [], 9
    for step, record in steps:
        at += step
        numbered.append((at, record))
    bundle = encode_bundle(numbered, is_sparse=True, is_snappy=is_snappy)
    batch = stored(bundle, following=10)
    assert list(batch.numbered()) == numbered
    assert wire.bundles(bytes(back(batch).data)) == [bundle]


@given(st.binary(max_size=80))
@settings(max_examples=200, deadline=None)
def test_nonsense_is_a_bundle_or_refused(data: bytes) -> None:
    try:
        found = decode_bundle(data, where="t/0")
    except (BinaryError, InvalidRecord):
        return
    assert len(found.records) == found.head.count


@given(st.sampled_from(sorted(CAPTURED)), st.data())
@settings(max_examples=100, deadline=None)
def test_a_spoilt_bundle_is_another_one_or_refused(name: str, data: st.DataObject) -> None:
    spoilt = bytearray(bytes.fromhex(CAPTURED[name]))
    spoilt[data.draw(st.integers(0, len(spoilt) - 1))] = data.draw(st.integers(0, 255))
    try:
        batch = batch_of(bytes(spoilt), base_sequence=0, offset_next=0, where="t/0")
    except InvalidRecord:
        return
    batch.verify_records()
