"""What was captured, asked of ours: each begins from an empty topic, and ours answer as theirs.

What has to differ is listed, with its reason, in docs/protocols/fluvio.md.
"""

import re
from collections.abc import Iterator

from onelog.protocols.fluvio.messages.produce import ProduceRequest
from onelog.protocols.fluvio.recordset import decode_records
from onelog.protocols.fluvio.versions import UNIT_APIS
from tests.support import fluvio_unit_wire as wire
from tests.support.fluvio_golden import Frame, capture
from tests.support.fluvio_peer import FluvioHouse, FluvioPeer
from tests.support.source_tree import ROOT

SAME = [
    "raw-27-produce-mixed",
    "raw-28-produce-missing-topic",
    "raw-29-fetchoffsets-unknown",
    "raw-30-stream-unknown-topic",
    "raw-31-stream-evicted",
    "raw-33-ack-unknown-session",
    "raw-34-smartmodule-missing",
]
DIFFERENT = {
    "raw-32-stream-cut-at-max-bytes": "theirs cuts its second batch, and its clients lose it; ours sends one whole",
    "py-14-consume": "compressed batches are compressed anew: codec and records are the same, bytes may differ",
    "py-15-stream-beyond-leo": "streams are numbered by connection, and the capture leaves some out",
    "py-17-stream-managed": "the same, and as in py-14",
    "py-18-consumer-offset-update": "the same number",
    "py-19-consumer-offset-fetch-found": "the time is the clock's",
}


def answers(peer: FluvioPeer, data: bytes, count: int = 1) -> list[bytes]:
    """So many frames, with their lengths."""
    peer.send(data)
    found: list[bytes] = []
    while len(found) < count:
        found += peer.frames()
    return [len(frame).to_bytes(4, "big") + frame for frame in found]


def asked(name: str) -> Iterator[tuple[Frame, list[Frame]]]:
    """Each request of a capture with the answers that name it, in their order."""
    frames = capture(name)
    for request in (frame for frame in frames if frame.is_request):
        same = [f for f in frames if not f.is_request and f.correlation_id == request.correlation_id]
        yield request, same


def test_requests_of_one_topic_get_the_captured_answers(house: FluvioHouse) -> None:
    house.make("gold")
    for name in SAME:
        unit = house.unit()
        for request, expected in asked(name):
            assert answers(unit, request.data) == [frame.data for frame in expected], name


def test_a_stream_is_told_when_its_topic_goes(house: FluvioHouse) -> None:
    house.make("gold")
    [(produce, _)] = asked("raw-27-produce-mixed")
    answers(house.unit(), produce.data)
    unit = house.unit()
    [(request, [records, gone])] = asked("raw-35-topic-deleted")
    assert answers(unit, request.data) == [records.data]
    house.delete_topic("gold")
    assert answers(unit, b"") == [gone.data]


def test_where_theirs_cuts_ours_is_whole(house: FluvioHouse) -> None:
    house.make("gold")
    [(produce, _)] = asked("raw-27-produce-mixed")
    answers(house.unit(), produce.data)
    [(request, [theirs])] = asked("raw-32-stream-cut-at-max-bytes")
    [ours] = answers(house.unit(), request.data)
    found, cut = wire.streamed(ours[8:]), wire.streamed(theirs.data[8:])
    assert cut.records.startswith(found.records)
    assert [value for _, _, value in wire.values(found.records)] == [b"a"]
    assert found.part[:5] == cut.part[:5]


def test_the_newest_clients_get_the_captured_answers(house: FluvioHouse) -> None:
    house.make("cli18734")
    [(request, [expected])] = asked("cli-23-produce-v25")
    assert answers(house.unit(), request.data) == [expected.data]
    house.make("two", partitions=2)
    unit = house.unit()
    for partition, stream in enumerate(frame for frame in capture("cli-24-consume-v25") if is_data(frame)):
        records = wire.streamed(stream.data[8:], version=25).records
        answers(unit, wire.produce("two", (partition, records)))
    reader = house.unit()
    for request, expected_frames in asked("cli-24-consume-v25"):
        if expected_frames:  # the capture ends before the last acknowledgement is answered
            assert answers(reader, request.data) == [frame.data for frame in expected_frames]


