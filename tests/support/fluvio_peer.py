"""Fluvio's dialect over a real broker, without sockets: bytes in, bytes out, time by hand."""

from collections import deque
from collections.abc import Mapping
from typing import Any

from onelog.protocols.contract import Address, Call, FrameLimits, Later, Outcome, Push, Reply, Session
from onelog.protocols.fluvio.endpoint import FluvioEndpoint
from onelog.protocols.fluvio.handlers.topics import SETTLE_MS
from onelog.protocols.fluvio.versions import CONTROLLER_APIS, UNIT_APIS
from onelog.server.streams import Streams
from onelog.ticket import Ticket
from tests.support.fluvio_wire import frame, frames
from tests.support.tank_peer import TankHouse
from tests.support.virtual_clock import turns

ADVERTISED = {"fluvio-sc": Address("127.0.0.1", 9003), "fluvio-spu": Address("127.0.0.1", 9010)}


class FluvioHouse(TankHouse):
    """A broker over one directory, and peers that speak Fluvio to it. Owns its loop."""

    def controller(self, advertised: Mapping[str, Address] = ADVERTISED) -> "FluvioPeer":
        return FluvioPeer(self, FluvioEndpoint(), advertised)

    def unit(self, advertised: Mapping[str, Address] = ADVERTISED) -> "FluvioPeer":
        return FluvioPeer(self, FluvioEndpoint(is_unit=True), advertised)


class FluvioPeer:
    """One connection, driven by hand: what is asked goes through bytes both ways."""

    def __init__(
        self, house: FluvioHouse, endpoint: FluvioEndpoint, advertised: Mapping[str, Address]
    ) -> None:
        self.house = house
        self.connection = endpoint.connection(FrameLimits(frame_bytes_max=100 << 20))
        self.session = Session(
            dialect="fluvio", listener=endpoint.listener, peer="test", advertised=advertised
        )
        self.handler = endpoint.handler(house.broker, self.session)
        self.streams = Streams(lambda: None)
        self._apis = UNIT_APIS if endpoint.listener == "fluvio-spu" else CONTROLLER_APIS
        self.outcomes: list[Outcome] = []
        self._came: deque[bytes] = deque()

    def received(self, data: bytes, *, step: int | None = None) -> list[Call]:
        """The calls that these bytes make, handed over in steps as a socket would."""
        calls: list[Call] = []
        while data:
            room = self.connection.lend(len(data))
            count = min(len(room), len(data), step or len(data))
            room[:count] = data[:count]
            data = data[count:]
            calls += self.connection.received(count)
        return calls

    def send(self, *requests: bytes) -> None:
        """Requests in one piece, each handled as far as it goes at once."""

        async def handled() -> None:
            for call in self.received(b"".join(requests)):
                self._outcome(call, self.handler.handle(call.message))
            await turns()

        self.house.loop.run_until_complete(handled())

    def frames(self) -> list[bytes]:
        """What has come since this was last asked: answers, then what streams have, in turns."""

        async def pushed() -> None:
            await turns()
            while (message := self.streams.next()) is not None or self.streams.is_ready:
                if message is not None:
                    self._say(*message)
                await turns(1)

        self.house.loop.run_until_complete(pushed())
        came = [*self._came]
        self._came.clear()
        return came

    def ask(self, request: bytes) -> bytes:
        """One request and the one frame that answers it, without its length and number."""
        self.send(request)
        return self.only()

    def only(self) -> bytes:
        """The one frame that comes, without its length and number."""

        async def came() -> None:
            passed_ms = 0
            while not self._came and not self.streams.is_ready:
                await turns(1)
                # Time passes only for who waits until others have been told, and no longer than that.
                if passed_ms < SETTLE_MS and self.house.loop.has_timer_within(SETTLE_MS):
                    await self.house.clock.advance(1)
                    passed_ms += 1

        self.house.loop.run_until_complete(came())
        [frame] = self.frames()
        return frame[4:]

    def call(self, key: int, message: Any, *, version: int = 19) -> Any:
        """One request as a message, and the message that answers it or comes first."""
        api = self._apis[key]
        request = frame(key, version, b"".join(api.request.encode(message, version)))
        answer = self.ask(request)
        found, end = api.response.decode(memoryview(answer), 0, version)
        assert end == len(answer)
        return found

    def told(self, key: int, *, version: int = 19) -> list[Any]:
        """What has come on open streams of this kind of request since this was last asked."""
        decode = self._apis[key].response.decode
        return [decode(memoryview(each), 4, version)[0] for each in self.frames()]

    def close(self) -> None:
        """As when the socket is gone."""
        self.streams.close()
        self.handler.closed()

    def _outcome(self, call: Call, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        match outcome:
            case Reply(message):
                self._say(call.tag, message)
            case Later(Ticket() as ticket, _, answer):
                assert answer is not None
                ticket.add_callback(lambda done: self._say(call.tag, answer(done)))
            case Push(stream):
                self.streams.open(call.tag, stream)
            case _:
                raise AssertionError(f"Fluvio does not use {outcome}")

    def _say(self, tag: Any, message: Any) -> None:
        self._came.extend(frames(b"".join(self.connection.send(tag, message))))
