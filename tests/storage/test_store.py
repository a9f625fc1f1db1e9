"""The data directory: taken by one, in one format, with nothing of the dead in it."""

from pathlib import Path
from random import Random
from uuid import UUID

import pytest

from onelog.errors import DiskFailed, DiskFull, PartitionClosed
from onelog.storage import layout
from onelog.storage.catalog import CatalogFile
from onelog.storage.disk import RealDisk, StoreRefused
from onelog.storage.store import Store
from tests.support.simulated_disk import SimulatedDisk
from tests.support.small_logs import (
    ROOT,
    TOPIC_ID,
    fill,
    keep,
    open_log,
    open_store,
    read_all,
    recover,
)

OTHER_ID = UUID(int=5)
ALIVE = {"orders": (TOPIC_ID, 1)}


@pytest.fixture
def disk() -> SimulatedDisk:
    return SimulatedDisk(Random(0))


def _filled(disk: SimulatedDisk) -> None:
    store = open_store(disk)
    log = open_log(store)
    fill(log, 3)
    keep(store, log)
    disk.kill()


def test_a_directory_is_made_and_survives_a_power_cut(disk: SimulatedDisk) -> None:
    open_store(disk, "a/b/c")
    disk.power_cut()
    assert disk.open("a/b/c/onelog.format").pread(0, 100) == layout.FORMAT_TEXT


def test_it_is_not_opened_twice(disk: SimulatedDisk) -> None:
    store = open_store(disk)
    with pytest.raises(StoreRefused):
        open_store(disk)
    store.close()
    open_store(disk)


@pytest.mark.parametrize("how", ["full_at", "fail_sync_at"])
def test_a_close_that_fails_lets_go_of_everything_and_says_so(disk: SimulatedDisk, how: str) -> None:
    store = open_store(disk)
    setattr(disk, how, disk.calls)
    with pytest.raises((DiskFull, DiskFailed)):
        store.close(at_rest=[])
    with pytest.raises(DiskFailed, match="closed"):
        store.catalog.rows("SELECT 1")
    disk.kill()
    assert not recover(open_store(disk)).was_clean


def test_a_refusal_gives_the_lock_back(disk: SimulatedDisk) -> None:
    disk.make_dir(ROOT)
    disk.open(f"{ROOT}/onelog.format", create=True).write_at(0, [b"onelog data directory\nversion: 3\n"])
    for _ in range(2):
        with pytest.raises(StoreRefused, match="Another version of onelog"):
            open_store(disk)


def test_a_format_that_was_torn_while_it_was_made_is_made_again(disk: SimulatedDisk) -> None:
    disk.make_dir(ROOT)
    disk.open(f"{ROOT}/onelog.format.new", create=True).write_at(0, [b"onelog da" + bytes(100)])
    open_store(disk)
    assert disk.open(f"{ROOT}/onelog.format").pread(0, 1000) == layout.FORMAT_TEXT


def test_a_catalog_without_a_format_is_refused(disk: SimulatedDisk) -> None:
    disk.make_dir(ROOT)
    disk.open(f"{ROOT}/onelog.db", create=True)
    with pytest.raises(StoreRefused, match=r"has a catalog and no onelog\.format"):
        open_store(disk)


def test_a_clean_stop_is_known_once(disk: SimulatedDisk) -> None:
    store = open_store(disk)
    assert not recover(store).was_clean
    store.close(at_rest=[])
    assert disk.open(f"{ROOT}/.kafka_cleanshutdown").pread(0, 100) == b'{"version":0,"brokerEpoch":-1}'
    store = open_store(disk)
    assert not disk.exists(f"{ROOT}/.kafka_cleanshutdown")
    assert recover(store).was_clean
    store.close()
    assert not recover(open_store(disk)).was_clean


def test_a_clean_stop_tells_kafka_where_logs_begin_and_end(disk: SimulatedDisk) -> None:
    store = open_store(disk)
    log = open_log(store)
    fill(log, 3)
    log.raise_start(2)
    keep(store, log)
    log.close()
    store.close(at_rest=[log])
    for name, offset in (("recovery-point", 3), ("log-start", 2)):
        text = disk.open(f"{ROOT}/{name}-offset-checkpoint").pread(0, 100)
        assert text == f"0\n1\norders 0 {offset}\n".encode()
    open_store(disk)
    assert not disk.exists(f"{ROOT}/recovery-point-offset-checkpoint")


