"""Two doors, which are Fluvio's alone."""

from onelog.protocols.contract import Claim
from onelog.protocols.fluvio.endpoint import FluvioEndpoint
from tests.support.fluvio_peer import FluvioPeer


def test_fluvio_has_two_ports_of_its_own() -> None:
    doors = FluvioEndpoint(), FluvioEndpoint(is_unit=True)
    assert [(door.listener, door.port, door.shared) for door in doors] == [
        ("fluvio-sc", 9003, False),
        ("fluvio-spu", 9010, False),
    ]
    assert {door.claims(b"\x00\x00\x00\x27\x00\x12") for door in doors} == {Claim.NO}


def test_its_clients_may_keep_connections_that_they_do_not_use(
    controller: FluvioPeer, unit: FluvioPeer
) -> None:
    assert controller.session.may_be_silent
    assert unit.session.may_be_silent
