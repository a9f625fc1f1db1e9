import struct

import pytest

from onelog.protocols.contract import Claim
from onelog.protocols.kafka.endpoint import KafkaEndpoint
from onelog.protocols.kafka.versions import APIS

ENDPOINT = KafkaEndpoint()


def first_bytes(*, size: int = 100, key: int = 18, version: int = 3) -> bytes:
    return struct.pack(">ihh", size, key, version)


@pytest.mark.parametrize("key", sorted(APIS))
def test_every_request_that_is_served_is_recognised_by_eight_bytes(key: int) -> None:
    assert ENDPOINT.claims(first_bytes(key=key, version=APIS[key].version_max)) is Claim.YES


def test_fewer_than_eight_bytes_leave_it_open() -> None:
    data = first_bytes()
    assert [ENDPOINT.claims(data[:count]) for count in range(8)] == [Claim.MORE] * 8


def test_bytes_behind_the_eighth_change_nothing() -> None:
    assert ENDPOINT.claims(first_bytes() + b"\xff" * 50) is Claim.YES


@pytest.mark.parametrize("version", [5, 9, 32767])
def test_api_versions_is_recognised_in_versions_that_are_too_new(version: int) -> None:
    assert ENDPOINT.claims(first_bytes(version=version)) is Claim.YES


@pytest.mark.parametrize(
    "data",
    [
        first_bytes(key=99),
        first_bytes(key=3, version=14),
        first_bytes(version=-1),
        first_bytes(size=0),
        first_bytes(size=-1)[:1],
        b"GET / HTTP/1.1\r\n"[:5],
        b"\x00\x00\x00\x0f{",
        b"\x00\x00\x00\x01\x09",
        b"\xaf\x01",
        b"\x16\x03\x01\x02\x00\x01",
    ],
)
def test_what_another_dialect_or_nobody_says_is_not_claimed(data: bytes) -> None:
    assert ENDPOINT.claims(data) is Claim.NO


def test_produce_in_a_version_that_is_advertised_and_not_served_is_ours_to_refuse() -> None:
    assert ENDPOINT.claims(first_bytes(key=0, version=2)) is Claim.YES