def test_a_directory_of_the_first_form_is_taken_for_good(disk: SimulatedDisk) -> None:
    disk.make_dir(ROOT)
    disk.open(f"{ROOT}/onelog.format", create=True).write_at(0, [layout.FIRST_FORM_TEXT])
    open_store(disk)
    assert disk.open(f"{ROOT}/onelog.format").pread(0, 100) == layout.FORMAT_TEXT


@pytest.mark.parametrize("was_clean", [False, True])
def test_at_every_start_the_catalogs_bytes_are_written_again(disk: SimulatedDisk, was_clean: bool) -> None:
    """Also after a clean stop: the start behind it may have met a failed sync, and had no root of its own."""
    store = open_store(disk)
    recover(store)
    store.close(at_rest=[] if was_clean else None)
    disk.open(f"{ROOT}/onelog.db", create=True).write_at(0, [b"catalog"])
    disk.open(f"{ROOT}/onelog.db-wal", create=True).write_at(0, [b"wal"])
    disk.fail_sync_at = disk.calls
    for name in ("onelog.db", "onelog.db-wal"):
        disk.has_failed = False
        with pytest.raises(Exception, match="Input/output error"):
            disk.open(f"{ROOT}/{name}").sync()
    disk.kill()
    open_store(disk)
    disk.power_cut()
    assert disk.open(f"{ROOT}/onelog.db").pread(0, 100) == b"catalog"
    assert disk.open(f"{ROOT}/onelog.db-wal").pread(0, 100) == b"wal"


def test_what_lives_is_left_alone(disk: SimulatedDisk) -> None:
    _filled(disk)
    store = open_store(disk)
    found = store.sort_out(ALIVE, [])
    assert (found.strays, found.removed) == ([], [])
    assert read_all(open_log(store)) == ["0", "1", "2"]


def test_directories_of_removed_topics_go(disk: SimulatedDisk) -> None:
    _filled(disk)
    store = open_store(disk)
    assert store.sort_out({}, [TOPIC_ID]).removed == [f"{ROOT}/orders-0"]
    assert not [n for n in disk.names(ROOT) if n.startswith("orders")]


def test_a_removal_that_was_cut_off_is_ended(disk: SimulatedDisk) -> None:
    _filled(disk)
    moved = f"{ROOT}/" + layout.moved_dir("orders", 0, mark=TOPIC_ID, role=layout.Role.DELETE)
    disk.rename(f"{ROOT}/orders-0", moved)
    assert open_store(disk).sort_out({}, []).removed == [moved]
    assert not disk.exists(moved)


def test_a_re_created_topic_sees_nothing_of_the_one_before(disk: SimulatedDisk) -> None:
    _filled(disk)
    store = open_store(disk)
    store.sort_out({"orders": (OTHER_ID, 1)}, [TOPIC_ID])
    log = open_log(store, topic_id=OTHER_ID)
    fill(log, 1, first=70)
    assert read_all(log) == ["70"]


def test_what_belongs_to_nobody_is_set_aside_not_removed(disk: SimulatedDisk) -> None:
    _filled(disk)
    store = open_store(disk)
    (stray,) = store.sort_out({}, []).strays
    assert stray == f"{ROOT}/orders-0.{TOPIC_ID.hex}-stray"
    assert f"{0:020d}.log" in disk.names(stray)
    # It is named again at every start, until somebody decides.
    assert store.sort_out({}, []).strays == [stray]


def test_segments_of_a_dead_topic_without_an_id_are_set_aside(disk: SimulatedDisk) -> None:
    _filled(disk)
    disk.unlink(f"{ROOT}/orders-0/partition.metadata")
    assert open_store(disk).sort_out({}, []).strays == [f"{ROOT}/orders-0.{'0' * 32}-stray"]


