import pytest

from onelog.protocols.contract import Claim
from onelog.protocols.registry import ENDPOINTS
from onelog.protocols.tank.endpoint import TankEndpoint
from tests.support import tank_wire as wire

ENDPOINT = TankEndpoint()


@pytest.mark.parametrize("prefix", [b"", b"\x01", wire.fetch(("orders", [(0, 0)]))])
def test_nobody_is_told_by_first_bytes_because_the_server_speaks_first(prefix: bytes) -> None:
    assert ENDPOINT.claims(prefix) is Claim.NO
    assert not ENDPOINT.shared


def test_it_is_registered_with_its_own_port() -> None:
    assert [e.port for e in ENDPOINTS if e.name == "tank"] == [11011]


def test_what_it_cannot_say_is_told() -> None:
    can = ENDPOINT.capabilities
    assert (can.keys, can.null_keys, can.timestamps, can.waits, can.creates_topics) == (True,) * 5
    assert (can.null_values, can.headers, can.commits_positions, can.key_bytes_max) == (False,) * 3 + (255,)
