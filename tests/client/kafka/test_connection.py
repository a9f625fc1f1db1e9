import pytest

from onelog.client.errors import BadAnswer, UnsupportedByBroker
from onelog.client.kafka.connection import Connection
from onelog.client.retry import Deadline
from onelog.clock import SystemClock
from onelog.model import Address
from onelog.protocols.kafka.messages.topics import MetadataRequest, MetadataResponse
from onelog.protocols.kafka.versions import API_VERSIONS, METADATA
from tests.support.fake_kafka import FakeKafka
from tests.support.scripted_server import ScriptedServer


def soon() -> Deadline:
    return Deadline(SystemClock(), 30.0)


def connect(server: ScriptedServer) -> Connection:
    return Connection(Address("127.0.0.1", server.port), soon(), client_id="me")


def metadata(connection: Connection, *, version_max: int = 99) -> MetadataResponse:
    try:
        return connection.ask(
            MetadataRequest(topics=None),
            MetadataResponse,
            doing="asking",
            deadline=soon(),
            version_max=version_max,
        )
    finally:
        connection.close()


def test_the_highest_version_that_both_speak_is_taken() -> None:
    with FakeKafka(versions={METADATA: (0, 4)}) as fake:
        assert metadata(connect(fake.node(0))).cluster_id == "fake"
        assert [version for _, version, _ in fake.requests("Metadata")] == [4]


def test_a_caller_may_ask_for_less() -> None:
    with FakeKafka() as fake:
        metadata(connect(fake.node(0)), version_max=8)
        assert [version for _, version, _ in fake.requests("Metadata")] == [8]


@pytest.mark.parametrize("most", [0, 2])
def test_a_broker_that_does_not_know_the_opening_is_asked_in_version_0(most: int) -> None:
    with FakeKafka(versions={API_VERSIONS: (0, most)}) as fake:
        assert metadata(connect(fake.node(0))).cluster_id == "fake"
        assert [version for _, version, _ in fake.requests("ApiVersions")] == [0]


def test_a_broker_without_a_common_version_is_named_with_what_it_serves() -> None:
    with FakeKafka(versions={METADATA: (14, 15)}) as fake:
        with pytest.raises(UnsupportedByBroker, match="Metadata is served in versions 14 to 15"):
            metadata(connect(fake.node(0)))
        del fake.versions[METADATA]
        with pytest.raises(UnsupportedByBroker, match="Metadata is not served"):
            metadata(connect(fake.node(0)))


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\x00\x00\x00",
        b"\x00\x00\x00\x63\x00\x00",
        b"\x00\x00\x00\x01",
        b"\x00\x00\x00\x01\x00\x00\xff\xff\xff\xff\x7f",
        b"HTTP/1.1 400 Bad Request",
    ],
)
def test_what_is_no_answer_is_said_to_be_none(answer: bytes) -> None:
    with (
        ScriptedServer(lambda _: answer) as server,
        pytest.raises(
            BadAnswer, match=r"bad answer while asking for its versions: .* Is it a Kafka broker\?"
        ),
    ):
        connect(server)


def test_the_client_is_named_in_every_request() -> None:
    with FakeKafka() as fake:
        metadata(connect(fake.node(0)))
        assert all(b"\x00\x02me" in frame[:16] for frame in fake.node(0).frames)
