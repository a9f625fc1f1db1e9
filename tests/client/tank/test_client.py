import struct
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onelog
from onelog.client.errors import BadAnswer, BrokerUnavailable, ClientError, OutcomeUnknown
from onelog.client.retry import Retrier, RetryPolicy
from onelog.client.tank.client import BUNDLE_BYTES_MAX, BUNDLE_MESSAGES_MAX, END, Fetched, TankClient, lots
from onelog.client.tank.errors import OutOfRange, TankError
from onelog.protocols.tank.messages.topics import PartitionSpan
from onelog.records.record import Header, Record
from tests.support import tank_wire as wire
from tests.support.hand_clock import HandClock
from tests.support.scripted_tank import HANG_UP, ScriptedTank

Answers = Callable[..., tuple[TankClient, ScriptedTank]]
ONE = Record(b"k", b"v", 1000)


@pytest.fixture
def answering() -> Iterator[Answers]:
    """A client and a broker that gives these answers, each with the number of its request."""
    open_ones: list[Any] = []

    def make(*answers: Any) -> tuple[TankClient, ScriptedTank]:
        left = iter(answers)

        def script(frame: bytes) -> object:
            answer = next(left)
            if answer is HANG_UP:
                return answer
            kind, before, after = answer
            numbered = frame[7:11] if frame[0] in (1, 2, 5) else frame[5:9]
            return wire.frame(kind, before + numbered + after)

        server, clock = ScriptedTank(script), HandClock()
        retrier = Retrier(RetryPolicy(timeout_s=5.0), clock=clock, sleep=clock.sleep)
        client = TankClient(server.address, retrier=retrier)
        open_ones.extend((client, server))
        return client, server

    yield make
    for each in open_ones:
        each.close()


def produced(*codes: int) -> tuple[int, bytes, bytes]:
    return 1, b"", bytes(codes)


def fetched(entry: bytes, chunk: bytes = b"") -> tuple[int, bytes, bytes]:
    """One entry of partition 3 of orders."""
    rest = b"\x01" + wire.text("orders") + b"\x01\x03\x00" + entry
    return 2, struct.pack("<I", 4 + len(rest)), rest + chunk


def whole(base: int, last: int, chunk: bytes) -> tuple[int, bytes, bytes]:
    return fetched(b"\x00" + struct.pack("<QQI", base, last, len(chunk)), chunk)


def prefixed(*bundles: bytes) -> bytes:
    return b"".join(wire.varint(len(bundle)) + bundle for bundle in bundles)


# ---- against a script


def test_a_produce_is_a_bundle_as_tank_writes_it(answering: Answers) -> None:
    client, server = answering(produced(0))
    assert client.produce("orders", 3, [ONE, Record(None, b"w", 1000)]) == 2
    bundle = b"\x08" + wire.message(b"v", at=1000, key=b"k") + wire.message(b"w", at=None)
    [frame] = server.frames
    assert frame.endswith(wire.text("orders") + b"\x01\x03\x00" + wire.varint(len(bundle)) + bundle)


def test_numbers_are_said_in_a_sparse_bundle(answering: Answers) -> None:
    client, server = answering(produced(0))
    numbered = [(100, Record(None, b"a", 5)), (103, Record(None, b"b", 5))]
    assert client.produce_numbered("orders", 3, numbered) == 2
    [frame] = server.frames
    assert frame[0] == 5
    assert frame.endswith(struct.pack("<Q", 100) + wire.sparse((100, b"a"), (103, b"b"), at=5))


def test_a_produce_whose_answer_was_lost_is_not_sent_again(answering: Answers) -> None:
    client, server = answering(HANG_UP)
    with pytest.raises(OutcomeUnknown, match=r"producing to orders/3.* may have done it"):
        client.produce("orders", 3, [ONE])
    assert len(server.frames) == 1


@pytest.mark.parametrize(("code", "name"), [(1, "UNKNOWN_PARTITION"), (2, "SYSTEM_ERROR"), (10, "INVALID"), (255, "UNKNOWN_TOPIC")])  # fmt: skip
def test_a_refused_bundle_is_an_error_with_its_name(answering: Answers, code: int, name: str) -> None:
    client, _ = answering(produced(code))
    with pytest.raises(TankError, match=f"{name} .* while producing to orders/3"):
        client.produce("orders", 3, [ONE])


def test_without_a_leader_a_bundle_is_sent_again(answering: Answers) -> None:
    client, server = answering(produced(0xFD), produced(0))
    assert client.produce("orders", 3, [ONE]) == 1
    assert len(server.frames) == 2


def test_an_answer_without_a_code_is_none(answering: Answers) -> None:
    client, _ = answering(produced())
    with pytest.raises(BadAnswer, match="no code"):
        client.produce("orders", 3, [ONE])


