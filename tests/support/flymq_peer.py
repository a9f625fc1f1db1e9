"""Both sides of one FlyMQ connection over a real broker, driven by hand, without a socket."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from onelog.broker.broker import Append, Broker, NewTopic, ProduceRules
from onelog.clock import Clock
from onelog.model import Address, TopicName
from onelog.protocols.contract import FrameLimits, Later, Reply, Session
from onelog.protocols.flymq.endpoint import FlyMQEndpoint
from onelog.records.batch import Batch
from onelog.records.record import Record
from onelog.ticket import Ticket
from tests.support.flymq_wire import Fetched, Frame, error_of_programs, fetch, fetched, frame, frames
from tests.support.hand_clock import HandClock
from tests.support.open_broker import open_broker

ADDRESS = Address("broker.example", 9092)


@dataclass
class Peer:
    """One connection. Answers leave in the order of the requests."""

    broker: Broker
    clock: Clock
    for_programs: bool = False
    name: str = "10.0.0.1:5000"

    def __post_init__(self) -> None:
        endpoint = FlyMQEndpoint(for_programs=self.for_programs)
        self.connection = endpoint.connection(FrameLimits(frame_bytes_max=100 << 20))
        session = Session(dialect="flymq", listener="flymq", peer=self.name, advertised={"flymq": ADDRESS})
        self.handler = endpoint.handler(self.broker, session)

    def beside(self, name: str = "10.0.0.2:6000", *, for_programs: bool = False) -> "Peer":
        """Another connection to the same broker."""
        return Peer(self.broker, self.clock, for_programs=for_programs, name=name)

    def outcomes(self, *requests: bytes) -> Iterator[tuple[object, Reply | Later]]:
        """What the handler says to each, before anything is waited for."""
        sent = b"".join(requests)
        while sent:
            lent = self.connection.lend(len(sent))
            count = min(len(lent), len(sent))
            lent[:count] = sent[:count]
            sent = sent[count:]
            for call in self.connection.received(count):
                outcome = self.handler.handle(call.message)
                assert isinstance(outcome, Reply | Later)
                yield call.tag, outcome

    async def said(self, tag: object, outcome: Reply | Later) -> Frame:
        """The answer on the wire."""
        if isinstance(outcome, Later):
            assert isinstance(outcome.awaitable, Ticket)
            assert outcome.answer is not None
            done: Ticket[None] = Ticket()
            outcome.awaitable.add_callback(lambda _: done.resolve(None))
            await done
            outcome = Reply(outcome.answer(outcome.awaitable))
        [answer] = frames(b"".join(self.connection.send(tag, outcome.message)))
        return answer

    async def exchange(self, request: bytes) -> Frame:
        """One request, one answer."""
        [(tag, outcome)] = self.outcomes(request)
        return await self.said(tag, outcome)

    async def ask(self, opcode: int, payload: bytes = b"") -> bytes:
        """The payload of an answer that is no error."""
        return await self.granted(frame(opcode, payload))

    async def granted(self, request: bytes) -> bytes:
        answer = await self.exchange(request)
        assert answer.opcode != 0xFF, error_of_programs(answer.payload)
        assert answer.flags == 1
        return answer.payload

    async def refused(self, request: bytes) -> str:
        """The text of an ERROR."""
        answer = await self.exchange(request)
        assert (answer.opcode, answer.flags) == (0xFF, 1)
        return error_of_programs(answer.payload)

    async def fetch(
        self, topic: str, offset: int = 0, *, partition: int = 0, count: int = 100, filter: str = ""
    ) -> Fetched:
        request = fetch(topic, offset, partition=partition, count=count, filter=filter)
        return fetched(await self.granted(request))

    async def append(self, *records: Record, topic: str = "logs", partition: int = 0) -> None:
        """One batch as another dialect writes it."""
        await self.append_batch(Batch.build(records), topic=topic, partition=partition)

    async def append_batch(self, batch: Batch, *, topic: str = "logs", partition: int = 0) -> None:
        rules = ProduceRules(dialect="kafka", batch_bytes_max=1 << 30)
        [ticket] = self.broker.produce([Append(TopicName(topic), partition, [batch])], rules=rules)
        await ticket


@asynccontextmanager
async def peer_of_a_broker(path: Path, *, topics: int = 1, for_programs: bool = False) -> AsyncIterator[Peer]:
    """A broker with one topic, logs, of two partitions (or none)."""
    clock = HandClock(now_s=1_700_000_000.0)
    async with open_broker(path, clock=clock) as broker:
        if topics:
            await broker.create_topics([NewTopic("logs", 2)])
        yield Peer(broker, clock, for_programs=for_programs)
