"""The dialect behind a real listener: what peers may do to it, and what others notice of that."""

import struct
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import onelog
from onelog.protocols.kafka.errors import Code
from onelog.protocols.kafka.messages.admin import ApiVersionsRequest
from onelog.protocols.kafka.messages.group_admin import DescribeGroupsRequest
from onelog.protocols.kafka.messages.groups import FindCoordinatorRequest
from onelog.protocols.kafka.messages.membership import JoinGroupRequest, JoinGroupRequestProtocol
from onelog.protocols.kafka.messages.topics import MetadataRequest, MetadataRequestTopic
from onelog.protocols.kafka.versions import (
    API_VERSIONS,
    DESCRIBE_GROUPS,
    FETCH,
    FIND_COORDINATOR,
    JOIN_GROUP,
    METADATA,
    PRODUCE,
)
from tests.support.kafka_talk import batch, fetch_request, only, produce_request
from tests.support.kafka_wire import Wire, frame, request, response

LISTEN = "shared=127.0.0.1:0,kafka=127.0.0.1:0"
SETTINGS = {"serve.advertise": "kafka=kafka.example:19092"}
LATE_MS = 60_000
BYTES_MAX = 24 << 20

HEADER = struct.pack(">hhih", METADATA, 1, 1, -1)
# What begins like Kafka, or like nothing at all. None of it may hang, grow or hurt.
HOSTILE = {
    "an unknown key": struct.pack(">ihhi", 10, 999, 0, 1),
    "LeaderAndIsr, which Kafka retired": struct.pack(">ihhi", 10, 4, 0, 1),
    "StopReplica, which Kafka retired": struct.pack(">ihhi", 10, 5, 0, 1),
    "UpdateMetadata, which Kafka retired": struct.pack(">ihhi", 10, 6, 0, 1),
    "ControlledShutdown, which Kafka retired": struct.pack(">ihhi", 10, 7, 0, 1),
    "a version that is too new": struct.pack(">ihhi", 10, METADATA, 99, 1),
    "a version that is too old": struct.pack(">ihhi", 10, PRODUCE, 2, 1),
    "a negative version": struct.pack(">ihhi", 10, METADATA, -1, 1),
    "a length of 0": struct.pack(">i", 0),
    "a negative length": struct.pack(">i", -1),
    "200 MiB": struct.pack(">ihh", 200 << 20, PRODUCE, 9),
    "2 GiB": struct.pack(">ihh", (1 << 31) - 1, METADATA, 9),
    "a count of 2 billion": frame(HEADER + struct.pack(">i", (1 << 31) - 1)),
    "a compact count of 4 billion": frame(
        struct.pack(">hhih", METADATA, 9, 1, -1) + b"\0\xff\xff\xff\xff\x0f"
    ),
    "a negative count": frame(HEADER + struct.pack(">i", -2)),
    "a name longer than its frame": frame(HEADER + struct.pack(">ih", 1, 32767) + b"a"),
    "a body cut short": frame(HEADER + b"\0\0"),
    "no body": frame(HEADER),
    "a client id longer than its frame": frame(struct.pack(">hhih", METADATA, 1, 1, 500)),
    "HTTP": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "garbage": bytes(range(255, 0, -1)),
}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[onelog.Broker]:
    data = tmp_path_factory.mktemp("kafka") / "data"
    with onelog.Broker(data, listen=LISTEN, settings=SETTINGS) as broker:
        yield broker


@pytest.fixture
def wire(broker: onelog.Broker) -> Iterator[Wire]:
    with connect(broker, "kafka") as wire:
        yield wire


@pytest.fixture
def topic(wire: Wire, request: pytest.FixtureRequest) -> str:
    """A topic of its own for each test, made by asking for it."""
    name = f"{request.node.name}".translate(str.maketrans("[] ", "..."))[:200]
    answer = wire.ask(METADATA, 9, MetadataRequest(topics=[MetadataRequestTopic(name=name)]))
    assert answer.topics[0].error_code == 0
    return name


def connect(broker: onelog.Broker, listener: str) -> Wire:
    address = broker.addresses[listener]
    return Wire(address.host, address.port)


def is_served(wire: Wire) -> bool:
    return bool(wire.ask(METADATA, 9, MetadataRequest(topics=[])).brokers)


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_peer_is_closed_and_the_others_do_not_notice(
    broker: onelog.Broker, wire: Wire, data: bytes
) -> None:
    assert is_served(wire)
    with connect(broker, "kafka") as hostile:
        hostile.send(data)
        assert hostile.is_closed()
    assert is_served(wire)


@pytest.mark.parametrize("name", ["HTTP", "garbage", "a negative length", "a count of 2 billion", "200 MiB"])
def test_a_hostile_peer_is_closed_on_the_shared_port_as_well(
    broker: onelog.Broker, wire: Wire, name: str
) -> None:
    with connect(broker, "shared") as hostile:
        hostile.send(HOSTILE[name])
        assert hostile.is_closed()
    assert is_served(wire)


def test_claimed_lengths_take_no_memory(broker: onelog.Broker, wire: Wire) -> None:
    assert is_served(wire)
    before = resident_bytes()
    with ExitStack() as open_wires:
        for _ in range(100):
            claimant = open_wires.enter_context(connect(broker, "kafka"))
            claimant.send(struct.pack(">ihhi", 100 << 20, PRODUCE, 9, 1) + b"x" * 1000)
        assert is_served(wire)
        assert resident_bytes() - before < BYTES_MAX


def test_a_peer_that_breaks_off_in_a_frame_leaves_nothing_behind(broker: onelog.Broker, wire: Wire) -> None:
    whole = request(METADATA, 9, MetadataRequest(topics=[]))
    for count in (1, 4, 7, 8, 12, len(whole) - 1):
        with connect(broker, "kafka") as breaking:
            breaking.send(whole[:count])
    assert is_served(wire)


