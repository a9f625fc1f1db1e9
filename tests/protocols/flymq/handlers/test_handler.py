from pathlib import Path

import pytest

from onelog.metrics import REFUSALS
from onelog.protocols.flymq.framing import Opcode
from onelog.protocols.flymq.handlers.handler import HANDLERS
from onelog.protocols.flymq.messages.forms import REQUESTS, InvalidCall, UnservedCall
from tests.support.flymq_peer import peer_of_a_broker
from tests.support.flymq_wire import frame

TO_COME = sorted(set(Opcode) - set(REQUESTS) - {Opcode.AUTH_RESPONSE, Opcode.ERROR})


def test_every_request_has_its_handler() -> None:
    declared = {layout.cls for layouts in REQUESTS.values() for layout in layouts}
    assert set(HANDLERS) == {*declared, InvalidCall, UnservedCall}


@pytest.mark.parametrize("opcode", TO_COME)
async def test_what_is_to_come_is_refused_by_its_name_and_the_connection_goes_on(
    tmp_path: Path, opcode: Opcode
) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        refused = await peer.refused(frame(opcode, b"anything"))
        assert refused == f"{opcode.name} (0x{opcode:02X}) is not supported."
        assert peer.broker.metrics.value(REFUSALS, "flymq", "unsupported") == 1
        await peer.ask(Opcode.LIST_TOPICS)


async def test_what_is_no_request_is_refused_and_counted(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        assert await peer.refused(frame(0xC3)) == "unknown opcode: 195"
        assert (await peer.refused(frame(Opcode.PRODUCE, b"\0\5ab"))).startswith("buffer too small")
        assert peer.broker.metrics.value(REFUSALS, "flymq", "invalid_request") == 2
        await peer.ask(Opcode.LIST_TOPICS)
