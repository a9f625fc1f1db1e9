from onelog.protocols.tank.connection import _UNANSWERED
from onelog.protocols.tank.framing import Kind
from onelog.protocols.tank.handlers.handler import HANDLERS
from onelog.protocols.tank.messages.forms import REQUESTS
from tests.support.tank_peer import TankPeer


def test_every_request_that_is_read_is_served_or_needs_no_answer() -> None:
    kinds = set(Kind) - {Kind.FETCH_AS_PEER}
    assert set(REQUESTS) == kinds
    assert len(HANDLERS) == len(kinds) - len(_UNANSWERED)


def test_nothing_outlives_a_connection(peer: TankPeer) -> None:
    peer.handler.closed()
