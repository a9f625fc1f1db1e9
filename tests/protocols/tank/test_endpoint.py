import pytest

from onelog.protocols.contract import Claim, FrameLimits, ProtocolError, Reply, Session
from onelog.protocols.registry import ENDPOINTS, configured
from onelog.protocols.tank.endpoint import TankEndpoint
from onelog.protocols.tank.messages.produce import (
    ProduceEntry,
    ProduceRequest,
    ProduceResponse,
    ProduceTopic,
)
from onelog.protocols.tank.settings import TankSettings
from tests.support import tank_wire as wire
from tests.support.tank_peer import TankHouse

ENDPOINT = TankEndpoint()


@pytest.mark.parametrize("prefix", [b"", b"\x01", wire.fetch(("orders", [(0, 0)]))])
def test_nobody_is_told_by_first_bytes_because_the_server_speaks_first(prefix: bytes) -> None:
    assert ENDPOINT.claims(prefix) is Claim.NO
    assert not ENDPOINT.shared


def test_it_is_registered_with_its_own_port() -> None:
    assert [e.port for e in ENDPOINTS if e.name == "tank"] == [11011]


def test_what_is_set_holds_for_frames_and_for_bundles(house: TankHouse) -> None:
    [endpoint] = [e for e in configured(tank=TankSettings(frame_bytes_max=200)) if e.name == "tank"]
    assert [e.name for e in configured(tank=TankSettings())] == [e.name for e in ENDPOINTS]
    connection = endpoint.connection(FrameLimits(frame_bytes_max=1 << 20))
    frame = wire.frame(1, bytes(201))
    connection.lend(len(frame))[: len(frame)] = frame
    with pytest.raises(ProtocolError):
        connection.received(len(frame))
    house.make()
    handler = endpoint.handler(house.broker, Session("tank", "tank", "test", {}))
    request = ProduceRequest(1, [ProduceTopic(b"orders", [ProduceEntry(0, wire.bundle(bytes(200)))])])
    assert handler.handle(request) == Reply(ProduceResponse(1, b"\x0a"))


def test_what_it_cannot_say_is_told() -> None:
    can = ENDPOINT.capabilities
    assert (can.keys, can.null_keys, can.timestamps, can.waits, can.creates_topics) == (True,) * 5
    assert (can.null_values, can.headers, can.commits_positions, can.key_bytes_max) == (False,) * 3 + (255,)