def test_messages_below_the_one_asked_for_are_left_out(answering: Answers) -> None:
    client, _ = answering(whole(5, 9, prefixed(wire.bundle(b"a", b"b", b"c", at=7))))
    found = client.fetch("orders", 3, 6)
    assert found == Fetched([(6, Record(None, b"b", 7)), (7, Record(None, b"c", 7))], 8, 9)


def test_a_sparse_bundle_says_its_numbers(answering: Answers) -> None:
    chunk = prefixed(wire.sparse((8, b"a"), (12, b"b"), at=7))
    client, _ = answering(fetched(b"\xfe" + struct.pack("<QI", 12, len(chunk)), chunk))
    assert [sequence for sequence, _ in client.fetch("orders", 3, 0).messages] == [8, 12]


def test_a_bundle_that_the_document_lets_a_broker_cut_off_is_asked_for_again(answering: Answers) -> None:
    chunk = prefixed(wire.bundle(b"a", at=7), wire.bundle(b"b", at=7))
    client, _ = answering(whole(1, 2, chunk[:-3]), whole(1, 2, chunk[:3]))
    assert client.fetch("orders", 3, 1) == Fetched([(1, Record(None, b"a", 7))], 2, 2)
    with pytest.raises(ClientError, match="more than 3 bytes; ask for more"):
        client.fetch("orders", 3, 1)


@pytest.mark.parametrize(("asked", "following"), [(10, 10), (END, 10), (0, 10)])
def test_nothing_leads_to_where_the_next_message_will_be(
    answering: Answers, asked: int, following: int
) -> None:
    client, _ = answering(whole(1, 9, b""))
    assert client.fetch("orders", 3, asked, wait_ms=5) == Fetched((), following, 9)


def test_a_fetch_whose_answer_was_lost_is_asked_again(answering: Answers) -> None:
    client, server = answering(HANG_UP, fetched(b"\xfd"), whole(1, 9, b""))
    assert client.fetch("orders", 3, 10).last == 9
    assert len(server.frames) == 3


def test_what_is_out_of_range_says_what_there_is(answering: Answers) -> None:
    client, _ = answering(fetched(b"\x01" + struct.pack("<QQIQ", 0, 9, 0, 4)))
    with pytest.raises(OutOfRange) as refused:
        client.fetch("orders", 3, 2)
    assert (refused.value.first_available, refused.value.last) == (4, 9)


@pytest.mark.parametrize(("entry", "name"), [(b"\xff", "UNKNOWN_PARTITION"), (b"\xfb", "SYSTEM_ERROR"), (b"\xfc\x7f\x00\x00\x01\x03\x2b", "OTHER_LEADER")])  # fmt: skip
def test_a_refused_fetch_is_an_error_with_its_name(answering: Answers, entry: bytes, name: str) -> None:
    client, _ = answering(fetched(entry))
    with pytest.raises(TankError, match=name):
        client.fetch("orders", 3, 2)


def test_an_unknown_topic_is_an_error(answering: Answers) -> None:
    rest = b"\x01" + wire.text("orders") + b"\x01\xff\xff"
    client, _ = answering((2, struct.pack("<I", 4 + len(rest)), rest))
    with pytest.raises(TankError, match="UNKNOWN_TOPIC"):
        client.fetch("orders", 3, 0)


@pytest.mark.parametrize("chunk", [b"\x02\x84\x00", b"\x03\x0c\x00\x00"])
def test_a_bundle_that_lies_is_no_answer(answering: Answers, chunk: bytes) -> None:
    client, _ = answering(whole(1, 9, chunk))
    with pytest.raises(BadAnswer, match="a bad bundle"):
        client.fetch("orders", 3, 1)


def test_other_partitions_than_asked_for_are_no_answer(answering: Answers) -> None:
    client, _ = answering(whole(1, 9, b""))
    with pytest.raises(BadAnswer, match="other partitions"):
        client.fetch("orders", 4, 1)


def test_a_creation_whose_answer_was_lost_may_find_its_topic(answering: Answers) -> None:
    client, server = answering(HANG_UP, (7, b"", wire.text("orders") + b"\x01"))
    client.create_topic("orders", partition_count=2, config={"log.retention.secs": "1h"})
    assert server.frames[-1][9:] == wire.create("orders", 2, "log.retention.secs=1h\n")[9:]


def test_a_creation_that_was_refused_is_an_error(answering: Answers) -> None:
    client, _ = answering((7, b"", wire.text("orders") + b"\x01"))
    with pytest.raises(TankError, match="EXISTS"):
        client.create_topic("orders")


