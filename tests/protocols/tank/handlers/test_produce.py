import pytest

from onelog.binary.compression import Codec
from onelog.metrics import RECORDS_PRODUCED, REFUSALS
from onelog.protocols.tank.handlers import produce as subject
from onelog.records.batch import Batch
from onelog.records.record import Record
from tests.support import tank_wire as wire
from tests.support.tank_peer import TankHouse, TankPeer

LIE = b"\x0c" + wire.message(b"x")
HELLO = wire.bundle(b"hello")


def test_the_first_message_is_number_1_and_a_bundle_takes_as_many_as_it_has(peer: TankPeer) -> None:
    peer.house.make()
    peer.produce(b"a")
    peer.produce(b"b", b"c", b"d")
    peer.produce(b"e")
    part = peer.fetch(0)
    assert (part.base, part.last) == (1, 5)
    assert peer.fetch(5).base == 5


def test_a_bundle_is_one_batch(peer: TankPeer) -> None:
    peer.house.make()
    peer.produce(b"a", b"b", b"c")
    info = peer.house.broker.describe_partition("orders", 0)
    assert (info.high_watermark, info.offset_next) == (3, 3)
    assert peer.house.metrics.value(RECORDS_PRODUCED, "tank") == 3


def test_an_unknown_topic_is_one_code_whatever_it_has_and_the_others_are_answered(peer: TankPeer) -> None:
    peer.house.make()
    nope = ("nope", [(0, HELLO), (1, HELLO), (2, HELLO)])
    assert peer.codes(wire.produce(nope, ("orders", [(0, HELLO)]), ("n", [(0, HELLO)]))) == b"\xff\x00\xff"
    assert peer.house.broker.describe_partition("orders", 0).high_watermark == 1


def test_topics_are_not_made_by_writing(peer: TankPeer) -> None:
    assert peer.codes(wire.produce(("nope", [(0, HELLO)]))) == b"\xff"
    assert peer.house.broker.topics() == []


@pytest.mark.parametrize("name", ["", "\x00", "ö", "x" * 255])
def test_what_can_be_no_topic_is_an_unknown_one(peer: TankPeer, name: str) -> None:
    request = wire.produce(("nope", [(0, HELLO)])).replace(wire.text("nope"), wire.text("abcd"))
    raw = name.encode("latin-1")
    payload = request[5:].replace(wire.text("abcd"), bytes([len(raw)]) + raw)
    assert peer.codes(wire.frame(1, payload)) == b"\xff"


def test_an_unknown_partition_is_told_in_its_place(peer: TankPeer) -> None:
    peer.house.make(partitions=2)
    entries = [(1, HELLO), (2, HELLO), (0xFFFF, HELLO), (0, HELLO)]
    assert peer.codes(wire.produce(("orders", entries))) == b"\x00\x01\x01\x00"


def test_one_partition_may_stand_there_86_times(peer: TankPeer) -> None:
    peer.house.make()
    entries = [(0, wire.bundle(b"%d" % number)) for number in range(86)]
    assert peer.codes(wire.produce(("orders", entries))) == bytes(86)
    contents = [wire.bundles(peer.fetch(1).chunk)[number] for number in (0, 50, 85)]
    assert contents == [wire.bundle(b"0"), wire.bundle(b"50"), wire.bundle(b"85")]


def test_nothing_to_write_is_answered_with_the_request_alone(peer: TankPeer) -> None:
    peer.house.make()
    assert peer.ask(wire.produce(request=9)) == bytes.fromhex("01 04000000 09000000")
    assert peer.codes(wire.produce(("orders", []), ("nope", []))) == b""


def test_an_answer_names_its_request_whatever_number_that_is(peer: TankPeer) -> None:
    peer.house.make()
    for request in (0, 1, 0xFFFFFFFF):
        answer = peer.ask(wire.produce(("orders", [(0, HELLO)]), request=request))
        assert answer == b"\x01\x05\x00\x00\x00" + request.to_bytes(4, "little") + b"\x00"


