"""TANK's dialect over a real broker, without sockets: bytes in, bytes out, time by hand."""

import asyncio
from collections.abc import Callable
from typing import Any

from onelog.broker.broker import Append, NewTopic, ProduceRules, Read
from onelog.errors import OnelogError, PartitionClosed
from onelog.model import TopicName
from onelog.protocols.contract import Call, FrameLimits, Later, Outcome, Reply, Session
from onelog.protocols.tank.endpoint import TankEndpoint
from onelog.records.batch import Batch
from tests.support import tank_wire as wire
from tests.support.kafka_peer import KafkaHouse
from tests.support.virtual_clock import turns

ENDPOINT = TankEndpoint()


class TankHouse(KafkaHouse):
    """A broker over one directory, and peers that speak TANK to it. Owns its loop."""

    def tank(self) -> "TankPeer":
        return TankPeer(self)

    def run(self, begin: Callable[[], Any]) -> Any:
        """What the loop is asked for, and its end."""

        async def waited() -> Any:
            return await begin()

        return self.loop.run_until_complete(waited())

    def make(self, name: str = "orders", partitions: int = 1, **settings: str) -> None:
        """A topic, as any dialect makes one."""
        named = {key.replace("_", "."): value for key, value in settings.items()}
        [outcome] = self.run(lambda: self.broker.create_topics([NewTopic(name, partitions, named)]))
        assert not isinstance(outcome, OnelogError), outcome

    def delete_topic(self, name: str) -> None:
        """As any dialect deletes one."""
        self.run(lambda: self.broker.delete_topics([name]))

    def delete_below(self, offset: int, *, topic: str = "orders", partition: int = 0) -> None:
        """Records, as retention or another dialect deletes them."""
        self.run(lambda: self.broker.delete_records(topic, partition, offset))

    def stored(self, *, topic: str = "orders", partition: int = 0) -> list[Batch]:
        """The batches of a partition as the log has them."""
        [found] = self.broker.fetch(
            [Read(TopicName(topic), partition, 0, 1 << 30)], bytes_max=1 << 30, dialect="test"
        )
        assert not isinstance(found, OnelogError), found
        return found.batches

    def waiters(self, topic: str, partition: int) -> int:
        """How many fetches wait at a partition."""
        return len(self.broker._parts.served.partition(TopicName(topic), partition)._waiters)

    def close_partition(self, topic: str, partition: int) -> None:
        """As after damage."""
        error = PartitionClosed(topic=topic, partition=partition, reason="a test")
        self.run(lambda: self.broker._parts.served.partition(TopicName(topic), partition).close(error))

    def append(self, batch: Batch, *, topic: str = "orders", partition: int = 0) -> None:
        """A batch, as another dialect writes it."""

        rules = ProduceRules(dialect="kafka", batch_bytes_max=1 << 30)
        self.run(lambda: self.broker.produce([Append(TopicName(topic), partition, [batch])], rules=rules)[0])


class Answer:
    """An answer that may still be on its way."""

    def __init__(self, peer: "TankPeer", outcome: Outcome) -> None:
        self._peer = peer
        self.is_held = isinstance(outcome, Later) and outcome.hold
        self.task = asyncio.ensure_future(peer.said(outcome))

    def is_there(self) -> bool:
        """Whether nothing has to be waited for any more."""
        return self.task.done()

    def cancel(self) -> None:
        """Nobody wants it any more."""
        self.task.cancel()
        self._peer.house.loop.run_until_complete(turns())

    def frame(self) -> bytes:
        """The bytes of it."""
        return self._peer.house.loop.run_until_complete(self.task)


class TankPeer:
    """One connection, driven by hand: what is asked goes through bytes both ways."""

    def __init__(self, house: TankHouse) -> None:
        self.house = house
        self.connection = ENDPOINT.connection(FrameLimits(frame_bytes_max=100 << 20))
        self.session = Session(dialect="tank", listener="tank", peer="test", advertised={})
        self.handler = ENDPOINT.handler(house.broker, self.session)

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

    def begin(self, *frames: bytes) -> list[Answer]:
        """Requests in one piece, each handled as far as it goes at once."""

        async def handled() -> list[Answer]:
            outcomes = [self.handler.handle(call.message) for call in self.received(b"".join(frames))]
            answers = [Answer(self, outcome) for outcome in outcomes]
            await turns(1)
            return answers

        return self.house.loop.run_until_complete(handled())

    def ask(self, request: bytes) -> bytes:
        """One request and its answer."""
        [answer] = self.begin(request)
        return answer.frame()

    def produce(self, *contents: bytes, topic: str = "orders", partition: int = 0) -> None:
        """One bundle, which is taken."""
        assert self.codes(wire.produce((topic, [(partition, wire.bundle(*contents))]))) == b"\x00"

    def codes(self, request: bytes) -> bytes:
        """Of a produce."""
        return wire.codes(self.ask(request))

    def fetch(
        self, sequence: int, *, size: int = 1 << 20, topic: str = "orders", partition: int = 0, **options: int
    ) -> wire.Part:
        """One entry, of one partition."""
        return wire.fetched(self.ask(wire.fetch((topic, [(partition, sequence, size)]), **options))).only

    async def said(self, outcome: Outcome) -> bytes:
        """The answer on the wire."""
        if isinstance(outcome, Later):
            message = await _message(outcome)
        else:
            assert isinstance(outcome, Reply)
            message = outcome.message
        return b"".join(self.connection.send(None, message))


async def _message(later: Later) -> Any:
    if later.answer is None:
        return await later.awaitable
    done = asyncio.Event()
    later.awaitable.add_callback(lambda _: done.set())  # type: ignore[union-attr]  # an answer is made of tickets only
    await done.wait()
    return later.answer(later.awaitable)  # type: ignore[arg-type]  # the same