def is_data(frame: Frame) -> bool:
    return not frame.is_request and frame.values.get("records_len", 0) > 0


def test_a_day_with_the_wheel_gets_the_captured_answers(house: FluvioHouse) -> None:
    """The capture leaves out some of what it wrote; that is taken from what it read."""
    house.make("pya-one")
    unit = house.unit()
    [_, (_, [theirs]), _] = asked("py-14-consume")
    expected = wire.streamed(theirs.data[8:])
    produce_all(unit, expected.records)
    for name in ("py-11-produce-empty", "py-16-consumer-offset-fetch"):
        for request, frames in asked(name):
            assert answers(unit, request.data) == [frame.data for frame in frames], name
    for request, frames in asked("py-14-consume"):
        ours = answers(unit, request.data)
        if request.key == 1003:
            found = wire.streamed(ours[0][8:])
            assert found[:2] == expected[:2]
            assert found.part[:5] == expected.part[:5]
            assert list(decode_records(found.records, where="ours")) == list(
                decode_records(expected.records, where="theirs")
            )
        else:
            assert ours == [frame.data for frame in frames]


def produce_all(unit: FluvioPeer, records: bytes) -> None:
    """What was read is written, batch by batch; where the writing was captured, by that, and its answer held."""
    captured = {}
    for name in ("py-10-produce-one", "py-12-produce-50", *(f"py-13-produce-{c}" for c in CODECS)):
        [(request, [answer])] = asked(name)
        body, _ = UNIT_APIS[0].request.decode(memoryview(request.data), 20, 24)
        assert isinstance(body, ProduceRequest)
        [view] = [entry.records for topic in body.topics for entry in topic.entries]
        captured[bytes(view[12:])] = (request, answer)
    at = 0
    while at < len(records):
        size = 12 + int.from_bytes(records[at + 8 : at + 12], "big")
        batch = records[at : at + size]
        at += size
        if (pair := captured.pop(batch[12:], None)) is not None:
            assert answers(unit, pair[0].data) == [pair[1].data]
        else:
            answers(unit, wire.produce("pya-one", (0, batch)))
    assert not captured


CODECS = ("gzip", "snappy", "lz4", "zstd")


def test_a_consumer_of_the_wheels_gets_the_captured_answers_but_for_its_numbers(house: FluvioHouse) -> None:
    house.make("pya-one")
    unit = house.unit()
    [_, (_, [theirs]), _] = asked("py-14-consume")
    produce_all(unit, wire.streamed(theirs.data[8:]).records)
    [(request, [frame])] = asked("py-15-stream-beyond-leo")
    found, expected = (wire.streamed(each[8:]) for each in (answers(unit, request.data)[0], frame.data))
    assert (found.stream_id, expected.stream_id) == (1, 5)
    assert found._replace(stream_id=5) == expected
    [(request, [frame])] = asked("py-17-stream-managed")
    found, expected = (wire.streamed(each[8:]) for each in (answers(unit, request.data)[0], frame.data))
    assert found.part[:5] == expected.part[:5]
    assert (found.stream_id, expected.stream_id) == (2, 9)
    [(request, [frame])] = asked("py-18-consumer-offset-update")
    ours = request.data[:-4] + (2).to_bytes(4, "big")
    assert answers(unit, ours) == [frame.data]
    [(request, [frame])] = asked("py-19-consumer-offset-fetch-found")
    [ours] = answers(unit, request.data)
    assert ours[:-8] == frame.data[:-8]
    assert int.from_bytes(ours[-8:], "big") == house.clock.now_ms // 1000
    [(request, [frame])] = asked("py-20-consumer-offset-delete")
    assert answers(unit, request.data) == [frame.data]
    [(request, [frame])] = asked("py-16-consumer-offset-fetch")
    assert answers(unit, request.data) == [frame.data]


def test_every_difference_is_on_the_page() -> None:
    page = (ROOT / "docs" / "protocols" / "fluvio.md").read_text(encoding="utf-8")
    rows = set(re.findall(r"^\| `([\w-]+)` \|", page, re.MULTILINE))
    assert set(DIFFERENT) <= rows
