"""Captured requests, spoilt: what comes of them is answers or a closed connection, never a fault of ours."""

from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onelog.protocols.contract import ProtocolError
from tests.support import fluvio_unit_wire as wire
from tests.support.fluvio_golden import capture, names
from tests.support.fluvio_peer import FluvioHouse
from tests.support.fluvio_records import batch_of

REQUESTS = sorted(
    {
        frame.data
        for name in names()
        if name.startswith(("raw", "cli-23", "cli-24", "py-1", "py-20"))
        for frame in capture(name)
        if frame.is_request
    }
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_spoilt_requests_never_are_a_fault_of_ours(house: FluvioHouse, data: st.DataObject) -> None:
    if not house.broker.topics():
        house.make("gold")
        house.make("pya-one")
    request = bytearray(data.draw(st.sampled_from(REQUESTS)))
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(8, len(request) - 1))
        request[at] = data.draw(st.integers(0, 255))
    unit = house.unit()
    with suppress(ProtocolError):
        unit.send(bytes(request))
        unit.frames()
    unit.close()


@pytest.mark.parametrize("cut", range(0, 40, 3))
def test_a_request_that_ends_early_takes_its_connection_and_nothing_else(
    house: FluvioHouse, cut: int
) -> None:
    house.make()
    whole = wire.produce("orders", (0, batch_of(b"a")), smartmodules=None)
    body = whole[4 : len(whole) - 1 - cut]
    unit = house.unit()
    with pytest.raises(ProtocolError):
        unit.received(len(body).to_bytes(4, "big") + body)
    assert wire.produced(house.unit().ask(wire.produce("orders", (0, batch_of(b"a")))))[0].code == 0