def test_numbers_may_leave_gaps_and_the_next_bundle_goes_on_behind_them(peer: TankPeer) -> None:
    peer.house.make()
    for bundle, base in ((wire.sparse((100, b"a"), (105, b"b")), 100), (wire.sparse((230, b"c")), 0)):
        request = wire.produce(("orders", [(0, bundle, base)]), numbered=True)
        assert peer.codes(request) == b"\x00"
    peer.produce(b"d")
    assert peer.fetch(231).base == 231
    offsets = [at for batch in peer.house.stored() for at, _ in batch.numbered()]
    assert offsets == [99, 104, 229, 230]


@pytest.mark.parametrize("numbered", [True, False])
def test_a_sparse_bundle_says_its_numbers_in_either_request(peer: TankPeer, numbered: bool) -> None:
    peer.house.make()
    entry = (0, wire.sparse((7, b"a")), 3) if numbered else (0, wire.sparse((7, b"a")))
    assert peer.codes(wire.produce(("orders", [entry]), numbered=numbered)) == b"\x00"
    assert peer.fetch(0).last == 7


def test_a_number_for_a_bundle_that_says_none_is_kept(peer: TankPeer) -> None:
    peer.house.make()
    assert peer.codes(wire.produce(("orders", [(0, wire.bundle(b"a", b"b"), 500)]), numbered=True)) == b"\x00"
    part = peer.fetch(0)
    assert (part.code, part.base, part.last) == (0, 500, 501)
    peer.house.restart()
    assert peer.house.tank().fetch(0) == part


def test_number_0_means_next(peer: TankPeer) -> None:
    peer.house.make()
    for _ in range(2):
        assert peer.codes(wire.produce(("orders", [(0, HELLO, 0)]), numbered=True)) == b"\x00"
    assert peer.fetch(0).last == 2


@pytest.mark.parametrize(("version", "code"), [(2, 10), (1, 10), (0, 2)])
@pytest.mark.parametrize("first", [1, 3])
def test_a_number_that_was_given_already_is_refused(
    peer: TankPeer, version: int, code: int, first: int
) -> None:
    peer.house.make()
    peer.produce(b"a", b"b", b"c")
    request = wire.produce(
        ("orders", [(0, wire.sparse((first, b"x")), first)]), version=version, numbered=True
    )
    assert peer.codes(request) == bytes([code])
    assert peer.fetch(0).last == 3
    assert peer.house.metrics.value(REFUSALS, "tank", "invalid_record") == 1


def test_numbers_are_judged_by_what_the_same_request_wrote_before(peer: TankPeer) -> None:
    peer.house.make()
    entries = [
        (0, HELLO),
        (0, wire.sparse((1, b"x"))),
        (0, wire.sparse((2, b"y"))),
        (0, wire.sparse((9, b"z"))),
    ]
    assert peer.codes(wire.produce(("orders", entries))) == b"\x00\x0a\x00\x00"


@pytest.mark.parametrize(("version", "code"), [(2, 10), (0, 2)])
def test_a_bundle_that_lies_is_refused_and_the_others_are_taken(
    peer: TankPeer, version: int, code: int
) -> None:
    peer.house.make()
    for lie in (LIE, b"", b"\x00\x00", b"\x84" + wire.message(b"x"), b"\x05bad snappy"):
        request = wire.produce(("orders", [(0, HELLO), (0, lie), (0, HELLO)]), version=version)
        assert peer.codes(request) == bytes([0, code, 0])
    assert peer.fetch(0).last == 10


def test_no_code_is_one_that_a_client_does_not_know(peer: TankPeer) -> None:
    peer.house.make(max_message_bytes="100")
    large = wire.bundle(b"x" * 200)
    assert peer.codes(wire.produce(("orders", [(0, large), (0, HELLO)]))) == b"\x0a\x00"
    assert peer.codes(wire.produce(("orders", [(0, large)]), version=0)) == b"\x02"


