import pytest

from onelog.client.errors import BadAnswer, ClientError, ConnectionLost
from onelog.client.retry import Deadline
from onelog.client.rustlog.answers import Answer, Pong
from onelog.client.rustlog.connection import Connection
from onelog.client.rustlog.errors import RustLogError
from onelog.client.rustlog.forms import Form
from onelog.clock import SystemClock
from onelog.model import Address
from onelog.protocols.rustlog.framing import FRAME_BYTES_MAX
from onelog.protocols.rustlog.messages.json import Ping, Produce
from tests.support.scripted_server import HANG_UP, ScriptedServer


def soon() -> Deadline:
    return Deadline(SystemClock(), 30.0)


def ask(answer: object) -> Answer:
    with ScriptedServer(lambda _: answer) as server:
        connection = Connection(Address("127.0.0.1", server.port), soon())
        try:
            return connection.ask(Ping(), doing="pinging", deadline=soon())
        finally:
            connection.close()


def test_a_request_is_one_frame_of_json_and_so_is_its_answer() -> None:
    with ScriptedServer(lambda _: b'{"type":"Pong"}') as server:
        connection = Connection(Address("127.0.0.1", server.port), soon())
        assert connection.ask(Ping(), doing="pinging", deadline=soon()) == Pong()
        assert server.frames == [b'{"type":"Ping"}']
        assert not connection.is_stale()
        connection.close()


@pytest.mark.parametrize(
    "answer", [b"", b"\xff", b"{", b"[]", b'{"type":"Pang"}', b'{"type":"ProduceResponse"}']
)
def test_what_is_no_answer_is_said_to_be_none(answer: bytes) -> None:
    with pytest.raises(BadAnswer, match=r"bad answer while pinging: .* Is it a RustLog broker\?"):
        ask(answer)


def test_a_request_that_no_frame_holds_is_not_sent() -> None:
    with ScriptedServer(lambda _: b'{"type":"Pong"}') as server:
        connection = Connection(Address("127.0.0.1", server.port), soon())
        request = Produce(topic="events", partition=0, records=[bytes(FRAME_BYTES_MAX)])
        with pytest.raises(
            ClientError, match=r"producing: the request has \d+ bytes; a frame holds 10485760"
        ):
            connection.ask(request, doing="producing", deadline=soon())
        assert connection.ask(Ping(), doing="pinging", deadline=soon()) == Pong()
        assert server.frames == [b'{"type":"Ping"}']
        connection.close()


def test_a_broker_that_hangs_up_is_a_lost_connection() -> None:
    with pytest.raises(ConnectionLost):
        ask(HANG_UP)


def test_a_request_in_the_binary_form_is_one_frame_and_so_is_its_answer() -> None:
    with ScriptedServer(lambda _: b"\xff") as server:
        connection = Connection(Address("127.0.0.1", server.port), soon(), Form.BINARY)
        assert connection.ask(Ping(), doing="pinging", deadline=soon()) == Pong()
        assert server.frames == [b"\xff"]
        connection.close()


def test_behind_an_error_the_connection_goes_on() -> None:
    with ScriptedServer(lambda _: b'{"type":"Error","code":400,"message":"no"}') as server:
        connection = Connection(Address("127.0.0.1", server.port), soon())
        with pytest.raises(RustLogError):
            connection.ask(Ping(), doing="pinging", deadline=soon())
        assert not connection.is_stale()
        connection.close()
