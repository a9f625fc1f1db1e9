"""Where a broker listens, as people type it."""

from onelog.client.errors import ClientError
from onelog.model import Address

DEFAULT_BOOTSTRAP = "127.0.0.1:9092"
# Of dialects that have a port of their own.
DEFAULT_BOOTSTRAPS = {"tank": "127.0.0.1:11011", "fluvio": "127.0.0.1:9003"}


def parse_address(text: str) -> Address:
    """HOST:PORT as an address, or ClientError."""
    host, colon, port = text.strip().rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    host = host[1:-1] if bracketed else host
    plain = bracketed or ":" not in host
    if not (colon and host and plain and port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise ClientError(f"{text!r} is no address: expected HOST:PORT, like 127.0.0.1:9092 or [::1]:9092.")
    return Address(host, int(port))


def parse_bootstrap(text: str) -> list[Address]:
    """HOST:PORT[,HOST:PORT...] as addresses; the first that answers tells of the others."""
    return [parse_address(part) for part in text.split(",")]
