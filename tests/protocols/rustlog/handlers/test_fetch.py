"""Reading for one answer: bounds, what readers may not see, and what is counted."""

from dataclasses import replace
from pathlib import Path

import pytest

from onelog.broker.broker import Broker, Read, ReadResult
from onelog.errors import OffsetOutOfRange
from onelog.metrics import REFUSALS
from onelog.protocols.rustlog.handlers import fetch
from onelog.protocols.rustlog.handlers.fetch import Shape, taken
from onelog.records.record import Record
from tests.support.rustlog_peer import LOGS, Peer, peer_of_a_broker


def shape(room: int = 1 << 20) -> Shape:
    return Shape(room=room, record_size=lambda offset, timestamp, size: size)


async def test_records_are_taken_from_an_offset_on(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.produce(b"a", b"b", b"c")
        found = taken(peer.broker, LOGS, 0, 1, bytes_max=1 << 40, shape=shape())
        assert [record.payload for record in found.records] == [b"b", b"c"]
        assert found.next_offset == 3


async def test_a_record_without_room_is_counted_as_a_refusal(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.append(Record(None, b"long", 1))
        found = taken(peer.broker, LOGS, 0, 0, bytes_max=99, shape=shape(room=3))
        assert found.oversized == (0, 4)
        assert peer.broker.metrics.value(REFUSALS, "rustlog", "record_too_large") == 1


async def test_an_offset_that_is_gone_is_refused(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.produce(b"a", b"b")
        await peer.broker.delete_records(LOGS, 0, 1)
        with pytest.raises(OffsetOutOfRange):
            taken(peer.broker, LOGS, 0, 0, bytes_max=99, shape=shape())


async def test_reads_that_find_nothing_to_see_go_on_but_not_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        asked = hidden_reads(peer, monkeypatch)
        found = taken(peer.broker, LOGS, 0, 0, bytes_max=99, shape=shape())
        assert (len(asked), found.records, found.next_offset) == (fetch.READS_MAX, [], fetch.READS_MAX)


def hidden_reads(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> list[Read]:
    """Every read finds one record that its reader may not see."""
    [empty] = peer.broker.fetch([Read(LOGS, 0, 0, 99)], bytes_max=99, dialect="rustlog")
    assert isinstance(empty, ReadResult)
    asked: list[Read] = []

    def nothing(self: Broker, reads: list[Read], **_: object) -> list[ReadResult]:
        asked.extend(reads)
        return [replace(empty, offset_next=reads[0].offset + 1)]

    monkeypatch.setattr(Broker, "fetch", nothing)
    return asked
