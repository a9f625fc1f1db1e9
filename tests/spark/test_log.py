import pytest

from onelog.client.kafka.admin import Admin
from onelog.spark.log import Log
from onelog.spark.offsets import Place
from onelog.spark.options import SourceOptions, source_options
from tests.spark.conftest import Bench

pytestmark = pytest.mark.spark


def _options(bench: Bench, **options: str) -> SourceOptions:
    return source_options({"kafka.bootstrap.servers": bench.bootstrap, **options}, streaming=False)


def test_the_places_of_topics_are_all_of_their_partitions(bench: Bench) -> None:
    bench.create("wide", partitions=3)
    bench.create("slim")
    with Log(_options(bench, subscribe="wide,slim")) as log:
        assert log.places() == [Place("slim", 0), *(Place("wide", n) for n in range(3))]


def test_new_partitions_are_seen(bench: Bench) -> None:
    bench.create("growing")
    with Log(_options(bench, subscribe="growing")) as log:
        assert len(log.places()) == 1
        Admin(bench.client).grow_partitions("growing", 2)
        assert len(log.places()) == 2


def test_ends_are_told_by_partition(bench: Bench) -> None:
    bench.create("ends", partitions=2)
    bench.fill("ends", 4, partition=1)
    with Log(_options(bench, subscribe="ends")) as log:
        assert log.earliest(log.places()) == {Place("ends", 0): 0, Place("ends", 1): 0}
        assert log.latest(log.places()) == {Place("ends", 0): 0, Place("ends", 1): 4}


def test_what_the_log_does_not_hold_is_none(bench: Bench) -> None:
    bench.create("short")
    bench.fill("short", 2)
    with Log(_options(bench, subscribe="short")) as log:
        assert log.fetch(Place("short", 0), 99) is None
        fetched = log.fetch(Place("short", 0), 0)
        assert fetched is not None
        assert fetched.next_offset == 2
