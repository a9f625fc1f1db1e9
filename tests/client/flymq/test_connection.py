import gzip
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from onelog.client.errors import BadAnswer, ClientError
from onelog.client.flymq.connection import Connection
from onelog.client.flymq.errors import FlyMQError
from onelog.client.retry import Deadline, Retrier, RetryPolicy
from onelog.model import Address
from onelog.protocols.flymq.framing import Opcode
from onelog.protocols.flymq.messages.admin import Auth
from onelog.protocols.flymq.messages.fetch import Consume, Consumed
from onelog.protocols.flymq.messages.groups import Place, Subscribe
from onelog.protocols.flymq.messages.produce import Produce
from tests.support.flymq_wire import consume, data, frame, frames, i32, subscribe, text, u64
from tests.support.scripted_flymq import ScriptedFlyMQ

Talks = Callable[..., tuple[Connection, ScriptedFlyMQ]]
ONE = Consume(topic="t", partition=0, offset=0)


def soon() -> Deadline:
    return Retrier(RetryPolicy(timeout_s=10.0)).deadline()


@pytest.fixture
def talking() -> Iterator[Talks]:
    """A connection and a server that gives these answers, one after the other."""
    open_ones: list[Any] = []

    def make(*answers: bytes, login: Auth | None = None) -> tuple[Connection, ScriptedFlyMQ]:
        left = iter(answers)
        server = ScriptedFlyMQ(lambda _: next(left))
        open_ones.append(server)
        connection = Connection(Address("127.0.0.1", server.port), soon(), login=login)
        open_ones.insert(0, connection)
        return connection, server

    yield make
    for each in open_ones:
        each.close()


def ask(connection: Connection, opcode: Opcode, request: object) -> Any:
    return connection.ask(opcode, request, doing="asking", deadline=soon())


def test_a_request_is_a_frame_and_its_answer_is_typed(talking: Talks) -> None:
    connection, server = talking(frame(0x02, data(b"k") + data(b"v")), frame(0x05, u64(7)))
    assert ask(connection, Opcode.CONSUME, ONE) == Consumed(key=b"k", value=b"v")
    asked = Subscribe(topic="t", group="g", partition=0, mode="latest")
    assert ask(connection, Opcode.SUBSCRIBE, asked) == Place(offset=7)
    assert server.frames == [consume("t", 0), subscribe("t", "g", "latest")]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (frame(0xFF, b"EOF", flags=0), "EOF"),
        (frame(0xFF, b"\0\0\0\1" + text("topic not found: t")), "topic not found: t"),
        (frame(0xFF, bytes.fromhex("00 0012 20 000f") + b"topic not found"), "topic not found"),
    ],
)
def test_an_error_is_an_answer_and_the_connection_goes_on(talking: Talks, answer: bytes, said: str) -> None:
    connection, _ = talking(answer, frame(0x02, data(b"") + data(b"v")))
    error = ask(connection, Opcode.CONSUME, ONE)
    assert isinstance(error, FlyMQError)
    assert error.text == said
    assert ask(connection, Opcode.CONSUME, ONE).value == b"v"


def test_many_requests_leave_before_the_first_answer_is_read(talking: Talks) -> None:
    answers = [frame(0x02, data(b"") + data(bytes([at]))) for at in range(5)]
    connection, server = talking(answers[0], answers[1], frame(0xFF, b"EOF", flags=0), *answers[3:])
    found = connection.ask_all(Opcode.CONSUME, [ONE] * 5, doing="asking", deadline=soon())
    assert [getattr(each, "value", None) for each in found] == [b"\0", b"\1", None, b"\3", b"\4"]
    assert len(server.frames) == 5


def test_a_packed_request_is_gzipped_and_says_so(talking: Talks) -> None:
    connection, server = talking(frame(0xFF, b"x", flags=0))
    request = Produce(topic="t", value=b"v" * 1000)
    connection.ask_all(Opcode.PRODUCE, [request], packed=True, doing="producing", deadline=soon())
    [sent] = frames(server.frames[0])
    assert sent.flags == 0x03
    assert gzip.decompress(sent.payload) == text("t") + data(b"") + data(b"v" * 1000) + i32(-1)


def test_who_logs_in_does_so_first(talking: Talks) -> None:
    login = Auth(user="al", password="secret")
    welcome = frame(0x71, b"\1" + text("al") + bytes(4) + bytes(2))
    connection, server = talking(welcome, frame(0x02, data(b"") + data(b"v")), login=login)
    ask(connection, Opcode.CONSUME, ONE)
    assert frames(server.frames[0]) == [(0x70, 1, text("al") + text("secret"))]


@pytest.mark.parametrize(
    "answer",
    [
        frame(0x71, b"\0" + text("") + bytes(4) + text("invalid username or password")),
        frame(0xFF, b"invalid username or password", flags=0),
    ],
)
def test_who_is_not_let_in_hears_why(talking: Talks, answer: bytes) -> None:
    with pytest.raises(FlyMQError, match="invalid username or password"):
        talking(answer, login=Auth(user="al", password="wrong"))


@pytest.mark.parametrize(
    "answer",
    [
        frame(0x05, u64(7)),
        frame(0x02, b"\0\0"),
        frame(0x02, data(b"") + data(b"v") + b"x"),
        b"HTTP/1.1 400 Bad",
        b"\xaf\x02\x02\x01\0\0\0\0",
        b"\xaf\x01\x02\x01\xff\0\0\0",
    ],
)
def test_what_is_no_answer_is_a_bad_one(talking: Talks, answer: bytes) -> None:
    connection, _ = talking(answer)
    with pytest.raises(BadAnswer, match="Is it a FlyMQ broker"):
        ask(connection, Opcode.CONSUME, ONE)


def test_a_request_that_cannot_be_said_is_refused_here(talking: Talks) -> None:
    connection, server = talking()
    for request in (Consume(topic="x" * 70_000), Consume(topic="t", offset=-1)):
        with pytest.raises(ClientError, match="asking: Consume"):
            ask(connection, Opcode.CONSUME, request)
    with pytest.raises(ClientError, match="a frame holds 33554432"):
        ask(connection, Opcode.PRODUCE, Produce(topic="t", value=bytes(32 << 20)))
    assert server.frames == []