def test_a_partition_that_is_closed_is_a_fault_of_the_system(peer: TankPeer) -> None:
    peer.house.make()

    peer.house.close_partition("orders", 0)
    assert peer.codes(wire.produce(("orders", [(0, HELLO)]))) == b"\x02"
    assert peer.fetch(0) == wire.Part(0, 0xFB)


def test_an_answer_means_that_the_bundles_are_on_disk(peer: TankPeer) -> None:
    peer.house.make()
    [answer] = peer.begin(wire.produce(("orders", [(0, HELLO)])))
    assert answer.frame()[-1] == 0
    info = peer.house.broker.describe_partition("orders", 0)
    assert info.high_watermark == info.offset_next == 1


def test_a_thousand_requests_at_once_are_stored_in_their_order(peer: TankPeer) -> None:
    peer.house.make()
    requests = [wire.produce(("orders", [(0, wire.bundle(b"%d" % n))]), request=n) for n in range(1000)]
    answers = [answer.frame() for answer in peer.begin(*requests)]
    assert sorted(int.from_bytes(answer[5:9], "little") for answer in answers) == list(range(1000))
    contents = [r.value for batch in peer.house.stored() for r in batch.records()]
    assert contents == [b"%d" % n for n in range(1000)]


def test_one_request_has_a_bound_on_its_messages(peer: TankPeer, monkeypatch: pytest.MonkeyPatch) -> None:
    peer.house.make()
    monkeypatch.setattr(subject, "MESSAGES_MAX", 3)
    two = wire.bundle(b"a", b"b")
    assert peer.codes(wire.produce(("orders", [(0, two), (0, two), (0, HELLO)]))) == b"\x00\x0a\x00"


def test_snappy_reaches_the_log_as_snappy(peer: TankPeer) -> None:
    peer.house.make()
    batch = Batch.build([Record(None, b"A" * 1500, 5)], codec=Codec.ZSTD)
    peer.house.append(batch)
    [bundle] = wire.bundles(peer.fetch(0).chunk)
    assert bundle[0] & 3 == 1
    assert peer.codes(wire.produce(("orders", [(0, bundle)]))) == b"\x00"
    assert [batch.codec for batch in peer.house.stored()] == [Codec.ZSTD, Codec.SNAPPY]


@pytest.mark.parametrize("acks", [0, 1, 255])
def test_whatever_copies_are_asked_for_there_is_one_and_it_is_on_disk(peer: TankPeer, acks: int) -> None:
    peer.house.make()
    request = bytearray(wire.produce(("orders", [(0, HELLO)])))
    assert request[15:20] == b"\x00\x00\x00\x00\x00"
    request[15:20] = bytes([acks]) + b"\x01\x00\x00\x00"
    assert peer.codes(bytes(request)) == b"\x00"
    assert peer.house.broker.describe_partition("orders", 0).high_watermark == 1


def test_the_client_says_who_it_is(peer: TankPeer) -> None:
    peer.house.make()
    peer.produce(b"x")
    assert peer.session.client_id == "c++"


def test_a_restart_keeps_numbers_and_bytes(house: TankHouse) -> None:
    house.make()
    peer = house.tank()
    bundles = [wire.bundle(b"a", b"b"), wire.sparse((10, b"c"), (15, b"d")), wire.bundle(b"e", at=7)]
    for bundle in bundles:
        assert peer.codes(wire.produce(("orders", [(0, bundle)]))) == b"\x00"
    house.restart()
    peer = house.tank()
    found = peer.fetch(0)
    assert (found.base, found.last) == (1, 16)
    assert wire.bundles(found.chunk + peer.fetch(16).chunk) == bundles
    peer.produce(b"f")
    assert peer.fetch(17).base == 17
