"""Bytes <-> calls: whole, byte by byte, with the next frame behind, and nonsense."""

import struct
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onelog.protocols.contract import Call, FrameLimits, ProtocolError
from onelog.protocols.tank.connection import TankConnection
from onelog.protocols.tank.framing import FRAME_BYTES_MAX
from onelog.protocols.tank.messages.admin import StatusRequest
from onelog.protocols.tank.messages.fetch import FetchRequest
from onelog.protocols.tank.messages.produce import ProduceNumberedRequest, ProduceRequest, ProduceResponse
from onelog.protocols.tank.messages.topics import DiscoverPartitionsRequest
from onelog.protocols.tank.settings import TankSettings
from tests.support import tank_wire as wire

STATUS = wire.frame(0x0A, struct.pack("<I", 7))
PRODUCE = wire.produce(("orders", [(0, wire.bundle(b"one", b"two")), (3, wire.bundle(b"x"))]))
NUMBERED = wire.produce(("orders", [(1, wire.sparse((100, b"a")), 100)]), numbered=True)
FETCH = wire.fetch(("orders", [(0, 5, 9)]), ("nope", []), version=3, wait=10, least=2)


def connection(frame_bytes_max: int = 100 << 20, settings: TankSettings | None = None) -> TankConnection:
    return TankConnection(FrameLimits(frame_bytes_max=frame_bytes_max), settings or TankSettings())


def fed(to: TankConnection, data: bytes, *, step: int | None = None) -> list[Call]:
    """All calls of the data, handed over in steps as a socket would."""
    calls: list[Call] = []
    while data:
        lent = to.lend(len(data))
        count = min(len(lent), len(data), step or len(data))
        lent[:count] = data[:count]
        data = data[count:]
        calls += to.received(count)
    return calls


def only(data: bytes) -> object:
    [call] = fed(connection(), data)
    return call.message


def test_a_ping_is_the_first_thing_that_a_client_hears() -> None:
    assert b"".join(connection().opening()) == wire.PING


def test_answers_may_overtake() -> None:
    assert not connection().replies_in_order


@pytest.mark.parametrize("step", [None, 1, 3, 7])
def test_frames_become_calls_in_any_pieces(step: int | None) -> None:
    calls = fed(connection(), STATUS + PRODUCE + FETCH + NUMBERED + STATUS, step=step)
    kinds = [type(call.message) for call in calls]
    assert kinds == [StatusRequest, ProduceRequest, FetchRequest, ProduceNumberedRequest, StatusRequest]


def test_a_produce_is_bundles_for_partitions_of_topics() -> None:
    request = only(PRODUCE)
    assert isinstance(request, ProduceRequest)
    assert (request.version, request.request_id, request.client_id) == (2, 1, b"c++")
    [topic] = request.topics
    assert topic.name == b"orders"
    assert [(e.partition, bytes(e.bundle), e.base_sequence) for e in topic.entries] == [
        (0, wire.bundle(b"one", b"two"), 0),
        (3, wire.bundle(b"x"), 0),
    ]


def test_the_base_of_a_numbered_bundle_is_not_counted_in_its_length() -> None:
    request = only(NUMBERED)
    assert isinstance(request, ProduceNumberedRequest)
    [entry] = request.topics[0].entries
    assert (entry.base_sequence, bytes(entry.bundle)) == (100, wire.sparse((100, b"a")))


@pytest.mark.parametrize("version", [0, 1, 2, 3, 0xFFFF])
def test_a_fetch_has_a_byte_of_flags_from_version_3_on(version: int) -> None:
    request = only(wire.fetch(("orders", [(4, 5, 6)]), version=version, wait=7, least=8))
    assert isinstance(request, FetchRequest)
    [asked] = request.topics[0].partitions
    assert (asked.partition, asked.sequence, asked.bytes_max) == (4, 5, 6)
    assert (request.wait_ms, request.bytes_min) == (7, 8)


@pytest.mark.parametrize("names", [1, 2])
def test_a_fetch_that_says_version_3_and_means_2_is_understood(names: int) -> None:
    plain = bytearray(wire.fetch(*[("orders", [(4, 5, 6)])] * names, version=2))
    plain[5] = 3
    request = only(bytes(plain))
    assert isinstance(request, FetchRequest)
    assert [topic.partitions[0].sequence for topic in request.topics] == [5] * names


def test_a_list_of_partitions_goes_to_the_end_of_its_frame() -> None:
    request = only(wire.frame(6, struct.pack("<I", 9) + wire.text("t") + struct.pack("<HH", 1, 0)))
    assert request == DiscoverPartitionsRequest(9, b"t", [1, 0])


@pytest.mark.parametrize("data", [PRODUCE, FETCH])
def test_what_stands_behind_a_request_in_its_frame_is_ignored(data: bytes) -> None:
    longer = wire.frame(data[0], data[5:] + b"more")
    assert [type(call.message) for call in fed(connection(), longer + STATUS)][1:] == [StatusRequest]


