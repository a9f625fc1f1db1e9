import pytest

from onelog.protocols.contract import Claim
from onelog.protocols.flymq.endpoint import FlyMQEndpoint
from onelog.protocols.registry import ENDPOINTS
from tests.support.flymq_wire import frame


def test_the_first_byte_decides() -> None:
    endpoint = FlyMQEndpoint()
    assert endpoint.claims(b"") is Claim.MORE
    assert endpoint.claims(b"\xaf") is Claim.YES
    assert endpoint.claims(b"\xae\x01") is Claim.NO


@pytest.mark.parametrize("opcode", [0x01, 0x08, 0x70])
def test_no_other_dialect_of_the_shared_port_claims_a_frame(opcode: int) -> None:
    sent = frame(opcode, bytes(20))
    claims = {e.name: e.claims(sent[:n]) for e in ENDPOINTS if e.shared for n in range(1, 9)}
    assert claims.pop("flymq") is Claim.YES
    assert Claim.YES not in claims.values()


def test_there_is_a_door_for_programs_alone_which_opens_only_when_asked_for() -> None:
    door = FlyMQEndpoint(for_programs=True)
    assert (door.name, door.listener, door.port, door.shared) == ("flymq", "flymq-sdk", 0, False)
