"""One connection: order, back-pressure, faults, ends."""

import logging

import pytest

from onelog.metrics import CONNECTIONS, CONNECTIONS_FAULTED, REQUESTS
from onelog.server.limits import ServerLimits
from tests.support.toy_dialect import ToyEndpoint, ToyHandler
from tests.support.toy_server import ToyServer, toy_server, turns, until


async def first_handler(toy: ToyServer) -> ToyHandler:
    endpoint = toy.endpoints[0]
    assert isinstance(endpoint, ToyEndpoint)
    await until(lambda: endpoint.handlers)
    return endpoint.handlers[0]


async def test_a_call_is_answered() -> None:
    async with toy_server() as toy:
        peer = await toy.connect()
        assert await peer.ask(b"echo one\n") == b"one\n"
        assert toy.metrics.value(REQUESTS, "toy", "Line") == 1
        assert toy.metrics.value(CONNECTIONS, "toy") == 1


async def test_the_server_may_speak_first() -> None:
    async with toy_server(ToyEndpoint(greeting=b"hello\n")) as toy:
        assert await (await toy.connect()).line() == b"hello\n"


async def test_replies_leave_in_the_order_of_the_requests() -> None:
    async with toy_server() as toy:
        peer = await toy.connect()
        peer.write(b"later a\necho b\ntask c\nlater d\n")
        handler = await first_handler(toy)
        await until(lambda: len(handler.handled) == 4)
        handler.tickets["d"].resolve("d")
        handler.tickets["a"].resolve("a")
        answers = [await peer.line() for _ in range(4)]
        assert answers == [b"answered a\n", b"b\n", b"c\n", b"answered d\n"]


async def test_where_order_does_not_matter_replies_overtake() -> None:
    async with toy_server(ToyEndpoint(in_order=False)) as toy:
        peer = await toy.connect()
        peer.write(b"later a\necho b\nlater c\n")
        assert await peer.line() == b"b\n"
        handler = await first_handler(toy)
        handler.tickets["c"].resolve("c")
        assert await peer.line() == b"answered c\n"
        handler.tickets["a"].resolve("a")
        assert await peer.line() == b"answered a\n"


async def test_a_call_that_holds_keeps_later_calls_from_being_handled() -> None:
    async with toy_server() as toy:
        peer = await toy.connect()
        peer.write(b"hold a\necho b\n")
        handler = await first_handler(toy)
        await until(lambda: handler.handled)
        peer.write(b"echo c\n")
        await turns(20)
        assert handler.handled == ["hold a"]
        handler.tickets["a"].resolve("a")
        assert [await peer.line() for _ in range(3)] == [b"answered a\n", b"b\n", b"c\n"]


async def test_many_answers_that_are_there_at_once_do_not_pile_up_the_stack() -> None:
    async with toy_server() as toy:
        peer = await toy.connect()
        peer.write(b"ready x\n" * 5000)
        assert [await peer.line() for _ in range(5000)] == [b"x\n"] * 5000


async def test_a_call_may_have_no_answer() -> None:
    async with toy_server() as toy:
        peer = await toy.connect()
        assert await peer.ask(b"mute\necho b\n") == b"b\n"


async def test_a_broken_protocol_gets_a_farewell_behind_what_was_owed() -> None:
    async with toy_server() as toy:
        peer = await toy.connect()
        peer.write(b"later a\necho b\nbroken\necho c\n")
        handler = await first_handler(toy)
        await until(lambda: len(handler.handled) == 2)
        handler.tickets["a"].resolve("a")
        assert await peer.rest() == b"answered a\nb\ngoodbye\n"
        assert toy.metrics.value(CONNECTIONS_FAULTED, "toy") == 1
        peer.close()
        await until(lambda: handler.is_closed)
        assert toy.metrics.value(CONNECTIONS, "toy") == 0


async def test_a_farewell_arrives_though_the_peer_goes_on_sending() -> None:
    async with toy_server() as toy:
        peer = await toy.connect()
        peer.write(b"broken\n" + b"x" * 1_000_000)
        assert await peer.rest() == b"goodbye\n"


async def test_a_handler_may_answer_by_closing() -> None:
    async with toy_server() as toy:
        peer = await toy.connect()
        peer.write(b"echo a\nclose\necho b\n")
        assert await peer.rest() == b"a\ngoodbye\n"


