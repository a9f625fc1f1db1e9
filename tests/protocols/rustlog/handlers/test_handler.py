"""Each call goes to the form that it came in, and every request of both has somebody who serves it."""

from pathlib import Path
from typing import get_args

from onelog.protocols.contract import Reply, Session
from onelog.protocols.rustlog import binary_form
from onelog.protocols.rustlog.handlers.binary_form import BINARY
from onelog.protocols.rustlog.handlers.handler import RustLogHandler
from onelog.protocols.rustlog.handlers.json_form import JSON
from onelog.protocols.rustlog.messages import binary, json
from tests.support.open_broker import open_broker


def test_every_request_of_both_forms_is_served() -> None:
    assert {*binary_form.REQUESTS.values(), binary.Undecodable} == BINARY
    assert {*get_args(json.REQUESTS), json.InvalidCall} == JSON


async def test_a_call_is_answered_in_its_form(tmp_path: Path) -> None:
    async with open_broker(tmp_path) as broker:
        session = Session(dialect="rustlog", listener="rustlog", peer="test", advertised={})
        handler = RustLogHandler(broker, session)
        assert handler.handle(json.Ping()) == Reply(json.Pong())
        assert handler.handle(binary.Ping()) == Reply(binary.Pong())
        handler.closed()
