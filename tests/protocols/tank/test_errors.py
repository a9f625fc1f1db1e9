"""No code is one that TANK's clients do not know: the C++ library aborts its program at others."""

import pytest

from onelog.errors import ErrorCode, UnknownPartition, Unsupported
from onelog.protocols.tank.errors import (
    CODES,
    CREATE_CODES,
    FETCH_CODES,
    Code,
    CreateCode,
    create_code,
    produce_code,
)


def test_every_map_is_total() -> None:
    assert set(CODES) == set(FETCH_CODES) == set(CREATE_CODES) == set(ErrorCode)


def test_codes_are_those_that_clients_know() -> None:
    assert set(CODES.values()) <= {0, 1, 2, 3, 4, 10, 0xFC, 0xFD, 0xFE, 0xFF}
    assert set(FETCH_CODES.values()) <= {0, 1, 0xFB, 0xFC, 0xFD, 0xFE, 0xFF}
    assert set(CREATE_CODES.values()) <= {0, 1, 2, 4, 5, 10, 11}


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_a_refusal_is_told_as_the_version_knows_it(version: int) -> None:
    assert produce_code(Unsupported("x"), version=version) == (10 if version else 2)
    assert produce_code(UnknownPartition("t", 1, 1), version=version) is Code.UNKNOWN_PARTITION
    assert produce_code(RuntimeError("a bug"), version=version) is Code.SYSTEM_ERROR


def test_what_is_not_supported_is_told_apart_from_what_is_wrong() -> None:
    assert create_code(Unsupported("x")) is CreateCode.UNSUPPORTED