@pytest.mark.parametrize("word", [b"bug", b"big no-number"])
async def test_a_fault_of_ours_is_logged_and_closes_one_connection(
    word: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with toy_server() as toy:
        other = await toy.connect()
        peer = await toy.connect()
        with caplog.at_level(logging.ERROR, "onelog.server"):
            peer.write(b"echo a\n" + word + b"\necho b\n")
            assert await peer.rest() == b"a\nour fault\n"
        assert len(caplog.records) == 1
        assert caplog.records[0].exc_info is not None
        assert await other.ask(b"echo still here\n") == b"still here\n"


async def test_an_answer_that_fails_is_the_last_one(caplog: pytest.LogCaptureFixture) -> None:
    async with toy_server() as toy:
        peer = await toy.connect()
        peer.write(b"later a\nlater b\nlater c\n")
        handler = await first_handler(toy)
        await until(lambda: len(handler.tickets) == 3)
        handler.tickets["b"].fail(RuntimeError("nobody expected this"))
        handler.tickets["a"].resolve("a")
        assert await peer.rest() == b"answered a\nour fault\n"
        assert handler.tickets["c"].cancelled
        assert "nobody expected this" in caplog.text


async def test_the_end_of_the_peers_stream_leaves_time_for_its_answers() -> None:
    async with toy_server() as toy:
        peer = await toy.connect()
        peer.write(b"later a\n")
        peer.writer.write_eof()
        handler = await first_handler(toy)
        await until(lambda: handler.tickets)
        handler.tickets["a"].resolve("a")
        assert await peer.rest() == b"answered a\n"
        await until(lambda: handler.is_closed)


@pytest.mark.parametrize("how", ["reset", "end of stream"])
async def test_what_nobody_waits_for_any_more_is_dropped(how: str) -> None:
    async with toy_server() as toy:
        peer = await toy.connect()
        peer.write(b"later a\n")
        handler = await first_handler(toy)
        await until(lambda: handler.tickets)
        if how == "reset":
            peer.reset()
        else:
            peer.close()
            await turns(50)
            toy.passed(6.0)
        await until(lambda: handler.is_closed)
        assert handler.tickets["a"].cancelled
        handler.tickets["a"].resolve("too late")


async def test_reading_stops_when_too_many_requests_are_in_flight() -> None:
    async with toy_server(limits=ServerLimits(requests_in_flight_max=2)) as toy:
        peer = await toy.connect()
        peer.write(b"".join(b"later %d\n" % n for n in range(5)))
        handler = await first_handler(toy)
        await until(lambda: len(handler.handled) == 2)
        await turns(20)
        assert len(handler.handled) == 2
        for n in range(5):
            await until(lambda n=n: str(n) in handler.tickets)
            handler.tickets[str(n)].resolve(str(n))
            assert await peer.line() == b"answered %d\n" % n


async def test_reading_stops_while_the_peer_does_not_take_its_answers() -> None:
    async with toy_server(limits=ServerLimits(reply_bytes_max=100_000)) as toy:
        peer = await toy.connect()
        peer.write(b"big 1000000\n" * 100)
        handler = await first_handler(toy)
        await until(lambda: handler.handled)
        await turns(200)
        assert len(handler.handled) < 50
        for _ in range(100):
            assert len(await peer.reader.readexactly(1_000_001)) == 1_000_001


async def test_silence_ends_a_connection_but_waiting_for_an_answer_is_not_silence() -> None:
    async with toy_server(limits=ServerLimits(idle_timeout_ms=1000)) as toy:
        waiting, silent = await toy.connect(), await toy.connect()
        waiting.write(b"later a\n")
        assert await silent.ask(b"echo b\n") == b"b\n"
        toy.server.look()
        toy.passed(2.0)
        assert await silent.rest() == b""
        handler = next(h for h in toy.endpoints[0].handlers if "later a" in h.handled)
        handler.tickets["a"].resolve("a")
        assert await waiting.line() == b"answered a\n"


async def test_a_peer_that_asks_for_nothing_is_closed_where_its_dialect_says_so() -> None:
    async with toy_server(ToyEndpoint(first_call_timeout_ms=16_000)) as toy:
        silent, late, asking = [await toy.connect() for _ in range(3)]
        assert await asking.ask(b"echo x\n") == b"x\n"
        await until(lambda: len(toy.endpoints[0].handlers) == 3)
        toy.passed(15.9)
        assert await late.ask(b"echo y\n") == b"y\n"
        toy.passed(0.1)
        assert await silent.rest() == b""
        toy.passed(500)
        for line in (late, asking):
            assert await line.ask(b"echo z\n") == b"z\n"


async def test_an_ending_connection_is_cut_off_in_the_end() -> None:
    async with toy_server() as toy:
        peer = await toy.connect()
        assert await peer.ask(b"broken\n") == b"goodbye\n"
        await until(lambda: toy.server.connection_count == 1)
        toy.passed(6.0)
        await until(lambda: toy.server.connection_count == 0)


async def test_streams_push_between_replies_which_none_of_them_holds_up() -> None:
    async with toy_server() as toy:
        peer = await toy.connect()
        assert await peer.ask(b"open a\nopen b\necho one\n") == b"one\n"
        handler = await first_handler(toy)
        handler.streams["b"].say("1")
        assert await peer.line() == b"b 1\n"
        assert await peer.ask(b"echo two\n") == b"two\n"
        handler.streams["a"].say("1", "2")
        handler.streams["b"].say("2")
        assert [await peer.line() for _ in range(3)] == [b"a 1\n", b"b 2\n", b"a 2\n"]


async def test_a_stream_that_always_has_more_leaves_turns_to_calls_and_other_streams() -> None:
    async with toy_server() as toy:
        peer = await toy.connect()
        peer.write(b"endless 30000\nopen b\n")
        handler = await first_handler(toy)
        await until(lambda: "b" in handler.streams)
        handler.streams["b"].say("1")
        peer.write(b"echo one\n")
        seen: list[bytes] = []
        while not {b"b 1\n", b"one\n"} <= set(seen):
            seen.append(await peer.reader.readline())
        assert len(seen) < 200


async def test_a_stream_is_not_asked_while_its_peer_does_not_take_what_comes() -> None:
    async with toy_server(limits=ServerLimits(reply_bytes_max=100_000)) as toy:
        peer = await toy.connect()
        peer.write(b"endless 30000\n")
        handler = await first_handler(toy)
        await until(lambda: handler.streams)
        stream = handler.streams["30000"]
        asked = -1
        while asked != stream.taken:  # until the sockets between us are full
            asked = stream.taken
            await turns(100)
        assert asked < 1000
        for n in range(1, 1000):
            line = await peer.reader.readline()
            assert line.startswith(b"%d " % n)


async def test_a_stream_ends_behind_its_last_message_and_the_connection_goes_on() -> None:
    async with toy_server() as toy:
        peer = await toy.connect()
        peer.write(b"open a\n")
        handler = await first_handler(toy)
        await until(lambda: handler.streams)
        handler.streams["a"].finish("last")
        assert await peer.line() == b"a last\n"
        assert await peer.ask(b"echo on\n") == b"on\n"
        assert not handler.streams["a"].is_closed


@pytest.mark.parametrize("how", ["reset", "end of stream", "drain", "broken", "bug"])
async def test_every_end_of_a_connection_closes_its_streams(how: str) -> None:
    async with toy_server() as toy:
        peer = await toy.connect()
        assert await peer.ask(b"open a\nopen b\necho x\n") == b"x\n"
        handler = await first_handler(toy)
        if how == "reset":
            peer.reset()
        elif how == "end of stream":
            peer.writer.write_eof()
        elif how == "drain":
            await toy.server.drain(1.0)
        elif how == "broken":
            peer.write(b"broken\n")
        else:
            handler.streams["a"].say("bug")
        await until(lambda: handler.streams["a"].is_closed and handler.streams["b"].is_closed)
        handler.streams["b"].say("to nobody")
        peer.close()
        await until(lambda: toy.server.connection_count == 0)
        assert handler.streams["b"].taken == 0


async def test_what_was_asked_before_a_half_close_opens_no_stream_after_it() -> None:
    async with toy_server() as toy:
        peer = await toy.connect()
        peer.write(b"hold a\nopen b\n")
        peer.writer.write_eof()
        handler = await first_handler(toy)
        await until(lambda: handler.tickets)
        await turns(20)
        handler.tickets["a"].resolve("a")
        assert await peer.rest() == b"answered a\n"
        assert handler.streams["b"].is_closed


async def test_more_streams_than_one_connection_may_have_close_it() -> None:
    async with toy_server(limits=ServerLimits(streams_max=2)) as toy:
        peer = await toy.connect()
        peer.write(b"open a\nopen b\nopen c\n")
        assert await peer.rest() == b"goodbye\n"
        handler = await first_handler(toy)
        assert all(stream.is_closed for stream in handler.streams.values())


async def test_a_peer_that_may_be_silent_or_has_an_open_stream_is_not_idle() -> None:
    endpoint = ToyEndpoint(may_be_silent=True)
    limits = ServerLimits(idle_timeout_ms=1000)
    async with toy_server(limits=limits) as toy, toy_server(endpoint, limits=limits) as silent:
        watching, idle, resting = await toy.connect(), await toy.connect(), await silent.connect()
        assert await watching.ask(b"open a\necho x\n") == b"x\n"
        assert await idle.ask(b"echo y\n") == b"y\n"
        assert await resting.ask(b"echo z\n") == b"z\n"
        for server in (toy, silent):
            server.passed(2.0)
            server.passed(2.0)
        assert await idle.rest() == b""
        assert await watching.ask(b"echo x\n") == b"x\n"
        assert await resting.ask(b"echo z\n") == b"z\n"
