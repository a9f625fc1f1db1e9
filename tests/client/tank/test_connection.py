import struct

import pytest

from onelog.client.errors import BadAnswer, ClientError, ConnectionLost
from onelog.client.retry import Deadline
from onelog.client.tank.connection import Connection
from onelog.clock import SystemClock
from onelog.model import Address
from onelog.protocols.tank.messages.admin import StatusRequest, StatusResponse
from onelog.protocols.tank.messages.produce import ProduceEntry, ProduceRequest, ProduceTopic
from tests.support import tank_wire as wire
from tests.support.scripted_tank import HANG_UP, ScriptedTank

COUNTS = struct.pack("<BBIIIIII", 0, 0, 2, 3, 3, 0, 9, 400)


def soon() -> Deadline:
    return Deadline(SystemClock(), 30.0)


def status(request: int = 1) -> bytes:
    return wire.frame(0x0A, struct.pack("<I", request) + COUNTS)


def ask(answer: object) -> StatusResponse:
    with ScriptedTank(lambda _: answer) as server:
        connection = Connection(Address("127.0.0.1", server.port), soon())
        try:
            found: StatusResponse = connection.ask(StatusRequest(), doing="asking", deadline=soon())
            return found
        finally:
            connection.close()


def test_a_request_is_a_frame_with_a_number_and_so_is_its_answer() -> None:
    with ScriptedTank(lambda frame: status(frame[5])) as server:
        connection = Connection(Address("127.0.0.1", server.port), soon())
        for _ in range(2):
            answer = connection.ask(StatusRequest(), doing="asking", deadline=soon())
            assert (answer.topic_count, answer.version) == (2, 400)
        assert server.frames == [wire.frame(0x0A, struct.pack("<I", number)) for number in (1, 2)]
        assert not connection.is_stale()
        connection.close()


def test_a_broker_that_pings_again_does_no_harm() -> None:
    assert ask(wire.PING + wire.PING + status()).partition_count == 3


@pytest.mark.parametrize(
    "answer",
    [
        status(2),
        wire.frame(2, bytes(9)),
        wire.frame(0x63, b""),
        wire.frame(0x0A, b"\x01\x00"),
        b"\x0a" + struct.pack("<I", (256 << 20) + 1),
    ],
)
def test_what_is_no_answer_is_said_to_be_none(answer: bytes) -> None:
    with pytest.raises(BadAnswer, match=r"bad answer while asking: .* Is it a TANK broker\?"):
        ask(answer)


def test_a_broker_that_hangs_up_is_a_lost_connection() -> None:
    with pytest.raises(ConnectionLost) as lost:
        ask(HANG_UP)
    assert lost.value.sent


@pytest.mark.parametrize("opening", [status(), b"HTTP/1.1 400 Bad Request\r\n"])
def test_a_broker_is_there_only_when_it_has_pinged(opening: bytes) -> None:
    with ScriptedTank(lambda _: b"", opening=opening) as server, pytest.raises(BadAnswer, match="connecting"):
        Connection(Address("127.0.0.1", server.port), soon())


def test_a_request_that_cannot_be_said_is_not_sent() -> None:
    with ScriptedTank(lambda frame: status(frame[5])) as server:
        connection = Connection(Address("127.0.0.1", server.port), soon())
        request = ProduceRequest(0, [ProduceTopic(b"t", [ProduceEntry(0, b"")] * 256)])
        with pytest.raises(ClientError, match="at most 255"):
            connection.ask(request, doing="producing", deadline=soon())
        assert connection.ask(StatusRequest(), doing="asking", deadline=soon()).topic_count == 2
        assert len(server.frames) == 1
        connection.close()
