"""Every dialect of the product has its driver, and what is not yet there is really not there."""

from pathlib import Path

import pytest

import onelog
from onelog.config import ConfigError
from onelog.protocols.registry import ENDPOINTS
from tests.conformance.driver import Kind
from tests.conformance.drivers.all import KINDS, PRESENT

NOT_YET = [kind for kind in KINDS if kind.not_yet]


def test_every_dialect_of_the_product_is_driven() -> None:
    assert {endpoint.name for endpoint in ENDPOINTS} <= {kind.dialect for kind in PRESENT}


@pytest.mark.parametrize("kind", NOT_YET, ids=[kind.name for kind in NOT_YET])
def test_what_is_not_yet_there_is_really_not_there(kind: Kind, tmp_path: Path) -> None:
    """When this fails, take `not_yet` from the kind: its dialect has come."""
    with pytest.raises(ConfigError, match="no listener"):
        onelog.Broker(tmp_path, listen=f"{kind.hostility.listener}=localhost:0").start()
