"""Compaction in the background: which logs, when, and what its settings do."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from onelog import metrics as m
from onelog.broker.broker import AlterTopic, BrokerSettings
from onelog.errors import DiskFailed, DiskFull, InvalidRecord, PartitionClosed
from onelog.model import View
from onelog.storage.swap import Swap
from tests.support.brokers import DIALECT, MIB, Desk, batch, open_desk, read, values
from tests.support.keyed import keyed, pairs_of
from tests.support.virtual_clock import run, turns

SMALL = {"segment.bytes": "1024", "cleanup.policy": "compact"}
DAY_MS = 86_400_000
NEVER = BrokerSettings(commit_log_file_bytes=MIB, compaction_check_interval_ms=10 * DAY_MS)


async def _write(desk: Desk, *pairs: str, topic: str = "orders") -> None:
    """Each in a batch of its own, as old as the clock says."""
    for pair in pairs:
        await desk.append(keyed(pair + "." * 300, timestamp_ms=desk.clock.now_ms), topic=topic)
    await desk.settle()


async def _compact(desk: Desk) -> None:
    await desk.broker._parts.compactor.check()


def _keys(desk: Desk, topic: str = "orders") -> list[str]:
    start = desk.broker._parts.served.partition(topic, 0).marks.start
    found = desk.broker.fetch([read(start, topic=topic)], bytes_max=MIB, view=View.CLEAN, dialect=DIALECT)
    (result,) = found
    assert not isinstance(result, BaseException)
    return [pair.rstrip(".") for pair in pairs_of(result.batches).values()]


# The last two are in the active segment: what they replace in sealed ones stays for now.
TWELVE = [f"{key}={number}" for number in range(4) for key in "abc"]


def test_cleanup_policy_says_whether_old_records_go_by_key_by_age_or_both(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path, settings=NEVER) as desk:
            for name, policy in (("one", "delete"), ("two", "compact"), ("three", "compact,delete")):
                settings = {"segment.bytes": "1024", "cleanup.policy": policy, "retention.ms": "1000"}
                await desk.topic(name, settings=settings)
                await _write(desk, *TWELVE, topic=name)
            await _compact(desk)
            assert [len(_keys(desk, name)) for name in ("one", "two", "three")] == [12, 5, 5]
            assert _keys(desk, "two")[-3:] == ["a=3", "b=3", "c=3"]
            await desk.clock.advance(5000)
            await desk.broker._parts.retention.check()
            await desk.settle()
            await desk.broker._parts.retention.check()
            assert [len(_keys(desk, name)) for name in ("one", "two", "three")] == [0, 5, 0]

    run(story())


def test_a_policy_that_is_altered_is_in_force_at_once(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path, settings=NEVER) as desk:
            await desk.topic(settings={"segment.bytes": "1024"})
            await _write(desk, *TWELVE)
            await _compact(desk)
            assert len(_keys(desk)) == 12
            await desk.broker.alter_topics([AlterTopic("orders", {"cleanup.policy": "compact"})])
            await _compact(desk)
            assert len(_keys(desk)) == 5

    run(story())


def test_min_cleanable_dirty_ratio_says_when_it_is_worth_it(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path, settings=NEVER) as desk:
            await desk.topic("lazy", settings={**SMALL, "min.cleanable.dirty.ratio": "0.9"})
            await desk.topic("keen", settings={**SMALL, "min.cleanable.dirty.ratio": "0.1"})
            for name in ("lazy", "keen"):
                await _write(desk, *(f"k{n}=1" for n in range(12)), topic=name)
            await _compact(desk)
            for name in ("lazy", "keen"):
                await _write(desk, *(f"k{n}=2" for n in range(6)), topic=name)
            await _compact(desk)
            assert len(_keys(desk, "lazy")) == 18
            assert len(_keys(desk, "keen")) < 16

    run(story())


def test_delete_retention_ms_is_how_long_a_tombstone_stays(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path, settings=NEVER) as desk:
            for name, grace in (("short", "1000"), ("long", "100000")):
                settings = {**SMALL, "delete.retention.ms": grace, "min.cleanable.dirty.ratio": "0"}
                await desk.topic(name, settings=settings)
                await _write(desk, "a=1", "b=1", "c=1", topic=name)
                await desk.append(keyed("a", timestamp_ms=desk.clock.now_ms), topic=name)
                await _write(desk, "d=1", "e=1", "f=1", topic=name)
            await _compact(desk)
            assert ["a" in _keys(desk, name) for name in ("short", "long")] == [True, True]
            await desk.clock.advance(2000)
            for name in ("short", "long"):
                await _write(desk, "g=1", "h=1", "i=1", "j=1", topic=name)
            await _compact(desk)
            assert ["a" in _keys(desk, name) for name in ("short", "long")] == [False, True]

    run(story())


def test_min_compaction_lag_ms_leaves_young_records_alone(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path, settings=NEVER) as desk:
            await desk.topic(settings={**SMALL, "min.compaction.lag.ms": "60000"})
            await _write(desk, *TWELVE)
            await _compact(desk)
            assert len(_keys(desk)) == 12
            await desk.clock.advance(60_001)
            await _compact(desk)
            assert len(_keys(desk)) == 5

    run(story())


def test_max_compaction_lag_ms_compacts_what_is_not_dirty_enough(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path, settings=NEVER) as desk:
            never = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "1"}
            await desk.topic("kept", settings=never)
            await desk.topic("bound", settings={**never, "max.compaction.lag.ms": "60000"})
            for name in ("kept", "bound"):
                await _write(desk, *TWELVE, topic=name)
            await _compact(desk)
            await desk.clock.advance(60_001)
            await _compact(desk)  # ends the active segment
            await desk.settle()
            await _compact(desk)
            assert [len(_keys(desk, name)) for name in ("kept", "bound")] == [12, 3]

    run(story())


def test_a_timer_looks_and_what_it_did_is_counted(tmp_path: Path) -> None:
    async def story() -> None:
        settings = BrokerSettings(commit_log_file_bytes=MIB, compaction_check_interval_ms=15_000)
        async with open_desk(tmp_path, settings=settings) as desk:
            await desk.topic(settings=SMALL)
            await _write(desk, *TWELVE)
            await desk.clock.advance(15_001)
            task = desk.broker._parts.compactor._task
            assert task is not None
            await task
            assert len(_keys(desk)) == 5
            assert desk.broker.metrics.series(m.COMPACTIONS).value == 1
            assert desk.broker.metrics.series(m.BYTES_COMPACTED).value > 2000

    run(story())


def test_what_was_compacted_is_the_same_after_a_start(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path, settings=NEVER) as desk:
            await desk.topic(settings=SMALL)
            await _write(desk, *TWELVE)
            await _compact(desk)
            found = _keys(desk)
        async with open_desk(tmp_path, settings=NEVER) as desk:
            assert _keys(desk) == found

    run(story())


def test_a_topic_that_is_deleted_meanwhile_ends_its_pass(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path, settings=NEVER) as desk:
            await desk.topic(settings=SMALL)
            await _write(desk, *TWELVE)
            compacting = asyncio.get_running_loop().create_task(_compact(desk))
            await turns(3)
            await desk.broker.delete_topics(["orders"])
            await compacting
            await desk.broker._parts.files.run(lambda: None)
            await turns()
            assert not (tmp_path / "orders-0").exists()
            assert desk.failures == []

    run(story())


def test_a_full_disk_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with open_desk(tmp_path, settings=NEVER) as desk:
            await desk.topic(settings=SMALL)
            await _write(desk, *TWELVE)
            with monkeypatch.context() as patch:
                patch.setattr(Swap, "prepare", _raising(DiskFull(path="x", doing="writing")))
                await _compact(desk)
            assert len(_keys(desk)) == 12
            assert not list((tmp_path / "orders-0").glob("*.cleaned"))
            await _compact(desk)
            assert len(_keys(desk)) == 5
            assert desk.failures == []

    run(story())


def test_a_failure_in_the_exchange_is_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with open_desk(tmp_path, settings=NEVER) as desk:
            await desk.topic(settings=SMALL)
            await _write(desk, *TWELVE)
            monkeypatch.setattr(Swap, "run", _raising(DiskFailed(path="x", doing="syncing", found="EIO")))
            await _compact(desk)
            assert [type(failure) for failure in desk.failures] == [DiskFailed]

    run(story())


def _raising(error: Exception) -> Callable[..., None]:
    def method(*_: object) -> None:
        raise error

    return method


def test_damage_closes_the_log(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path, settings=NEVER) as desk:
            await desk.topic(settings=SMALL)
            await _write(desk, *TWELVE)
            log = tmp_path / "orders-0" / "00000000000000000000.log"
            data = bytearray(log.read_bytes())
            data[17] ^= 1
            log.write_bytes(data)
            await _compact(desk)
            refusal = desk.append(keyed("a=1")).error
            assert isinstance(refusal, PartitionClosed)
            assert "checksum" in refusal.reason

    run(story())


def test_a_record_without_a_key_is_refused_where_it_could_never_be_replaced(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path, settings=NEVER) as desk:
            await desk.topic(settings=SMALL)
            await desk.topic("plain")
            refusal = desk.append(batch("a")).error
            assert isinstance(refusal, InvalidRecord)
            assert refusal.index == 0
            await desk.append(batch("a"), topic="plain")
            assert values(desk.read(topic="plain")) == ["a"]

    run(story())