@pytest.mark.parametrize("payload", [b"", b"anything"])
def test_a_clients_ping_gets_no_answer_and_does_no_harm(payload: bytes) -> None:
    [call] = fed(connection(), wire.frame(3, payload) + STATUS)
    assert isinstance(call.message, StatusRequest)


@pytest.mark.parametrize("payload", [b"", b"\x05\x00"])
def test_a_replica_that_says_its_number_is_heard_and_not_answered(payload: bytes) -> None:
    [call] = fed(connection(), wire.frame(4, payload) + STATUS)
    assert isinstance(call.message, StatusRequest)


@pytest.mark.parametrize(
    "frame",
    [
        wire.frame(0, b""),
        wire.frame(0x09, bytes(20)),
        wire.frame(0x63, b"x"),
        wire.frame(2, PRODUCE[5:15]),
        wire.frame(1, PRODUCE[5:-1]),
        wire.frame(5, PRODUCE[5:]),
        wire.frame(2, b""),
        wire.frame(2, b"\x03"),
        wire.frame(0x0A, b"\x01\x02"),
        wire.frame(6, struct.pack("<I", 9) + wire.text("t") + b"\x01"),
        b"\x01" + struct.pack("<I", FRAME_BYTES_MAX + 1),
        b"\x01" + struct.pack("<I", (256 << 20) + 1),
        b"\xff\xff\xff\xff\xff",
    ],
)
def test_a_break_hands_over_what_came_whole_before_it(frame: bytes) -> None:
    with pytest.raises(ProtocolError) as broken:
        fed(connection(), STATUS + FETCH + frame + STATUS)
    assert [type(call.message) for call in broken.value.calls] == [StatusRequest, FetchRequest]


def test_what_is_between_brokers_is_refused_by_its_name() -> None:
    with pytest.raises(ProtocolError, match="FETCH_AS_PEER"):
        fed(connection(), wire.frame(9, bytes(12)))


def test_a_list_of_partitions_has_as_many_as_an_answer_can_count() -> None:
    longest = wire.frame(6, struct.pack("<I", 9) + wire.text("t") + bytes(2 * 0xFFFF))
    [call] = fed(connection(), longest)
    assert len(call.message.partitions) == 0xFFFF
    with pytest.raises(ProtocolError, match="65536 of them"):
        fed(connection(), wire.frame(6, struct.pack("<I", 9) + wire.text("t") + bytes(2 * 0x10000)))


def test_an_unknown_kind_is_refused_before_its_payload_is_awaited() -> None:
    with pytest.raises(ProtocolError, match="frame kind at byte 0: 63"):
        fed(connection(), b"\x63" + struct.pack("<I", 1000))


def test_a_length_that_lies_gets_no_memory() -> None:
    peer = connection()
    assert fed(peer, b"\x01" + struct.pack("<I", FRAME_BYTES_MAX) + b"\x02") == []
    assert len(peer.lend(1 << 20)) <= 64 * 1024


def test_a_smaller_bound_of_the_server_holds() -> None:
    with pytest.raises(ProtocolError, match="expected 0 to 10"):
        fed(connection(frame_bytes_max=10), PRODUCE)


def test_the_settings_bound_of_a_frame_holds() -> None:
    with pytest.raises(ProtocolError, match="expected 0 to 20"):
        fed(connection(settings=TankSettings(frame_bytes_max=20)), PRODUCE)
    large = connection(256 << 20, TankSettings(frame_bytes_max=256 << 20))
    assert fed(large, b"\x01" + struct.pack("<I", FRAME_BYTES_MAX + 1)) == []


def test_an_answer_is_one_frame_and_a_numbered_produce_is_answered_as_a_produce_is() -> None:
    assert b"".join(connection().send(None, ProduceResponse(7, b"\x00\x0a"))) == bytes.fromhex(
        "01 06000000 07000000 00 0a"
    )


def test_there_are_no_words_for_a_farewell() -> None:
    assert connection().farewell(ProtocolError("bad")) == ()


@given(st.binary(max_size=80), st.integers(1, 9))
@settings(max_examples=100, deadline=None)
def test_nonsense_gives_calls_or_a_protocol_error(data: bytes, step: int) -> None:
    with suppress(ProtocolError):
        fed(connection(), data, step=step)


@given(st.sampled_from([PRODUCE, NUMBERED, FETCH, STATUS]), st.data())
@settings(max_examples=100, deadline=None)
def test_a_spoilt_request_gives_calls_or_a_protocol_error(frame: bytes, data: st.DataObject) -> None:
    spoilt = bytearray(frame)
    for _ in range(data.draw(st.integers(1, 4))):
        spoilt[data.draw(st.integers(5, len(frame) - 1))] = data.draw(st.integers(0, 255))
    with suppress(ProtocolError):
        fed(connection(), bytes(spoilt))
