"""Which dialect does a new connection speak? Its first bytes decide.

Knows no dialect: it asks the endpoints of the port, and keeps the bytes that they had to see,
so that the one that wins reads them again as if nobody had looked.
"""

from collections.abc import Sequence

from onelog.protocols.contract import Claim, Endpoint

PREFIX_BYTES_MAX = 64


class Unclaimed(Exception):
    """No endpoint of this port knows what to do with these bytes."""


class Sniffer:
    """The first bytes of one connection, until an endpoint claims it."""

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        self._candidates = list(endpoints)
        self._buffer = bytearray(PREFIX_BYTES_MAX)
        self._count = 0

    @property
    def prefix(self) -> bytes:
        """What has come so far."""
        return bytes(self._buffer[: self._count])

    def lend(self) -> memoryview:
        """Room for what is still missing of the prefix."""
        return memoryview(self._buffer)[self._count :]

    def received(self, count: int) -> Endpoint | None:
        """So many bytes have come: the endpoint that claims them, None as long as it is open."""
        self._count += count
        prefix = self.prefix
        undecided = []
        for endpoint in self._candidates:
            claim = endpoint.claims(prefix)
            if claim is Claim.YES:
                return endpoint
            if claim is Claim.MORE:
                undecided.append(endpoint)
        if not undecided or self._count == PREFIX_BYTES_MAX:
            raise Unclaimed(f"no dialect of this port begins with {_looks_like(prefix)}")
        self._candidates = undecided
        return None


def _looks_like(prefix: bytes) -> str:
    """The first four bytes, and a guess: enough to help, too little to leak what a peer sent."""
    text = prefix[:4].hex(" ")
    if prefix[:4] in (b"GET ", b"POST", b"PUT ", b"HEAD", b"OPTI", b"DELE"):
        return f"{text} (this looks like HTTP; the console has a port of its own)"
    if prefix[:1] == b"\x16":
        return f"{text} (this looks like TLS)"
    return text
