"""Where partitions begin and end; Fetch; and streams that are refused at once."""

import struct

import pytest

from onelog.protocols.fluvio.handlers.smartmodules import NO_ENGINE
from onelog.records.batch import Batch
from onelog.records.record import Record
from tests.support import fluvio_unit_wire as wire
from tests.support.fluvio_peer import FluvioHouse, FluvioPeer
from tests.support.fluvio_records import batch_of
from tests.support.fluvio_wire import frame, text


def store(house: FluvioHouse, *values: bytes, partition: int = 0) -> None:
    house.append(Batch.build([Record(None, value, 5) for value in values]), partition=partition)


# ---- FetchOffsets


def test_offsets_are_the_first_that_there_is_and_the_one_behind_the_last(
    house: FluvioHouse, unit: FluvioPeer
) -> None:
    house.make(partitions=2)
    store(house, b"a", b"b")
    store(house, b"c")
    house.delete_below(2)
    assert wire.offsets(unit.ask(wire.fetch_offsets("orders", 0, 1))) == [(0, 0, 2, 3), (0, 1, 0, 0)]


def test_offsets_of_what_is_not_here_are_3001(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make()
    assert wire.offsets(unit.ask(wire.fetch_offsets("missing", 0, 3))) == [(3001, 0, 0, 0), (3001, 3, 0, 0)]
    assert wire.offsets(unit.ask(wire.fetch_offsets("orders", 0, 1))) == [(0, 0, 0, 0), (3001, 1, 0, 0)]


def test_offsets_see_what_their_own_connection_wrote_before(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make()
    unit.send(wire.produce("orders", (0, batch_of(b"a", b"b"))), wire.fetch_offsets("orders", 0))
    frames: list[bytes] = []
    while len(frames) < 2:
        frames += unit.frames()
    assert wire.offsets(frames[1][4:]) == [(0, 0, 0, 2)]


def test_in_version_23_a_consumers_offset_is_where_it_begins(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make(partitions=2)
    store(house, b"a", b"b", b"c")
    unit.send(wire.stream("orders", consumer="c1"))
    unit.frames()
    unit.ask(wire.keep(1, 1))
    asked = wire.fetch_offsets("orders", 0, 1, version=23, consumer="c1")
    assert wire.offsets(unit.ask(asked)) == [(0, 0, 2, 3), (0, 1, 0, 0)]
    nobody = wire.fetch_offsets("orders", 0, version=23)
    assert wire.offsets(unit.ask(nobody)) == [(0, 0, 0, 3)]


def test_fluvios_own_topic_is_empty(unit: FluvioPeer) -> None:
    assert wire.offsets(unit.ask(wire.fetch_offsets("consumer-offset", 0, 1))) == [
        (0, 0, 0, 0),
        (3001, 1, 0, 0),
    ]
    assert wire.streamed(unit.ask(wire.stream("consumer-offset"))).code == 13
    assert wire.fetched(unit.ask(wire.fetch("consumer-offset", (0, 0, 99))))[0].code == 13


# ---- StreamFetch, where it is no stream


def test_a_smartmodule_is_refused_by_its_name(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make()
    store(house, b"a")
    found = wire.streamed(unit.ask(wire.stream("orders", smartmodules=wire.predefined("nope"))))
    assert (found.code, found.part.extra, found.records, found.stream_id) == (6001, b"nope", b"", 1)


def test_a_smartmodule_that_comes_along_is_refused(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make()
    found = wire.streamed(unit.ask(wire.stream("orders", smartmodules=wire.ad_hoc(b"\x1f\x8b"))))
    assert found.code == 6002
    assert found.part.extra[2:-1].decode() == NO_ENGINE


def test_version_25_names_its_smartmodules(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make()
    named = wire.ad_hoc(b"\x1f\x8b") + b"\1" + text("mine")
    found = wire.streamed(unit.ask(wire.stream("orders", smartmodules=named, version=25)))
    assert found.code == 6002
    assert found.part.extra.endswith(b"\1" + text("mine"))


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (struct.pack(">i", 3) + b"abc" + b"\0\0", 6002),
        (b"\0\0\0\0" + b"\1" + b"\0" + text("old") + b"\0" + b"\0\0" + b"\0", 6001),
        (b"\0\0\0\0" + b"\0" + b"\1" + text("derived") + b"\0\0", 8001),
    ],
    ids=["program", "smartmodule", "derived stream"],
)
def test_older_ways_to_ask_for_one_are_refused_too(
    house: FluvioHouse, unit: FluvioPeer, asked: bytes, code: int
) -> None:
    house.make()
    body = text("orders") + struct.pack(">IqiB", 0, 0, 1 << 20, 0) + asked
    found = wire.streamed(unit.ask(frame(1003, 17, body)), version=17)
    assert found.code == code


# ---- Fetch


def test_a_fetch_gives_whole_batches_of_many_partitions(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make(partitions=3)
    store(house, b"a", b"b")
    store(house, b"c", partition=2)
    parts = wire.fetched(unit.ask(wire.fetch("orders", (0, 0, 1 << 20), (1, 0, 1 << 20), (2, 0, 1 << 20))))
    assert [part[:5] for part in parts] == [(0, 0, 2, 0, 0), (1, 0, 0, 0, 0), (2, 0, 1, 0, 0)]
    assert [wire.values(part.records) for part in parts] == [
        [(0, None, b"a"), (1, None, b"b")],
        [],
        [(0, None, b"c")],
    ]


def test_a_fetch_has_a_bound_of_its_own_and_one_for_each_partition(
    house: FluvioHouse, unit: FluvioPeer
) -> None:
    house.make(partitions=2)
    for partition in (0, 1):
        for _ in range(3):
            store(house, bytes(100), partition=partition)
    parts = wire.fetched(unit.ask(wire.fetch("orders", (0, 0, 1), (1, 1, 1 << 20))))
    assert [[offset for offset, _, _ in wire.values(part.records)] for part in parts] == [[0], [1, 2]]
    parts = wire.fetched(unit.ask(wire.fetch("orders", (0, 0, 1 << 20), (1, 0, 1 << 20), bytes_max=100)))
    assert [[offset for offset, _, _ in wire.values(part.records)] for part in parts] == [[0], []]


def test_a_fetch_tells_what_is_not_there(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make()
    store(house, b"a", b"b")
    house.delete_below(1)
    store(house, b"c")
    asked = [(0, 0, 99), (0, -1, 99), (0, 9, 99), (7, 0, 99), (0, 2, 99)]
    parts = wire.fetched(unit.ask(wire.fetch("orders", *asked)))
    assert [part.code for part in parts] == [71, 71, 2, 6, 0]
    assert wire.values(parts[4].records) == [(2, None, b"c")]
    assert wire.fetched(unit.ask(wire.fetch("missing", (0, 0, 99))))[0].code == 6


def test_a_fetch_waits_for_as_much_as_it_wants_and_no_longer_than_it_says(
    house: FluvioHouse, unit: FluvioPeer
) -> None:
    house.make()
    unit.send(wire.fetch("orders", (0, 0, 1 << 20), wait_ms=500, bytes_min=1))
    assert unit.frames() == []
    store(house, b"a")
    assert wire.values(wire.fetched(unit.only())[0].records) == [(0, None, b"a")]
    unit.send(wire.fetch("orders", (0, 1, 1 << 20), wait_ms=500, bytes_min=1))
    house.advance(499)
    assert unit.frames() == []
    house.advance(1)
    assert wire.fetched(unit.only())[0].records == b""


@pytest.mark.parametrize("version", [0, 2, 3, 4, 5, 7, 9, 11, 24, 25])
def test_every_version_of_a_fetch_is_served(house: FluvioHouse, unit: FluvioPeer, version: int) -> None:
    house.make()
    store(house, b"a")
    [part] = wire.fetched(unit.ask(wire.fetch("orders", (0, 0, 1 << 20), version=version)), version=version)
    assert wire.values(part.records) == [(0, None, b"a")]
