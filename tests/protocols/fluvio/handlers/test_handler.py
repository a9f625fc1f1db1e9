"""Every request has its handler, at the door where it is read."""

from onelog.protocols.fluvio.handlers.handler import CONTROLLER_HANDLERS, UNIT_HANDLERS
from onelog.protocols.fluvio.versions import CONTROLLER_APIS, UNIT_APIS
from tests.support import fluvio_wire as wire
from tests.support.fluvio_peer import FluvioPeer


def test_every_request_that_is_read_has_a_handler() -> None:
    assert set(CONTROLLER_HANDLERS) == set(CONTROLLER_APIS)
    assert set(UNIT_HANDLERS) == set(UNIT_APIS)


def test_the_session_learns_what_the_client_calls_itself(controller: FluvioPeer) -> None:
    controller.ask(wire.frame(18, 0, b"", client_id="my-program"))
    assert controller.session.client_id == "my-program"
