"""Kafka's dialect over a real broker, without sockets: bytes in, bytes out, time by hand."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from onelog.broker.broker import Broker
from onelog.broker.catalog import MIGRATIONS
from onelog.broker.settings import BrokerSettings
from onelog.metrics import Metrics
from onelog.protocols.contract import Address, Call, FrameLimits, Later, Outcome, Reply, Session
from onelog.protocols.kafka.endpoint import KafkaEndpoint
from onelog.storage.disk import RealDisk
from onelog.storage.store import Store
from tests.support.kafka_wire import request, response
from tests.support.virtual_clock import VirtualLoop, turns

ENDPOINT = KafkaEndpoint()
ADVERTISED = {"shared": Address("shared.example", 9092), "kafka": Address("kafka.example", 19092)}


class KafkaHouse:
    """A broker over one directory, and peers that speak Kafka to it. Owns its loop."""

    def __init__(self, path: Path, **settings: Any) -> None:
        self.path = path
        self.loop = VirtualLoop()
        self.clock = self.loop.clock
        self.settings = BrokerSettings(**settings)
        self.failures: list[BaseException] = []
        self.metrics = Metrics()
        self.broker = self.open()

    def open(self) -> Broker:
        """A new life over what is on disk."""

        async def opened() -> Broker:
            self.store = Store.open(RealDisk(), str(self.path), migrations=MIGRATIONS)
            return await Broker.open(
                store=self.store,
                clock=self.clock,
                metrics=self.metrics,
                settings=self.settings,
                on_failure=self.failures.append,
            )

        self.broker = self.loop.run_until_complete(opened())
        return self.broker

    def restart(self) -> None:
        """Close, and open again."""
        self.loop.run_until_complete(self.broker.close())
        self.open()

    def close(self) -> None:
        """Close the broker and the loop."""
        self.loop.run_until_complete(self.broker.close())
        self.loop.run_until_complete(asyncio.sleep(0))
        self.loop.close()
        assert self.failures == []

    def settle(self) -> None:
        """What was acknowledged gets to the segments now, and not when it was left alone for a while."""

        async def settled() -> None:
            await self.broker._parts.settler.round()

        self.loop.run_until_complete(settled())

    def peer(self, listener: str = "shared") -> "KafkaPeer":
        """A new connection."""
        return KafkaPeer(self, listener)

    def advance(self, ms: int) -> None:
        """Let time pass."""
        self.loop.run_until_complete(self.clock.advance(ms))


class Answer:
    """An answer that may still be on its way."""

    def __init__(self, peer: "KafkaPeer", call: Call, outcome: Outcome, key: int, version: int) -> None:
        self._peer, self._outcome, self.tag = peer, outcome, call.tag
        self._key, self._version = key, version

    def is_there(self) -> bool:
        """Whether nothing has to be waited for any more."""
        return not isinstance(self._outcome, Later) or bool(getattr(self._outcome.awaitable, "done", False))

    def body(self) -> Any:
        """The answer as its bytes say it; None if there is none."""
        message = self._peer.house.loop.run_until_complete(self.message())
        if message is None:
            return None
        sent = b"".join(self._peer.connection.send(self.tag, message))
        return response(self._key, self._version, sent[4:])[1]

    async def message(self) -> Any:
        """The answer as the handler gives it."""
        match self._outcome:
            case Reply(message):
                return message
            case None:
                return None
            case Later(ticket, _, answer):
                await _ended(ticket)
                return ticket if answer is None else answer(ticket)  # type: ignore[arg-type]  # Kafka uses tickets only


class KafkaPeer:
    """One connection: what is asked goes through bytes both ways."""

    def __init__(self, house: KafkaHouse, listener: str) -> None:
        self.house = house
        self.connection = ENDPOINT.connection(FrameLimits(frame_bytes_max=100 << 20))
        self.session = Session(dialect="kafka", listener=listener, peer="test", advertised=ADVERTISED)
        self.handler = ENDPOINT.handler(house.broker, self.session)

    def begin(self, key: int, version: int, body: Any, *, client_id: str | None = "test") -> Answer:
        """One request, handled as far as it goes at once."""
        (call,) = self.received(request(key, version, body, client_id=client_id))
        outcome = self.house.loop.run_until_complete(self._handled(call))
        return Answer(self, call, outcome, key, version)

    def ask(self, key: int, version: int, body: Any, *, client_id: str | None = "test") -> Any:
        """One request and its answer."""
        return self.begin(key, version, body, client_id=client_id).body()

    async def _handled(self, call: Call) -> Outcome:
        outcome = self.handler.handle(call.message)
        await turns(1)
        return outcome

    def received(self, data: bytes) -> Sequence[Call]:
        """The calls that these bytes make."""
        calls: list[Call] = []
        while data:
            room = self.connection.lend(len(data))
            part, data = data[: len(room)], data[len(room) :]
            room[: len(part)] = part
            calls += self.connection.received(len(part))
        return calls


async def _ended(ticket: Any) -> None:
    done = asyncio.Event()
    ticket.add_callback(lambda _: done.set())
    await done.wait()
