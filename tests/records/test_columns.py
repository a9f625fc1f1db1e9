from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onelog.binary.compression import Codec
from onelog.errors import CorruptBatch, InvalidRecord
from onelog.records import columns as border
from onelog.records.batch import Batch
from onelog.records.codec import validate
from onelog.records.columns import SCHEMA, from_arrow, to_arrow
from onelog.records.control import Marker, Verdict, build_marker
from onelog.records.record import Header, Record
from tests.support.some_records import BATCHES

ALL = SCHEMA.names
LIMIT = ((1 << 63) - 1) // 1000
END = 1 << 62


def table(batches: Sequence[Batch], *, start: int = 0, end: int = END, **options: Any) -> pa.Table:
    options = {"columns": ALL, "topic": "t", "partition": 3, **options}
    made = list(to_arrow(batches, offset_start=start, offset_end=end, **options))
    for each in made:
        each.validate(full=True)
    return pa.Table.from_batches(made, made[0].schema if made else SCHEMA)


def micros(column: Any) -> list[int]:
    return [value for chunk in column.chunks for value in chunk.view(pa.int64()).to_pylist()]


def headers(record: Record) -> list[dict[str, Any]] | None:
    return [{"key": each.key, "value": each.value} for each in record.headers] or None


@settings(max_examples=100, deadline=None)
@given(
    lots=st.lists(st.tuples(BATCHES, st.sampled_from(Codec)), max_size=4),
    base=st.integers(0, 1 << 40),
    window=st.tuples(st.integers(-2, 40), st.integers(-2, 40)),
)
def test_every_record_between_the_offsets_is_a_row(
    lots: list[tuple[list[Record], Codec]], base: int, window: tuple[int, int]
) -> None:
    batches, places, at = [], [], base
    for records, codec in lots:
        batches.append(Batch.build(records, base_offset=at, codec=codec))
        places += list(enumerate(records, at))
        at += len(records) + 1
    start, end = base + window[0], base + window[1]
    made = table(batches, start=start, end=end)
    kept = [(offset, record) for offset, record in places if start <= offset < end]
    assert made.column("offset").to_pylist() == [offset for offset, _ in kept]
    assert made.column("key").to_pylist() == [record.key for _, record in kept]
    assert made.column("value").to_pylist() == [record.value for _, record in kept]
    assert made.column("headers").to_pylist() == [headers(record) for _, record in kept]
    assert micros(made.column("timestamp")) == [
        max(-LIMIT, min(LIMIT, record.timestamp_ms)) * 1000 for _, record in kept
    ]
    assert set(made.column("topic").to_pylist()) <= {"t"}
    assert set(made.column("partition").to_pylist()) <= {3}


