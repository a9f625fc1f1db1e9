"""Produce: what is taken, in which order, in both forms; and each refusal with what it carries."""

import struct
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any

import cramjam
import crc32c
import lz4.frame
import pytest
import zstandard

from onelog.protocols.contract import ProtocolError
from onelog.protocols.fluvio.handlers.smartmodules import NO_ENGINE
from onelog.protocols.fluvio.messages.objects import Computed, TopicSpec
from onelog.protocols.fluvio.options import new_topic
from onelog.records.batch import Batch
from onelog.ticket import Ticket
from tests.support import fluvio_records as records
from tests.support import fluvio_unit_wire as wire
from tests.support.fluvio_peer import FluvioHouse, FluvioPeer
from tests.support.fluvio_records import FluvioRecord, batch_of
from tests.support.fluvio_unit_wire import Produced
from tests.support.fluvio_wire import frame

SAID = [FluvioRecord(None, b"a"), FluvioRecord(b"", b"b"), FluvioRecord(b"\xff\xfe", b"\x80")]


def ask(
    unit: FluvioPeer, *entries: tuple[int, bytes], topic: str = "orders", **options: Any
) -> list[Produced]:
    answer = unit.ask(wire.produce(topic, *entries, **options))
    return wire.produced(answer, version=options.get("version", wire.VERSION))


def values(batches: list[Batch]) -> list[bytes | None]:
    return [record.value for batch in batches for record in batch.records()]


