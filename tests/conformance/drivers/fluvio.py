"""Fluvio through its own wheel. Its names are lower case, digits and hyphens, which binds every topic of the suite."""

from tests.conformance.driver import (
    Addresses,
    Driver,
    Expression,
    Hostility,
    Kind,
)


def _open(addresses: Addresses) -> Driver:
    raise NotImplementedError


KIND = Kind(
    "fluvio",
    "fluvio",
    _open,
    Expression(null_values=False, headers=False),
    Hostility(listener="fluvio-spu", request=b"", oversize=b"", unknown=b""),
    codecs=("none", "gzip", "snappy", "lz4", "zstd"),
    not_yet="its controller and its SPU are not served",
)
