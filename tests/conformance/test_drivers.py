"""Every dialect of the product has its driver, and what is not yet there is really not there."""

from pathlib import Path

import onelog
from onelog.config import ConfigError
from onelog.protocols.registry import ENDPOINTS
from tests.conformance.drivers.all import KINDS, PRESENT


def test_every_dialect_of_the_product_is_driven() -> None:
    assert {endpoint.name for endpoint in ENDPOINTS} <= {kind.dialect for kind in PRESENT}


def test_what_is_not_yet_there_is_really_not_there(tmp_path: Path) -> None:
    """When this fails, take `not_yet` from the kind: its dialect has come."""
    for kind in KINDS:
        if kind.not_yet:
            assert not is_listened_for(kind.hostility.listener, tmp_path), kind.name
    assert is_listened_for("shared", tmp_path)


def is_listened_for(listener: str, path: Path) -> bool:
    try:
        with onelog.Broker(path, listen=f"{listener}=localhost:0"):
            return True
    except ConfigError:
        return False
