"""One end of a TCP connection for the clients that tests are written with: whole reads, each with a time-out.

It knows no dialect and nothing of onelog.
"""

import contextlib
import socket
from typing import Self

TIMEOUT_S = 20.0


class Ended(Exception):
    """The other side closed before everything had come."""


class Wire:
    """A connected socket. Owned by one client."""

    def __init__(self, sock: socket.socket) -> None:
        sock.settimeout(TIMEOUT_S)
        self._sock = sock

    @classmethod
    def connect(cls, address: str) -> Self:
        """To HOST:PORT; what is small leaves at once."""
        host, _, port = address.rpartition(":")
        sock = socket.create_connection((host, int(port)), timeout=TIMEOUT_S)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return cls(sock)

    def send(self, data: bytes) -> None:
        """All of it."""
        self._sock.sendall(data)

    def end_sending(self) -> None:
        """Tell the other side that nothing more will come."""
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_WR)

    def read(self, count: int) -> bytes:
        """Exactly so many bytes."""
        parts: list[bytes] = []
        while count:
            part = self._sock.recv(min(count, 1 << 20))
            if not part:
                raise Ended(f"closed with {count} bytes still expected")
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def rest(self) -> bytes:
        """Whatever comes until the other side closes; a reset counts as that."""
        parts: list[bytes] = []
        with contextlib.suppress(ConnectionResetError):
            while part := self._sock.recv(1 << 16):
                parts.append(part)
        return b"".join(parts)

    def close(self) -> None:
        """Both directions."""
        self._sock.close()