@pytest.mark.parametrize("text", [None, b"", b"version: 0\ntopic_id: torn"])
def test_a_live_topic_whose_segments_have_lost_their_id_stays_closed(
    disk: SimulatedDisk, text: bytes | None
) -> None:
    _filled(disk)
    metadata = f"{ROOT}/orders-0/partition.metadata"
    disk.unlink(metadata)
    if text is not None:
        disk.open(metadata, create=True).write_at(0, [text])
    store = open_store(disk)
    found = store.sort_out(ALIVE, [])
    assert (found.strays, found.removed) == ([], [])
    recover(store)
    for _ in range(2):
        with pytest.raises(PartitionClosed, match=r"orders-0/partition\.metadata: .*expected the id") as told:
            open_log(store)
        assert str(told.value).endswith("move the directory away. See `onelog verify --help`.")
    assert f"{0:020d}.log" in disk.names(f"{ROOT}/orders-0")
    store.close()
    disk.open(metadata, create=True).write_at(0, [layout.metadata_text(TOPIC_ID)])
    assert read_all(open_log(open_store(disk))) == ["0", "1", "2"], "as the message advises"


def test_a_partition_that_the_topic_does_not_have_is_set_aside(disk: SimulatedDisk) -> None:
    _filled(disk)
    assert open_store(disk).sort_out({"orders": (TOPIC_ID, 0)}, []).strays


def test_a_half_made_directory_of_a_dead_topic_goes(disk: SimulatedDisk) -> None:
    disk.make_dir(f"{ROOT}/gone-0")
    disk.make_dir(f"{ROOT}/orders-0")
    store = open_store(disk)
    found = store.sort_out(ALIVE, [])
    assert (found.strays, found.removed) == ([], [])
    assert disk.is_dir(f"{ROOT}/orders-0")
    assert not disk.exists(f"{ROOT}/gone-0")


@pytest.mark.parametrize(
    "inside", ["photos-2024/summer/a.jpg", "photos-2024/app.log", "photos-2024/00000000000000000000.index"]
)
def test_somebody_elses_directory_that_is_named_like_a_log_is_reported_and_stays(
    disk: SimulatedDisk, inside: str
) -> None:
    store = open_store(disk)
    path = f"{ROOT}/{inside}"
    disk.make_dir(layout.above(path))
    disk.open(path, create=True)
    found = store.sort_out(ALIVE, [])
    assert (found.strays, found.removed) == ([f"{ROOT}/photos-2024"], [])
    assert disk.exists(path)


def test_an_empty_directory_inside_says_that_it_is_not_half_made(disk: SimulatedDisk) -> None:
    disk.make_dir(f"{ROOT}/photos-2024/partition.metadata")
    assert open_store(disk).sort_out(ALIVE, []).strays == [f"{ROOT}/photos-2024"]
    assert disk.is_dir(f"{ROOT}/photos-2024/partition.metadata")


def test_a_directory_of_a_live_id_is_not_removed_whatever_its_name(disk: SimulatedDisk) -> None:
    _filled(disk)
    moved = f"{ROOT}/" + layout.moved_dir("orders", 0, mark=TOPIC_ID, role=layout.Role.DELETE)
    disk.rename(f"{ROOT}/orders-0", moved)
    found = open_store(disk).sort_out(ALIVE, [])
    assert (found.strays, found.removed) == ([moved], [])
    assert f"{0:020d}.log" in disk.names(moved)


def test_a_directory_with_another_name_is_reported_and_stays(disk: SimulatedDisk) -> None:
    disk.make_dir(f"{ROOT}/lost+found")
    assert open_store(disk).sort_out({}, []).strays == [f"{ROOT}/lost+found"]
    assert disk.is_dir(f"{ROOT}/lost+found")


def test_a_removed_log_is_gone_and_its_name_is_free(disk: SimulatedDisk) -> None:
    store = open_store(disk)
    log = open_log(store)
    fill(log, 3)
    log.close()
    assert store.remove_log("orders", TOPIC_ID, 0).run() == 1
    assert not disk.exists(f"{ROOT}/orders-0")
    log = open_log(store, topic_id=OTHER_ID)
    fill(log, 1, first=9)
    assert read_all(log) == ["9"]


def test_everything_holds_on_the_real_disk(tmp_path: Path) -> None:
    disk = RealDisk()
    for round_ in range(3):
        store = Store.open(disk, f"{tmp_path}/data", migrations=(("CREATE TABLE t (a)",),))
        assert recover(store).was_clean == (round_ > 0)
        store.sort_out(ALIVE, [])
        log = open_log(store)
        assert log.marks.durable == round_ * 20
        fill(log, 20, first=round_ * 20)
        assert read_all(log, bytes_max=100) == [str(n) for n in range(round_ * 20 + 20)]
        keep(store, log)
        log.close()
        store.close(at_rest=[log])
    assert isinstance(store.catalog, CatalogFile)
