import socket

import pytest

from onelog.client.errors import ConnectionLost
from onelog.client.retry import Deadline
from onelog.client.stream import JOIN_BYTES_MAX, Stream, joined, readable
from onelog.clock import SystemClock
from onelog.model import Address
from tests.support.hand_clock import HandClock
from tests.support.scripted_server import HANG_UP, ScriptedServer


def deadline(timeout_s: float = 5.0) -> Deadline:
    return Deadline(SystemClock(), timeout_s)


def test_bytes_go_out_in_order_and_exactly_so_many_come_back() -> None:
    with ScriptedServer(lambda frame: frame[::-1]) as server:
        stream = Stream(Address("127.0.0.1", server.port), deadline())
        stream.send(
            [b"\x00\x00\x00\x05", b"he", bytearray(b"ll"), memoryview(b"o")], doing="x", deadline=deadline()
        )
        assert stream.receive(9, doing="x", deadline=deadline()) == b"\x00\x00\x00\x05olleh"
        assert not stream.is_stale()
        stream.close()


def test_what_has_something_to_read_is_found_among_others() -> None:
    with ScriptedServer(lambda frame: frame) as server:
        address = Address("127.0.0.1", server.port)
        quiet, asked = Stream(address, deadline()), Stream(address, deadline())
        assert readable([quiet, asked], 0) == []
        asked.send([b"\x00\x00\x00\x01x"], doing="asking", deadline=deadline())
        assert readable([quiet, asked], 5) == [asked]
        quiet.close()
        asked.close()


def test_a_connection_that_the_broker_closed_is_stale() -> None:
    with ScriptedServer(lambda _: HANG_UP) as server:
        stream = Stream(Address("127.0.0.1", server.port), deadline())
        stream.send([b"\x00\x00\x00\x01x"], doing="asking", deadline=deadline())
        with pytest.raises(ConnectionLost, match="closed the connection while asking") as caught:
            stream.receive(1, doing="asking", deadline=deadline())
        assert caught.value.sent
        assert stream.is_stale()
        stream.close()


def test_a_refused_connection_says_that_nothing_was_sent() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(ConnectionLost, match="connection refused while connecting") as caught:
        Stream(Address("127.0.0.1", port), deadline())
    assert not caught.value.sent


def test_no_answer_before_the_deadline_is_a_lost_connection() -> None:
    clock = HandClock()
    with ScriptedServer(lambda _: None) as server:
        over = Deadline(clock, 5.0)
        stream = Stream(Address("127.0.0.1", server.port), over)
        stream.send([b"\x00\x00\x00\x01x"], doing="asking", deadline=over)
        clock.now_s += 6
        with pytest.raises(ConnectionLost, match="no answer in time while asking"):
            stream.receive(1, doing="asking", deadline=over)
        stream.close()


def test_after_an_answer_nothing_counts_as_sent() -> None:
    with ScriptedServer(lambda frame: frame) as server:
        stream = Stream(Address("127.0.0.1", server.port), deadline())
        stream.send([b"\x00\x00\x00\x01x"], doing="asking", deadline=deadline())
        stream.receive(5, doing="asking", deadline=deadline())
        stream.answered()
        server.hang_up()
        with pytest.raises(ConnectionLost) as caught:
            stream.receive(1, doing="asking", deadline=deadline())
        assert not caught.value.sent
        stream.close()


def test_small_neighbours_are_joined_and_large_pieces_are_not_copied() -> None:
    large = bytearray(JOIN_BYTES_MAX)
    pieces = joined([b"a", b"b", large, b"c", memoryview(b"d")])
    assert pieces == [b"ab", large, b"cd"]
    assert pieces[1] is large