@settings(max_examples=100, deadline=None)
@given(records=BATCHES, codec=st.sampled_from(Codec), size=st.integers(70, 600), cut=st.integers(0, 3))
def test_columns_become_records_again(records: list[Record], codec: Codec, size: int, cut: int) -> None:
    records = [Record(r.key, r.value, r.timestamp_ms // 2**12, r.headers) for r in records]
    (made,) = table([Batch.build(records)]).to_batches() or [None]
    assert made is not None
    again = from_arrow(made.slice(cut), timestamp_ms=0, codec=codec, batch_bytes_max=size)
    for batch in again:
        validate(batch.data, where="again")
        batch.verify_records(gapless=True)
        assert batch.codec is codec
        assert codec is not Codec.NONE or batch.size <= size or batch.record_count == 1
    assert [record for batch in again for record in batch.records()] == records[cut:]


def test_only_the_columns_that_are_asked_for_are_made_and_in_that_order() -> None:
    made = table([Batch.build([Record(b"k", b"v", 1)])], columns=["value", "offset"])
    assert made.to_pylist() == [{"value": b"v", "offset": 0}]
    assert made.column_names == ["value", "offset"]


def test_no_columns_at_all_are_still_rows() -> None:
    (made,) = to_arrow(
        [Batch.build([Record(b"k", b"v", 1)] * 5)],
        offset_start=1,
        offset_end=4,
        columns=[],
        topic="t",
        partition=0,
    )
    assert made.num_rows == 3


def test_headers_are_left_out_unless_they_are_asked_for() -> None:
    assert table([Batch.build([Record(b"k", b"v", 1)])], columns=None).column_names == ALL[:-1]


def test_the_types_are_those_of_spark_s_kafka_source() -> None:
    assert table([Batch.build([Record(b"k", b"v", 1)])]).schema == SCHEMA
    assert SCHEMA.field("timestamp").type == pa.timestamp("us", tz="UTC")
    assert str(SCHEMA.field("headers").type.value_type) == "struct<key: string, value: binary>"


def test_a_reader_may_name_nested_fields_in_its_own_way() -> None:
    pair = pa.struct([pa.field("name", pa.string(), nullable=False), pa.field("content", pa.binary())])
    schema = pa.schema([("offset", pa.int64()), ("headers", pa.list_(pa.field("element", pair)))])
    batch = Batch.build([Record(None, None, 0, (Header("a", b"1"),))])
    made = table([batch], columns=None, schema=schema)
    assert made.schema == schema
    assert made.to_pylist() == [{"offset": 0, "headers": [{"name": "a", "content": b"1"}]}]


@pytest.mark.parametrize(
    "schema",
    [
        pa.schema([("offset", pa.int32())]),
        pa.schema([("value", pa.large_binary())]),
        pa.schema([("timestamp", pa.timestamp("us"))]),
        pa.schema([("headers", pa.list_(pa.struct([("key", pa.binary()), ("value", pa.binary())])))]),
        pa.schema([("nonsense", pa.int32())]),
    ],
)
def test_types_that_the_kernels_do_not_write_are_refused(schema: pa.Schema) -> None:
    with pytest.raises(ValueError, match=r"column '[a-z]+' of type"):
        table([], columns=None, schema=schema)


def test_an_unknown_column_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"column 'keys'; expected some of key, value, topic"):
        table([], columns=["keys"])


def test_whose_time_it_is_is_told_row_by_row() -> None:
    records = [Record(None, None, 5)] * 2
    batches = [Batch.build(records, base_offset=2 * i) for i in range(3)]
    batches[1] = batches[1].restamped(99)
    made = table(batches, start=1)
    assert made.column("timestampType").to_pylist() == [0, 1, 1, 0, 0]
    assert micros(made.column("timestamp")) == [5000, 99000, 99000, 5000, 5000]


def test_small_batches_are_gathered_and_many_rows_are_parted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(border, "ROWS_ENOUGH", 25)
    batches = [Batch.build([Record(None, b"x", 0)] * 10, base_offset=10 * i) for i in range(7)]
    assert [len(chunk) for chunk in table(batches).column("offset").chunks] == [30, 30, 10]


def test_record_batches_stop_before_their_bytes_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(border, "BYTES_ENOUGH", 2500)
    batches = [Batch.build([Record(None, bytes(1000), 0)], base_offset=i) for i in range(5)]
    assert [len(chunk) for chunk in table(batches).column("offset").chunks] == [2, 2, 1]


def test_ten_thousand_rows_come_at_once_by_default() -> None:
    batches = [Batch.build([Record(None, b"", 0)] * 100, base_offset=100 * i) for i in range(250)]
    sizes = [len(chunk) for chunk in table(batches, columns=["offset"]).column("offset").chunks]
    assert sizes[0] >= 10_000
    assert sum(sizes) == 25_000


def test_markers_and_aborted_transactions_are_no_rows() -> None:
    def data(base: int, producer: int) -> Batch:
        producing = {"producer_id": producer, "producer_epoch": 0, "base_sequence": 0}
        return Batch.build([Record(None, b"", 0)], base_offset=base, transactional=True, **producing)  # type: ignore[arg-type]  # a mapping of ints

    log = [
        data(0, 1),
        data(1, 2),
        build_marker(
            Marker(Verdict.ABORTED, 0), producer_id=1, producer_epoch=0, timestamp_ms=0, base_offset=2
        ),
        data(3, 1),
    ]
    assert table(log).column("offset").to_pylist() == [0, 1, 3]
    assert table(log, aborted=[(1, 0)]).column("offset").to_pylist() == [1, 3]


def test_a_header_name_that_is_no_text_is_shown_with_marks_for_it() -> None:
    body = bytes(Batch.build([Record(None, None, 0, (Header("ab", None),))] * 2).payload())
    damaged = Batch.seal(
        body.replace(b"ab", b"a\xff", 1),
        record_count=2,
        attributes=0,
        last_offset_delta=1,
        base_timestamp_ms=0,
        max_timestamp_ms=0,
    )
    names = [each[0]["key"] for each in table([damaged]).column("headers").to_pylist()]
    assert names == ["a�", "ab"]


@pytest.mark.parametrize("wanted", [["value"], ["headers"]])
def test_a_malformed_batch_is_named_by_topic_partition_and_offset(wanted: list[str]) -> None:
    batch = Batch.seal(
        bytes(7),
        record_count=1,
        attributes=0,
        last_offset_delta=0,
        base_timestamp_ms=0,
        max_timestamp_ms=0,
        base_offset=55,
    )
    with pytest.raises(InvalidRecord, match="t/3, batch at offset 55: record 0 at byte 0"):
        table([batch], columns=wanted)


def test_a_batch_that_unpacks_to_too_much_is_refused() -> None:
    batch = Batch.build([Record(None, bytes(100_000), 0)], codec=Codec.ZSTD)
    with pytest.raises(CorruptBatch):
        table([batch], bytes_max=1000)


def test_text_columns_and_absent_columns_become_records() -> None:
    rows = pa.RecordBatch.from_pydict({"value": pa.array(["a", None]), "other": pa.array([1, 2])})
    (batch,) = from_arrow(rows, timestamp_ms=77)
    assert list(batch.records()) == [Record(None, b"a", 77), Record(None, None, 77)]


@pytest.mark.parametrize("kind", [pa.large_string(), pa.string(), pa.binary_view(), pa.large_binary()])
def test_every_arrow_type_of_bytes_is_taken(kind: pa.DataType) -> None:
    rows = pa.RecordBatch.from_pydict({"key": pa.array(["k", None, "kk"]).cast(kind)}).slice(1)
    (batch,) = from_arrow(rows, timestamp_ms=0)
    assert [record.key for record in batch.records()] == [None, b"kk"]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Paris"])
def test_timestamps_of_every_unit_are_milliseconds_of_utc(unit: str, zone: str | None) -> None:
    times = pa.array([7_000, None], pa.timestamp("ms", tz=zone)).cast(pa.timestamp(unit, tz=zone))
    (batch,) = from_arrow(pa.RecordBatch.from_pydict({"timestamp": times}), timestamp_ms=5)
    assert [record.timestamp_ms for record in batch.records()] == [7_000, 5]


def test_headers_of_a_slice_with_nulls_become_headers() -> None:
    lists: list[Any] = [[("x", b"0")], None, [("a", b"1"), ("b", None)], [], [("c", b"")]]
    kind = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    pairs = [each and [{"key": k, "value": v} for k, v in each] for each in lists]
    rows = pa.RecordBatch.from_pydict({"headers": pa.array(pairs, kind)}).slice(1)
    (batch,) = from_arrow(rows, timestamp_ms=0)
    assert [[tuple(h) for h in r.headers] for r in batch.records()] == [each or [] for each in lists[1:]]


@pytest.mark.parametrize("pair", [None, {"key": None, "value": b"x"}])
def test_a_header_without_a_name_is_refused(pair: dict[str, Any] | None) -> None:
    kind = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    rows = pa.RecordBatch.from_pydict({"headers": pa.array([[pair]], kind)})
    with pytest.raises(ValueError, match="a header of the rows is null or has no name"):
        from_arrow(rows, timestamp_ms=0)


def test_a_record_larger_than_a_batch_may_be_is_alone_in_its_batch() -> None:
    rows = pa.RecordBatch.from_pydict({"value": [b"a", bytes(5000), b"b", b"c"]})
    batches = from_arrow(rows, timestamp_ms=0, batch_bytes_max=1000)
    assert [batch.record_count for batch in batches] == [1, 1, 2]


def test_the_batches_of_a_producer_continue_its_sequence() -> None:
    rows = pa.RecordBatch.from_pydict({"value": [bytes(400)] * 5})
    first = 2**31 - 2
    batches = from_arrow(
        rows, timestamp_ms=0, batch_bytes_max=1000, producer_id=8, producer_epoch=1, base_sequence=first
    )
    assert [(b.base_sequence, b.record_count) for b in batches] == [(first, 2), (0, 2), (2, 1)]


def test_no_rows_are_no_batches() -> None:
    assert from_arrow(pa.RecordBatch.from_pydict({"value": pa.array([], pa.binary())}), timestamp_ms=0) == []
    assert list(table([]).to_batches()) == []