def test_a_request_may_come_byte_by_byte(wire: Wire) -> None:
    for byte in request(METADATA, 9, MetadataRequest(topics=[]), correlation_id=41):
        wire.send(bytes([byte]))
    assert response(METADATA, 9, wire.read_frame())[0] == 41


def test_answers_come_in_the_order_of_the_requests_also_around_a_fetch_that_waits(
    broker: onelog.Broker, wire: Wire, topic: str
) -> None:
    asked = [request(METADATA, 9, MetadataRequest(topics=[]), correlation_id=n) for n in range(10)]
    asked[5] = request(FETCH, 12, fetch_request(0, topic=topic, max_wait_ms=LATE_MS), correlation_id=5)
    wire.send(b"".join(asked))
    for number in range(5):
        assert response(METADATA, 9, wire.read_frame())[0] == number
    with connect(broker, "shared") as other:
        other.ask(PRODUCE, 9, produce_request(batch(b"a", timestamp_ms=0), topic=topic))
    number, answer = response(FETCH, 12, wire.read_frame())
    assert (number, only(answer.responses, "partitions").high_watermark) == (5, 1)
    for number in range(6, 10):
        assert response(METADATA, 9, wire.read_frame())[0] == number


def test_batches_of_a_connection_are_appended_in_its_order(wire: Wire, topic: str) -> None:
    for number in range(50):
        body = produce_request(batch(b"%d" % number, timestamp_ms=0), topic=topic)
        wire.send(request(PRODUCE, 9, body, correlation_id=number))
    for number in range(50):
        correlation_id, answer = response(PRODUCE, 9, wire.read_frame())
        assert (correlation_id, only(answer.responses, "partition_responses").base_offset) == (number, number)


def test_an_unanswered_produce_leaves_the_next_request_its_answer(wire: Wire, topic: str) -> None:
    wire.send(request(PRODUCE, 9, produce_request(batch(b"quiet", timestamp_ms=0), topic=topic, acks=0)))
    answer = wire.ask(
        PRODUCE, 9, produce_request(batch(b"loud", timestamp_ms=0), topic=topic), correlation_id=2
    )
    assert only(answer.responses, "partition_responses").base_offset == 1


@pytest.mark.parametrize("partition", [0, 7], ids=["at once", "later"])
def test_an_unanswered_produce_that_fails_closes_the_connection(
    broker: onelog.Broker, wire: Wire, topic: str, partition: int
) -> None:
    records = batch()[:-1] if partition == 0 else batch(timestamp_ms=0)
    with connect(broker, "kafka") as quiet:
        quiet.send(request(PRODUCE, 9, produce_request(records, topic=topic, partition=partition, acks=0)))
        assert quiet.is_closed()
    assert is_served(wire)


def test_a_client_hears_the_address_of_the_listener_that_it_came_through(broker: onelog.Broker) -> None:
    shared = broker.addresses["shared"]
    expected = {"shared": (shared.host, shared.port), "kafka": ("kafka.example", 19092)}
    for listener, address in expected.items():
        with connect(broker, listener) as wire:
            (node,) = wire.ask(METADATA, 9, MetadataRequest(topics=[])).brokers
            found = wire.ask(FIND_COORDINATOR, 3, FindCoordinatorRequest(key="g"))
        assert (node.host, node.port) == (found.host, found.port) == address


def test_a_client_that_is_too_new_begins_all_the_same(wire: Wire) -> None:
    wire.send(frame(struct.pack(">hhih", API_VERSIONS, 9, 1, -1) + b"\0" + b"\x02a\x021\0"))
    assert wire.read_frame() == struct.pack(">ihihhh", 1, 35, 1, API_VERSIONS, 0, 4)
    body = ApiVersionsRequest(client_software_name="a", client_software_version="1")
    assert wire.ask(API_VERSIONS, 4, body).error_code == 0


def test_what_is_large_goes_in_and_comes_out_whole(wire: Wire, topic: str) -> None:
    value = bytes(range(256)) * 3900
    for _ in range(3):
        answer = wire.ask(PRODUCE, 9, produce_request(batch(value, timestamp_ms=0), topic=topic))
        assert only(answer.responses, "partition_responses").error_code == 0
    answer = wire.ask(FETCH, 12, fetch_request(0, topic=topic, partition_max_bytes=1 << 23))
    assert len(only(answer.responses, "partitions").records) > 3 * len(value)


def join_request(version: int = 0) -> bytes:
    """Somebody wants to be a member of a group that waits for others for a minute."""
    body = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
    )
    return request(JOIN_GROUP, version, body)


def test_a_member_that_waits_is_told_when_the_broker_stops_and_holds_up_nobody(tmp_path: Path) -> None:
    settings = {"broker.group_initial_rebalance_delay_ms": 60_000}
    with ExitStack() as stack:
        with onelog.Broker(tmp_path / "data", listen=LISTEN, settings=settings) as broker:
            waiting = stack.enter_context(connect(broker, "kafka"))
            other = stack.enter_context(connect(broker, "kafka"))
            # The second is not handled before the first one is answered, and not held up then.
            waiting.send(join_request() + join_request())
            state = "Dead"
            while state != "PreparingRebalance":
                asked = DescribeGroupsRequest(groups=["g"])
                state = other.ask(DESCRIBE_GROUPS, 0, asked).groups[0].group_state
        for _ in range(2):
            answer = response(JOIN_GROUP, 0, waiting.read_frame())[1]
            assert answer.error_code == Code.REBALANCE_IN_PROGRESS
        assert waiting.is_closed()
