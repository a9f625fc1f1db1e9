"""A RustLog connection over a real broker, without a socket: its bytes in, its answers out, in both forms."""

import base64
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onelog.broker.broker import Append, Broker, NewTopic, ProduceRules
from onelog.model import TopicName
from onelog.protocols.contract import FrameLimits, Later, Outcome, ProtocolError, Reply, Session
from onelog.protocols.rustlog.endpoint import RustLogEndpoint
from onelog.records.batch import Batch
from onelog.records.record import Record
from onelog.ticket import Ticket
from tests.support.hand_clock import HandClock
from tests.support.open_broker import open_broker
from tests.support.rustlog_wire import encode_message

LOGS = TopicName("logs")

Message = dict[str, Any]


@dataclass
class Peer:
    """Both sides of one connection, driven by hand; answers leave in the order of the requests."""

    broker: Broker
    clock: HandClock

    def __post_init__(self) -> None:
        endpoint = RustLogEndpoint()
        self._connection = endpoint.connection(FrameLimits(frame_bytes_max=100 << 20))
        session = Session(dialect="rustlog", listener="rustlog", peer="test", advertised={})
        self.handler = endpoint.handler(self.broker, session)

    def outcomes(self, *requests: Message | bytes) -> Iterator[Reply | Later]:
        """What the handler says to each, before anything is waited for. Bytes are whole frames."""
        data = b"".join(r if isinstance(r, bytes) else encode_message(r) for r in requests)
        while data:
            lent = self._connection.lend(len(data))
            count = min(len(lent), len(data))
            lent[:count] = data[:count]
            data = data[count:]
            for call in self._connection.received(count):
                outcome = self.handler.handle(call.message)
                assert isinstance(outcome, Reply | Later)
                yield outcome

    async def heard(self, outcome: Outcome) -> bytes:
        """The answer as it leaves."""
        return b"".join(self._connection.send(None, await self.heard_value(outcome)))

    async def heard_value(self, outcome: Outcome) -> Any:
        """The answer before it is encoded."""
        if isinstance(outcome, Reply):
            return outcome.message
        assert isinstance(outcome, Later)
        assert isinstance(outcome.awaitable, Ticket)
        assert outcome.answer is not None
        done: Ticket[None] = Ticket()
        outcome.awaitable.add_callback(lambda _: done.resolve(None))
        await done
        return outcome.answer(outcome.awaitable)

    async def said(self, outcome: Reply | Later) -> Message:
        """The answer in JSON."""
        answer = json.loads((await self.heard(outcome))[4:])
        assert isinstance(answer, dict)
        return answer

    async def exchange_bytes(self, frame: bytes) -> bytes:
        """One whole frame, and the frame that answers it; a peer that is closed hears its farewell."""
        try:
            [outcome] = self.outcomes(frame)
        except ProtocolError as error:
            return b"".join(self._connection.farewell(error))
        return await self.heard(outcome)

    async def exchange(self, request: Message) -> Message:
        """One request, one answer."""
        [outcome] = self.outcomes(request)
        return await self.said(outcome)

    async def ask(self, kind: str, **fields: Any) -> Message:
        return await self.exchange({"type": kind, **fields})

    async def produce(self, *records: bytes, topic: str = "logs", partition: int = 0) -> Message:
        return await self.exchange(produce(*records, topic=topic, partition=partition))

    async def fetch(self, offset: int, *, max_bytes: int = 1 << 20, **changes: Any) -> Message:
        request = {
            "type": "Fetch",
            "group_id": "",
            "topic": "logs",
            "partition": 0,
            "offset": offset,
            "max_bytes": max_bytes,
        }
        return await self.exchange({**request, **changes})

    async def append(self, *records: Record) -> None:
        """One batch as another dialect writes it."""
        rules = ProduceRules(dialect="kafka", batch_bytes_max=1 << 30)
        [ticket] = self.broker.produce([Append(LOGS, 0, [Batch.build(records)])], rules=rules)
        await ticket


def produce(*records: bytes, topic: str = "logs", partition: int = 0) -> Message:
    encoded = [base64.b64encode(record).decode() for record in records]
    return {"type": "Produce", "topic": topic, "partition": partition, "records": encoded}


@asynccontextmanager
async def peer_of_a_broker(path: Path) -> AsyncIterator[Peer]:
    """A broker with one topic, logs, of two partitions."""
    clock = HandClock(now_s=1_700_000_000.0)
    async with open_broker(path, clock=clock) as broker:
        await broker.create_topics([NewTopic("logs", 2)])
        yield Peer(broker, clock)
