"""What is said and counted at a door."""

import logging

import pytest

from onelog.metrics import Metrics
from onelog.protocols.contract import ProtocolError, Session
from onelog.server.door import Door, House, address_text
from onelog.server.limits import ServerLimits
from tests.support.hand_clock import HandClock
from tests.support.toy_dialect import ToyEndpoint, ToyHandler
from tests.support.toy_server import toy_server


def house(clock: HandClock) -> House:
    return House(
        open_handler=lambda endpoint, session: ToyHandler(session),
        metrics=Metrics(),
        clock=clock,
        limits=ServerLimits(),
    )


async def test_complaints_about_peers_are_rate_limited(caplog: pytest.LogCaptureFixture) -> None:
    clock = HandClock()
    door = Door(house(clock), name="toy", endpoints=[ToyEndpoint()])
    session = Session(dialect="toy", listener="toy", peer="127.0.0.1:9", advertised={})
    with caplog.at_level(logging.INFO, "onelog.server"):
        for _ in range(100):
            door.blame(session, ProtocolError("length 5; expected 4"))
        said = list(caplog.messages)
        clock.now_s += 60
        door.blame(session, ProtocolError("again"))
    assert len(said) == 10
    assert said[0] == "toy: toy from 127.0.0.1:9 closed: length 5; expected 4"
    assert caplog.messages[-1] == "90 lines like this were kept back"


async def test_a_full_house_says_which_setting_is_the_bound(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "onelog.server"):
        async with toy_server(limits=ServerLimits(connections_max=0)) as toy:
            assert await (await toy.connect()).rest() == b""
    assert "server.connections_max = 0" in caplog.text


@pytest.mark.parametrize(
    ("name", "text"),
    [(("127.0.0.1", 5), "127.0.0.1:5"), (("::1", 5, 0, 0), "[::1]:5"), (None, "an unknown address")],
)
def test_addresses_are_written_as_people_type_them(name: object, text: str) -> None:
    assert address_text(name) == text