def test_offsets_begin_at_0_and_leave_no_gaps(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make()
    assert ask(unit, (0, batch_of(b"a", b"b"))) == [Produced(0, 0, 0)]
    assert ask(unit, (0, batch_of(b"c"))) == [Produced(0, 0, 2)]
    assert [batch.base_offset for batch in house.stored()] == [0, 2]


def test_the_producers_own_base_offset_is_overwritten(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make()
    assert ask(unit, (0, batch_of(b"a", b"b", b"c", base_offset=2))) == [Produced(0, 0, 0)]
    assert house.stored()[0].base_offset == 0


def test_entries_for_one_partition_are_appended_and_answered_in_order(
    house: FluvioHouse, unit: FluvioPeer
) -> None:
    house.make()
    entries = [(0, batch_of(b"%d" % number)) for number in range(75)]
    assert ask(unit, *entries) == [Produced(0, 0, number) for number in range(75)]
    assert values(house.stored()) == [b"%d" % number for number in range(75)]


def test_several_batches_of_an_entry_are_appended_together(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make()
    assert ask(unit, (0, batch_of(b"a", b"b") + batch_of(b"c"))) == [Produced(0, 0, 0)]
    assert values(house.stored()) == [b"a", b"b", b"c"]


def test_no_entries_are_answered_with_none(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make()
    assert ask(unit) == []
    assert ask(unit, topic="missing") == []


def test_an_empty_record_set_is_a_success_at_0(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make()
    ask(unit, (0, batch_of(b"a")))
    assert ask(unit, (0, b"")) == [Produced(0, 0, 0)]
    assert ask(unit, (7, b"")) == [Produced(7, 6, 0)]
    assert values(house.stored()) == [b"a"]


def test_keys_and_values_are_any_bytes_and_a_null_key_is_no_empty_one(
    house: FluvioHouse, unit: FluvioPeer
) -> None:
    house.make()
    ask(unit, (0, records.batch(records.counted(SAID), 3)))
    [batch] = house.stored()
    assert [(r.key, r.value) for r in batch.records()] == [(None, b"a"), (b"", b"b"), (b"\xff\xfe", b"\x80")]


def test_timestamps_are_kept(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make()
    said = [FluvioRecord(None, b"a", 0), FluvioRecord(None, b"b", 7), FluvioRecord(None, b"c", -1)]
    ask(unit, (0, records.batch(records.counted(said), 3, first_ms=1000, max_ms=1007)))
    assert [r.timestamp_ms for r in house.stored()[0].records()] == [1000, 1007, 999]


@pytest.mark.parametrize("isolation", [1, 0, -1, -7])
def test_both_isolations_are_answered_when_the_records_are_on_disk(
    house: FluvioHouse, unit: FluvioPeer, isolation: int
) -> None:
    house.make()
    assert ask(unit, (0, batch_of(b"a")), isolation=isolation, timeout_ms=1 << 30) == [Produced(0, 0, 0)]
    assert house.broker.describe_partition("orders", 0).high_watermark == 1


def test_what_was_asked_for_and_is_not_on_disk_in_time_is_told_with_its_time(
    house: FluvioHouse, unit: FluvioPeer, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.make()
    hold_the_disk(house, monkeypatch)
    unit.send(wire.produce("orders", (0, batch_of(b"a")), (9, batch_of(b"b")), isolation=-1, timeout_ms=700))
    assert unit.frames() == []
    house.advance(699)
    assert unit.frames() == []
    house.advance(1)
    late = struct.pack(">QB", 700, 0)
    assert wire.produced(unit.only()) == [Produced(0, 7, 0, late), Produced(9, 6, 0)]


@pytest.mark.parametrize(("isolation", "timeout_ms"), [(1, 700), (-1, 0)])
def test_without_a_time_the_disk_is_waited_for(
    house: FluvioHouse, unit: FluvioPeer, monkeypatch: pytest.MonkeyPatch, isolation: int, timeout_ms: int
) -> None:
    house.make()
    release = hold_the_disk(house, monkeypatch)
    unit.send(wire.produce("orders", (0, batch_of(b"a")), isolation=isolation, timeout_ms=timeout_ms))
    house.advance(10_000)
    assert unit.frames() == []
    release()
    assert wire.produced(unit.only()) == [Produced(0, 0, 0)]


def hold_the_disk(house: FluvioHouse, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Appends get their order, and no answer until the way is free."""
    real = house.broker.produce
    held: list[tuple[Ticket[Any], Ticket[Any]]] = []

    def produce(*args: Any, **options: Any) -> list[Ticket[Any]]:
        pairs = [(ticket, Ticket[Any]()) for ticket in real(*args, **options)]
        held.extend(pairs)
        return [waiting for _, waiting in pairs]

    def release() -> None:
        for ticket, waiting in held:
            ticket.add_callback(partial(pass_on, waiting))

    monkeypatch.setattr(house.broker, "produce", produce)
    return release


def pass_on(waiting: Ticket[Any], done: Ticket[Any]) -> None:
    waiting.resolve(done.result())


def test_an_unknown_topic_is_6(unit: FluvioPeer) -> None:
    assert ask(unit, (0, batch_of(b"a")), topic="missing") == [Produced(0, 6, 0)]
    assert ask(unit, (0, batch_of(b"a")), topic="missing", version=7) == [Produced(0, 6, 0)]


def test_topics_are_not_made_by_writing(house: FluvioHouse, unit: FluvioPeer) -> None:
    ask(unit, (0, batch_of(b"a")), topic="missing")
    assert house.broker.topics() == []


def test_an_unknown_partition_is_6_for_its_entry_and_no_other(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make()
    entries = [(0, batch_of(b"a")), (5, batch_of(b"x")), (0, batch_of(b"b"))]
    assert ask(unit, *entries) == [Produced(0, 0, 0), Produced(5, 6, 0), Produced(0, 0, 1)]


def test_a_wrong_checksum_is_refused_with_a_text_from_version_8_on(
    house: FluvioHouse, unit: FluvioPeer
) -> None:
    house.make()
    bad = records.batch(records.counted(SAID), 3, crc=1)
    entries = [(0, batch_of(b"a")), (0, bad), (0, batch_of(b"b"))]
    [first, refused, second] = ask(unit, *entries)
    assert (first, second) == (Produced(0, 0, 0), Produced(0, 0, 1))
    assert refused.code == 2
    assert b"orders/0, batch 0: checksum" in refused.extra
    assert ask(unit, (0, bad), version=7) == [Produced(0, 2, 0)]
    assert values(house.stored()) == [b"a", b"b"]


def test_a_transactional_id_is_refused_with_a_text_from_version_8_on(
    house: FluvioHouse, unit: FluvioPeer
) -> None:
    house.make()
    [refused] = ask(unit, (0, batch_of(b"a")), transactional_id="t1")
    assert refused.code == 2
    assert refused.extra == b"transactional id 't1': Fluvio's transactions is not supported."
    assert ask(unit, (0, batch_of(b"a")), transactional_id="t1", version=7) == [Produced(0, 2, 0)]
    assert house.stored() == []


def test_a_schema_is_no_transaction(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make()
    data = records.batch(records.counted(SAID), 3, attributes=0x10, schema=7)
    assert ask(unit, (0, data)) == [Produced(0, 0, 0)]
    [batch] = house.stored()
    assert not batch.is_transactional
    assert [header.key for record in batch.records() for header in record.headers] == ["fluvio.schema-id"] * 3


def test_a_batch_above_32_mib_is_too_large(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make(segment_bytes=str(128 << 20))
    payload = struct.pack(">i", 1) + records.records([FluvioRecord(None, bytes(33_000_000))])
    assert ask(unit, (0, sealed(payload))) == [Produced(0, 0, 0)]
    payload = struct.pack(">i", 1) + records.records([FluvioRecord(None, bytes(34_000_000))])
    assert ask(unit, (0, sealed(payload))) == [Produced(0, 10, 0)]


def sealed(payload: bytes) -> bytes:
    """A batch of one record; a checksum bit by bit would take minutes for so many bytes."""
    made = bytearray(records.batch(b"", 1))
    made[8:12] = struct.pack(">i", 45 + len(payload))
    made += payload
    made[17:21] = struct.pack(">I", crc32c.crc32c(bytes(made[21:])))
    return bytes(made)


def test_a_batch_that_is_larger_than_the_topic_allows_is_10(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make(max_message_bytes="100")
    assert ask(unit, (0, batch_of(bytes(100)))) == [Produced(0, 10, 0)]
    assert ask(unit, (0, batch_of(b"a"))) == [Produced(0, 0, 0)]


def test_a_closed_partition_is_an_error_of_the_storage(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make()
    house.close_partition("orders", 0)
    assert ask(unit, (0, batch_of(b"a"))) == [Produced(0, 56, 0)]


def test_smartmodules_are_refused_by_name_and_nothing_is_stored(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make()
    assert ask(unit, (0, batch_of(b"a")), smartmodules=wire.predefined("dedup")) == [
        Produced(0, 6001, 0, b"dedup")
    ]
    [refused] = ask(unit, (0, batch_of(b"a")), smartmodules=wire.ad_hoc(b"\x1f\x8b"))
    assert refused.code == 6002
    assert refused.extra[2:-1].decode() == NO_ENGINE
    assert house.stored() == []


@pytest.mark.parametrize("version", range(8))
@pytest.mark.parametrize("is_sized", [True, False], ids=["sized", "document"])
@pytest.mark.parametrize("smartmodules", [None, b"\0\0\0\0"], ids=["no list", "list"])
def test_below_version_8_either_form_of_records_is_read_with_the_list_or_without(
    house: FluvioHouse, unit: FluvioPeer, version: int, is_sized: bool, smartmodules: bytes | None
) -> None:
    house.make()
    payload = records.counted(SAID) if is_sized else records.records(SAID)
    data = records.batch(payload, 3, base_offset=2)
    options: dict[str, Any] = {"version": version, "is_sized": is_sized, "smartmodules": smartmodules}
    assert ask(unit, (0, data), (0, data), (4, data), **options) == [
        Produced(0, 0, 0),
        Produced(0, 0, 3),
        Produced(4, 6, 0),
    ]
    assert values(house.stored()) == [b"a", b"b", b"\x80"] * 2


def test_the_documents_own_example_is_stored(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make("test-produce")
    body = "00 0001 00007530 00000001 000c" + b"test-produce".hex() + "00000001 00000000"
    record = "12 00 00 00 00 06 616263 00"
    covered = "0000 00000000" + "0000018bcfe56800" * 2 + "ff" * 10 + "00000000" + record
    crc = records.crc32c(bytes.fromhex(covered))
    length = 9 + len(bytes.fromhex(covered))
    batch = f"0000000000000000 {length:08x} 00000000 02 {crc:08x} {covered}"
    request = frame(0, 7, bytes.fromhex(body + batch + "00000000"))
    assert wire.produced(unit.ask(request), version=7) == [Produced(0, 0, 0)]
    [record_stored] = house.stored(topic="test-produce")[0].records()
    assert (record_stored.key, record_stored.value) == (None, b"abc")


@pytest.mark.parametrize("version", [0, 1, 2, 4, 5, 7, 8, 24, 25])
def test_answers_have_what_their_version_has(house: FluvioHouse, unit: FluvioPeer, version: int) -> None:
    house.make()
    assert ask(unit, (0, batch_of(b"a")), version=version) == [Produced(0, 0, 0)]


@pytest.mark.parametrize("version", [7, 24])
def test_what_is_no_produce_closes(unit: FluvioPeer, version: int) -> None:
    good = wire.produce("orders", (0, batch_of(b"a")), version=version, smartmodules=None)
    cut = good[:-1]
    with pytest.raises(ProtocolError):
        unit.received(struct.pack(">i", len(cut) - 4) + cut[4:])


def test_a_negative_time_closes(unit: FluvioPeer) -> None:
    with pytest.raises(ProtocolError, match="timeout_ms"):
        unit.received(wire.produce("orders", timeout_ms=-1))


def test_a_count_that_lies_takes_no_memory(unit: FluvioPeer) -> None:
    for version in (7, 24):
        body = b"\0" + struct.pack(">hii", 1, 0, 0x7FFFFFFF)
        with pytest.raises(ProtocolError):
            unit.received(frame(0, version, body))


CODECS: dict[int, Callable[[bytes], bytes]] = {
    0: bytes,
    1: lambda data: zlib.compress(data, wbits=31),
    2: lambda data: bytes(cramjam.snappy.compress(data)),
    3: lambda data: lz4.frame.compress(data, block_linked=False),
    4: lambda data: zstandard.ZstdCompressor(1).compress(data),
}


@pytest.mark.parametrize(
    ("compression", "allowed"),
    [(0, [0]), (1, [1]), (2, [2]), (3, [3]), (4, [0, 1, 2, 3, 4]), (5, [4])],
    ids=["none", "gzip", "snappy", "lz4", "any", "zstd"],
)
def test_a_codec_that_the_topic_does_not_allow_is_9000(
    house: FluvioHouse, unit: FluvioPeer, compression: int, allowed: list[int]
) -> None:
    spec = TopicSpec(replicas=Computed(partition_count=1, replication_factor=1), compression=compression)
    house.run(lambda: house.broker.create_topics([new_topic("orders", spec)]))
    payload = records.counted(SAID)
    entries = [(0, records.batch(CODECS[codec](payload), 3, attributes=codec)) for codec in CODECS]
    found = [each.code for each in ask(unit, *entries)]
    assert found == [0 if codec in allowed else 9000 for codec in CODECS]
    assert [batch.codec.value for batch in house.stored()] == allowed


def test_fluvios_own_topic_has_no_records(unit: FluvioPeer) -> None:
    assert ask(unit, (0, batch_of(b"a")), topic="consumer-offset") == [Produced(0, 13, 0)]


def test_garbage_is_refused_and_stored_by_nobody(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make()
    [refused] = ask(unit, (0, b"garbage"))
    assert refused.code == 2
    assert house.stored() == []


def test_refusals_are_counted(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make()
    ask(unit, (0, b"garbage"), (5, batch_of(b"a")))
    text = house.metrics.text()
    assert 'onelog_refusals_total{dialect="fluvio",code="corrupt_batch"} 1' in text
    assert 'onelog_refusals_total{dialect="fluvio",code="unknown_partition"} 1' in text
