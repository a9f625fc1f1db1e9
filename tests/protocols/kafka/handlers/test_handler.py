import asyncio
from typing import Any

import pytest

from onelog.protocols.contract import Later, Outcome
from onelog.protocols.kafka.handlers.handler import HANDLERS
from onelog.protocols.kafka.messages.topics import MetadataRequest
from onelog.protocols.kafka.versions import APIS, FETCH, METADATA, PRODUCE
from onelog.ticket import Ticket
from tests.support.kafka_peer import KafkaPeer
from tests.support.kafka_talk import batch, create_topic, fetch_request, produce_request
from tests.support.kafka_wire import request


def test_exactly_what_is_served_has_a_handler() -> None:
    assert set(HANDLERS) == set(APIS)


@pytest.mark.parametrize("client_id", [None, "me"])
def test_the_session_knows_its_client(peer: KafkaPeer, client_id: str | None) -> None:
    peer.ask(METADATA, 9, MetadataRequest(topics=[]), client_id=client_id)
    assert peer.session.client_id == (client_id or "")


@pytest.mark.parametrize(
    ("key", "body"),
    [
        (PRODUCE, produce_request(batch(b"a"))),
        (FETCH, fetch_request(0)),
        (FETCH, fetch_request(0, max_wait_ms=1000)),
    ],
    ids=["produce", "fetch", "a fetch that waits"],
)
def test_the_hot_requests_cost_no_task_and_no_future(
    peer: KafkaPeer, monkeypatch: pytest.MonkeyPatch, key: int, body: Any
) -> None:
    create_topic(peer, "orders")
    (call,) = peer.received(request(key, 12 if key == FETCH else 9, body))

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("this costs a task or a future")

    async def handled() -> Outcome:
        loop = asyncio.get_running_loop()
        with monkeypatch.context() as patched:
            patched.setattr(loop, "create_task", refuse)
            patched.setattr(loop, "create_future", refuse)
            return peer.handler.handle(call.message)

    outcome = peer.house.loop.run_until_complete(handled())
    assert isinstance(outcome, Later)
    assert isinstance(outcome.awaitable, Ticket)


def test_a_reader_that_is_gone_is_not_waited_for(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    (call,) = peer.received(request(FETCH, 12, fetch_request(0, max_wait_ms=60_000)))

    async def abandoned() -> None:
        outcome = peer.handler.handle(call.message)
        assert isinstance(outcome, Later)
        assert isinstance(outcome.awaitable, Ticket)
        outcome.awaitable.cancel()
        peer.handler.closed()

    peer.house.loop.run_until_complete(abandoned())
    peer.house.advance(120_000)