def test_topics_of_a_cluster_are_read_as_well(answering: Answers) -> None:
    listed = wire.text("a") + b"\x01\x02\x00\x03" + wire.text("b") + b"\x01\x01\x00\x03"
    client, _ = answering((0x0B, b"", struct.pack("<IB", 2, 1) + listed))
    assert client.topics() == {"a": 2, "b": 1}


def test_partitions_that_are_led_by_others_say_so(answering: Answers) -> None:
    nowhere = struct.pack("<QQ", END, END)
    tail = struct.pack("<H", 3) + nowhere + b"\xfc" + bytes(6) + nowhere + b"\xfd" + struct.pack("<QQ", 1, 2)
    client, _ = answering((6, b"", wire.text("orders") + tail))
    assert client.partitions("orders") == [
        PartitionSpan(END, END, 0xFC),
        PartitionSpan(END, END, 0xFD),
        PartitionSpan(1, 2),
    ]


def test_a_broker_that_is_not_there_is_named() -> None:
    clock = HandClock()
    retrier = Retrier(RetryPolicy(timeout_s=1.0), clock=clock, sleep=clock.sleep)
    with TankClient("127.0.0.1:1", retrier=retrier) as client, pytest.raises(BrokerUnavailable):
        client.topics()


@pytest.mark.parametrize(
    "record",
    [Record(None, None, 1), Record(b"k" * 256, b"v", 1), Record(None, b"v", 1, (Header("h", None),))],
)
def test_what_tank_cannot_say_is_not_sent(record: Record) -> None:
    with TankClient("127.0.0.1:1") as client, pytest.raises(ClientError, match="TANK cannot say"):
        client.produce("orders", 0, [record])


def test_a_name_that_tank_cannot_say_is_not_sent() -> None:
    with TankClient("127.0.0.1:1") as client, pytest.raises(ClientError, match="cannot be a topic"):
        client.partitions("\u20ac")


sizes = st.lists(st.sampled_from([0, 10, BUNDLE_BYTES_MAX // 3, BUNDLE_BYTES_MAX * 2]), max_size=30)


@given(sizes)
@settings(max_examples=50, deadline=None)
def test_lots_keep_every_record_in_order_and_their_bounds(found: list[int]) -> None:
    numbered = [(at, Record(None, bytes(size), 1)) for at, size in enumerate(found)]
    made = list(lots(numbered))
    assert [each for lot in made for each in lot] == numbered
    for lot in made:
        assert len(lot) == 1 or sum(len(r.value or b"") for _, r in lot) <= BUNDLE_BYTES_MAX


def test_a_lot_has_as_many_messages_as_every_reader_can_count() -> None:
    assert [len(lot) for lot in lots((at, ONE) for at in range(600))] == [BUNDLE_MESSAGES_MAX] * 2 + [90]


# ---- against a broker


@pytest.fixture
def client(broker: onelog.Broker) -> Iterator[TankClient]:
    with TankClient(broker.address("tank"), timeout_s=10) as client:
        yield client


@pytest.mark.parametrize("is_snappy", [False, True])
def test_messages_come_back_as_they_went(client: TankClient, is_snappy: bool) -> None:
    topic = f"back-{int(is_snappy)}"
    client.create_topic(topic)
    records = [Record(b"k", b"v%d" % n, n) for n in range(600)]
    assert client.produce(topic, 0, records, is_snappy=is_snappy) == 600
    assert list(client.iterate(topic, 0)) == list(enumerate(records, 1))
    assert client.partitions(topic) == [PartitionSpan(1, 600)]


def test_numbers_are_kept_and_those_that_were_given_are_refused(client: TankClient) -> None:
    client.create_topic("numbered")
    numbered = [(100, ONE), (101, ONE), (500, ONE)]
    client.produce_numbered("numbered", 0, numbered)
    assert list(client.iterate("numbered", 0)) == numbered
    with pytest.raises(TankError, match="INVALID"):
        client.produce_numbered("numbered", 0, [(500, ONE)])
    with pytest.raises(OutOfRange):
        client.fetch("numbered", 0, 99)


def test_a_wait_ends_with_nothing_when_nothing_comes(client: TankClient) -> None:
    client.create_topic("quiet", partition_count=2)
    found = client.fetch_many("quiet", {1: END, 0: 1}, wait_ms=20)
    assert found == {1: Fetched((), 1, 0), 0: Fetched((), 1, 0)}


def test_the_broker_tells_of_itself_and_its_topics(client: TankClient) -> None:
    client.create_topic("told", partition_count=3)
    client.ping()
    client.reload_config("told", 2)
    assert client.topics()["told"] == 3
    assert client.status().version == 400
    with pytest.raises(TankError, match="UNKNOWN_PARTITION"):
        client.reload_config("told", 3)
    with pytest.raises(TankError, match="UNKNOWN_TOPIC"):
        client.partitions("nope")
