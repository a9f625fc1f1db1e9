"""Listening: where, who may come, and letting go."""

import asyncio
import socket
from contextlib import closing

import pytest

from onelog.metrics import CONNECTIONS, CONNECTIONS_FAULTED, CONNECTIONS_OPENED, Metrics
from onelog.model import Address
from onelog.server.limits import ServerLimits
from onelog.server.listener import ListenerSpec, ListenFailed, Server, bind
from tests.support.hand_clock import HandClock
from tests.support.toy_dialect import ToyEndpoint
from tests.support.toy_server import toy_server, turns, until


def server() -> Server:
    return Server(
        open_handler=lambda endpoint, session: endpoint.handler(None, session),  # type: ignore[arg-type]  # no broker
        metrics=Metrics(),
        clock=HandClock(),
    )


def has_ipv6() -> bool:
    try:
        with closing(socket.socket(socket.AF_INET6)) as sock:
            sock.bind(("::1", 0))
    except OSError:
        return False
    return True


async def test_one_port_serves_both_loopbacks() -> None:
    sockets = await bind(ListenerSpec("toy", ()))
    with closing(sockets[0]):
        hosts = {sock.getsockname()[0] for sock in sockets}
        ports = {sock.getsockname()[1] for sock in sockets}
        for sock in sockets:
            sock.close()
    assert hosts == ({"127.0.0.1", "::1"} if has_ipv6() else {"127.0.0.1"})
    assert len(ports) == 1


async def test_an_address_that_the_machine_does_not_have_is_left_out() -> None:
    sockets = await bind(ListenerSpec("toy", (), hosts=("127.0.0.1", "2001:db8::1")))
    assert [sock.getsockname()[0] for sock in sockets] == ["127.0.0.1"]
    sockets[0].close()


async def test_a_listener_without_any_address_fails() -> None:
    with pytest.raises(ListenFailed, match=r"listener toy: cannot listen on \[2001:db8::1\]"):
        await bind(ListenerSpec("toy", (), hosts=("2001:db8::1",)))


@pytest.mark.parametrize("host", ["192.0.2.1", "no such host"])
async def test_for_a_host_of_no_use_another_host_is_advised_and_no_other_port(host: str) -> None:
    with pytest.raises(ListenFailed) as failed:
        await bind(ListenerSpec("toy", (), port=9092, hosts=(host,)))
    assert "Give it a host of this machine with --listen toy=HOST:9092" in str(failed.value)
    assert "another port" not in str(failed.value)


async def test_a_taken_port_is_said_with_the_option_for_another() -> None:
    with closing(socket.socket()) as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(ListenFailed) as failed:
            await server().start([ListenerSpec("toy", (), port=port)])
    expected = f"listener toy: cannot listen on 127.0.0.1:{port}: the port is taken. "
    assert str(failed.value).startswith(expected)
    assert "--listen toy=127.0.0.1:PORT" in str(failed.value)
    assert "--listen opens exactly the listeners that it names" in str(failed.value)


async def test_when_one_listener_fails_none_is_open() -> None:
    first = await bind(ListenerSpec("toy", (), hosts=("127.0.0.1",)))
    port = first[0].getsockname()[1]
    first[0].close()
    with closing(socket.socket()) as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = other.getsockname()[1]
        specs = [ListenerSpec("a", (), port=port), ListenerSpec("b", (), port=taken)]
        with pytest.raises(ListenFailed):
            await server().start(specs)
    again = await bind(specs[0])
    for sock in again:
        sock.close()


async def test_sessions_are_told_where_the_listeners_are_unless_something_else_is_advertised() -> None:
    served = server()
    one, two = ToyEndpoint("one"), ToyEndpoint("two")
    addresses = await served.start(
        [ListenerSpec("one", [one]), ListenerSpec("two", [two])], advertised={"two": Address("elsewhere", 5)}
    )
    assert addresses["one"].host == "127.0.0.1"
    _, writer = await asyncio.open_connection("127.0.0.1", addresses["one"].port)
    await until(lambda: one.handlers)
    session = one.handlers[0].session
    assert (session.listener, session.dialect) == ("one", "one")
    assert session.peer.startswith("127.0.0.1:")
    assert session.advertised == {"one": addresses["one"], "two": Address("elsewhere", 5)}
    await served.abort()
    writer.close()


