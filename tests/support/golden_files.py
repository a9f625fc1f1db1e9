"""Captured exchanges for tests: what a program sent, and what the broker answered."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.blocking_wire import Wire

FOLDER = Path(__file__).parent.parent / "golden"


@dataclass(frozen=True)
class Exchange:
    """One request and its answer, as bytes."""

    name: str
    request: bytes
    answer: bytes


def exchange(dialect: str, name: str) -> Exchange:
    """The capture of this name."""
    stem = FOLDER / dialect / name
    request, answer = (bytes.fromhex(stem.with_suffix(f".{s}.hex").read_text()) for s in ("req", "rsp"))
    return Exchange(name, request, answer)


@contextmanager
def replaying(captured: Exchange, *, greeting: bytes = b"") -> Iterator[Wire]:
    """A wire whose other end gives the captured answer, and checks that the captured request came."""
    near, far = socket.socketpair()
    with near, far:
        far.sendall(greeting + captured.answer)
        yield Wire(near)
        far.settimeout(1.0)
        sent = b""
        while len(sent) < len(captured.request) and (part := far.recv(1 << 16)):
            sent += part
        assert sent.hex() == captured.request.hex(), captured.name
