"""What each door says it serves, and to whom."""

import struct

import pytest

from onelog.protocols.fluvio.versions import CONTROLLER_APIS
from tests.support import fluvio_wire as wire
from tests.support.fluvio_peer import FluvioPeer


def served(answer: bytes) -> tuple[int, dict[int, tuple[int, int]], str]:
    """error, keys, platform"""
    error, count = struct.unpack_from(">hi", answer)
    apis = [struct.unpack_from(">hhh", answer, 6 + 6 * index) for index in range(count)]
    return error, {key: (low, high) for key, low, high in apis}, answer[8 + 6 * count :].decode()


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_a_client_of_any_version_learns_what_is_served(controller: FluvioPeer, version: int) -> None:
    error, keys, platform = served(controller.ask(wire.api_versions(version)))
    assert (error, keys) == (
        0,
        {k: (a.advertised, a.version_max) for k, a in CONTROLLER_APIS.items() if a.advertised is not None},
    )
    assert tuple(map(int, platform.split("."))) >= (0, 9, 0)


@pytest.mark.parametrize("client_version", ["", "no version"])
def test_a_client_without_a_version_of_its_own_is_served(
    controller: FluvioPeer, unit: FluvioPeer, client_version: str
) -> None:
    for peer in (controller, unit):
        assert served(peer.ask(wire.api_versions(client_version=client_version)))[0] == 0
