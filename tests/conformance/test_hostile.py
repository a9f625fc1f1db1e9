"""What is no request ends its own connection or gets an error; everybody else goes on."""

import random

import pytest

from tests.conformance.driver import Addresses, Driver, Kind, Message, texts
from tests.conformance.drivers.all import PRESENT
from tests.support.blocking_wire import Wire

RANDOM = random.Random(20261120)
HOSTILE = list({kind.hostility.request: kind for kind in PRESENT}.values())


@pytest.fixture(params=HOSTILE, ids=[kind.name for kind in HOSTILE])
def kind(request: pytest.FixtureRequest) -> Kind:
    found: Kind = request.param
    return found


@pytest.fixture
def door(kind: Kind, addresses: Addresses) -> str:
    """The listener of this dialect alone."""
    return addresses[kind.hostility.listener]


def greeted(kind: Kind, door: str) -> Wire:
    wire = Wire.connect(door)
    assert wire.read(len(kind.hostility.greeting)) == kind.hostility.greeting
    return wire


def answered(kind: Kind, door: str) -> bytes:
    """What a plain request gets on a new connection."""
    wire = greeted(kind, door)
    wire.send(kind.hostility.request)
    wire.end_sending()
    answer = wire.rest()
    wire.close()
    return answer


def goes_on(driver: Driver, topic: str) -> None:
    driver.create_topic(topic)
    driver.produce(topic, [Message(b"v")])
    assert texts(driver.read(topic)) == ["v"]


def test_a_plain_request_is_answered_on_the_dialects_own_listener(kind: Kind, door: str) -> None:
    assert answered(kind, door)


def test_a_request_may_come_byte_by_byte(kind: Kind, door: str) -> None:
    wire = greeted(kind, door)
    for byte in kind.hostility.request:
        wire.send(bytes([byte]))
    wire.end_sending()
    assert len(wire.rest()) > 0
    wire.close()


def test_a_cut_request_is_the_end_of_its_connection_alone(
    kind: Kind, door: str, driver: Driver, topic: str
) -> None:
    for cut in range(len(kind.hostility.request)):
        wire = greeted(kind, door)
        wire.send(kind.hostility.request[:cut])
        wire.end_sending()
        assert wire.rest() == b"", f"cut at {cut}"
        wire.close()
    goes_on(driver, topic)


def test_a_length_above_the_bound_ends_its_connection_before_its_bytes_come(
    kind: Kind, door: str, driver: Driver, topic: str
) -> None:
    wire = greeted(kind, door)
    wire.send(kind.hostility.oversize)
    wire.rest()
    wire.close()
    goes_on(driver, topic)


def test_an_unknown_request_is_refused_or_ends_its_connection(
    kind: Kind, door: str, driver: Driver, topic: str
) -> None:
    wire = greeted(kind, door)
    wire.send(kind.hostility.unknown)
    wire.send(kind.hostility.request)
    wire.end_sending()
    wire.rest()
    wire.close()
    assert answered(kind, door)
    goes_on(driver, topic)


@pytest.mark.parametrize("listener", ["own", "shared"])
def test_noise_ends_its_connection_alone(
    kind: Kind, door: str, addresses: Addresses, driver: Driver, topic: str, listener: str
) -> None:
    before = answered(kind, door)
    for length in range(1, 120, 3):
        wire = Wire.connect(door if listener == "own" else addresses["shared"])
        noise = RANDOM.randbytes(length)
        # Half of it begins as a request does, so that it comes further in.
        wire.send(kind.hostility.request[: length % 7] + noise if length % 2 else noise)
        wire.end_sending()
        wire.rest()
        wire.close()
    assert len(answered(kind, door)) >= len(before)
    goes_on(driver, topic)


def test_a_request_with_a_byte_flipped_does_no_harm(
    kind: Kind, door: str, driver: Driver, topic: str
) -> None:
    request = bytearray(kind.hostility.request)
    for i in range(len(request)):
        wire = greeted(kind, door)
        wire.send(bytes(b ^ 0xFF if at == i else b for at, b in enumerate(request)))
        wire.end_sending()
        wire.rest()
        wire.close()
    goes_on(driver, topic)