async def test_behind_a_wildcard_sessions_are_told_the_host_they_came_to() -> None:
    served = server()
    endpoint = ToyEndpoint()
    addresses = await served.start([ListenerSpec("toy", [endpoint], hosts=("0.0.0.0",))])
    _, writer = await asyncio.open_connection("127.0.0.1", addresses["toy"].port)
    await until(lambda: endpoint.handlers)
    assert endpoint.handlers[0].session.advertised["toy"] == Address("127.0.0.1", addresses["toy"].port)
    await served.abort()
    writer.close()


async def test_a_listener_that_other_machines_reach_warns(caplog: pytest.LogCaptureFixture) -> None:
    served = server()
    await served.start([ListenerSpec("toy", ()), ListenerSpec("open", (), hosts=("0.0.0.0",))])
    await served.abort()
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    (warning,) = warnings
    assert warning.startswith("open listens on 0.0.0.0:")
    assert "open to other machines, without any security" in warning


async def test_what_comes_while_the_server_closes_is_turned_away() -> None:
    async with toy_server() as toy:
        _, writer = await asyncio.open_connection("127.0.0.1", toy.port)
        await toy.server.drain(1.0)
        await turns(20)
        assert toy.server.connection_count == 0
        writer.close()


async def test_small_answers_are_not_held_back_by_the_kernel() -> None:
    sockets = await bind(ListenerSpec("toy", (), hosts=("127.0.0.1",)))
    with closing(sockets[0]) as listening, closing(socket.create_connection(listening.getsockname())):
        loop = asyncio.get_running_loop()
        accepted, _ = await loop.sock_accept(listening)
        with closing(accepted):
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0


async def test_dialects_of_one_port_are_told_apart_and_see_all_their_bytes() -> None:
    async with toy_server(ToyEndpoint("a", first=b"echo a"), ToyEndpoint("b", first=b"echo b")) as toy:
        peer = await toy.connect()
        for byte in b"echo ":
            peer.write(bytes([byte]))
            await turns(5)
        assert await peer.ask(b"bee\n") == b"bee\n"
        assert toy.metrics.value(CONNECTIONS, "b") == 1
        assert toy.metrics.value(CONNECTIONS_OPENED, "toy") == 1


@pytest.mark.parametrize("data", [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01", b"\xff" * 100])
async def test_what_no_dialect_claims_is_closed_without_a_word(data: bytes) -> None:
    async with toy_server(ToyEndpoint("a", first=b"A"), ToyEndpoint("b", first=b"B")) as toy:
        peer = await toy.connect()
        peer.write(data)
        assert await peer.rest() == b""
        assert toy.metrics.value(CONNECTIONS_FAULTED, "unknown") == 1
        await until(lambda: toy.server.connection_count == 0)


async def test_a_slow_first_byte_holds_up_nobody_and_is_closed_in_the_end() -> None:
    async with toy_server(ToyEndpoint("a", first=b"A"), ToyEndpoint("e", first=b"echo")) as toy:
        silent = await toy.connect()
        other = await toy.connect()
        assert await other.ask(b"echo x\n") == b"x\n"
        toy.passed(11.0)
        assert await silent.rest() == b""
        assert await other.ask(b"echo y\n") == b"y\n"


async def test_one_connection_too_many_is_closed_as_it_comes() -> None:
    async with toy_server(limits=ServerLimits(connections_max=1)) as toy:
        first = await toy.connect()
        assert await first.ask(b"echo x\n") == b"x\n"
        second = await toy.connect()
        assert await second.rest() == b""
        assert await first.ask(b"echo y\n") == b"y\n"


async def test_draining_answers_what_was_handled_and_takes_nothing_more() -> None:
    async with toy_server() as toy:
        peer = await toy.connect()
        idle = await toy.connect()
        peer.write(b"later a\nhold b\necho never\n")
        endpoint = toy.endpoints[0]
        await until(lambda: endpoint.handlers and len(endpoint.handlers[0].tickets) == 2)
        draining = asyncio.create_task(toy.server.drain(30.0))
        await turns(5)
        with pytest.raises(OSError):
            await toy.connect()
        handler = endpoint.handlers[0]
        handler.tickets["a"].resolve("a")
        handler.tickets["b"].resolve("b")
        assert await peer.rest() == b"answered a\nanswered b\n"
        assert await idle.rest() == b""
        await draining
        assert handler.handled == ["later a", "hold b"]


async def test_draining_ends_in_time_whatever_is_owed() -> None:
    async with toy_server() as toy:
        peer = await toy.connect()
        peer.write(b"later a\n")
        endpoint = toy.endpoints[0]
        await until(lambda: endpoint.handlers and endpoint.handlers[0].tickets)
        await toy.server.drain(0.0)
        assert toy.server.connection_count == 0
        assert endpoint.handlers[0].is_closed
