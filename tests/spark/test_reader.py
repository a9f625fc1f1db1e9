import pytest

from onelog.spark.offsets import Place
from onelog.spark.options import source_options
from onelog.spark.planning import Range
from onelog.spark.reader import RangePartition, read_range
from onelog.spark.schema import source_schema
from tests.spark.conftest import Bench

pytestmark = pytest.mark.spark
SCHEMA = source_schema(include_headers=False)


def _rows(bench: Bench, wanted: Range | None, **options: str) -> list[int]:
    read = source_options(
        {"kafka.bootstrap.servers": bench.bootstrap, "subscribe": "any", **options}, streaming=False
    )
    batches = read_range(read, SCHEMA, RangePartition(wanted))
    return [offset for batch in batches for offset in batch.column("offset").to_pylist()]


def test_a_range_is_read_and_nothing_around_it(bench: Bench) -> None:
    bench.create("ranged")
    bench.fill("ranged", 10)
    assert _rows(bench, Range(Place("ranged", 0), 3, 7)) == [3, 4, 5, 6]


def test_no_range_has_no_rows(bench: Bench) -> None:
    assert _rows(bench, None) == []


def test_a_range_that_the_log_lost_is_refused_or_passed_over(bench: Bench) -> None:
    bench.create("shrunk")
    bench.fill("shrunk", 3)
    wanted = Range(Place("shrunk", 0), 5, 8)
    with pytest.raises(ValueError, match=r"data was lost: shrunk/0: offset 5 is wanted; the log ends at 3"):
        _rows(bench, wanted)
    assert _rows(bench, wanted, failOnDataLoss="false") == []


def test_a_range_beyond_the_end_does_not_wait_forever(bench: Bench) -> None:
    bench.create("stalled")
    bench.fill("stalled", 3)
    wanted = Range(Place("stalled", 0), 3, 8)
    with pytest.raises(ValueError, match="ends at 3"):
        _rows(bench, wanted)
    assert _rows(bench, wanted, failOnDataLoss="false") == []
