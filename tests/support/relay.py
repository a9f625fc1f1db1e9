"""A line between clients and a broker that can be cut, and that notes what was asked through it.

It listens before the broker does, so that the broker can be told to name it to its clients.
"""

import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Self


class Relay:
    """One port in front of another. Its connections end with the block."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.target = 0
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._asked: list[bytearray] = []
        self._threads: list[threading.Thread] = []

    def cut(self) -> int:
        """End all connections at once, wherever their bytes are; how many there were."""
        with self._lock:
            for end in self._open:
                _shut(end)
            return len(self._open) // 2

    def asked(self) -> list[tuple[int, int]]:
        """Key and version of each request, connection by connection."""
        with self._lock:
            return [said for data in self._asked for said in _keys(bytes(data))]

    def __enter__(self) -> Self:
        self._begin(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        _shut(self._listener)
        self._threads[0].join()
        self._listener.close()
        self.cut()
        for thread in self._threads:
            thread.join()

    def _begin(self, work: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=work, daemon=True)
        self._threads.append(thread)
        thread.start()
        return thread

    def _accept(self) -> None:
        with suppress(OSError):  # the block has ended
            while True:
                client, _ = self._listener.accept()
                self._begin(partial(self._serve, client))

    def _serve(self, client: socket.socket) -> None:
        # A broker that is not there: the client's connection ends, as it would without us.
        with (
            client,
            suppress(ConnectionError),
            socket.create_connection(("127.0.0.1", self.target)) as broker,
        ):
            asked = bytearray()
            with self._lock:
                self._open |= {client, broker}
                self._asked.append(asked)
            back = self._begin(lambda: self._pass(broker, client, bytearray()))
            self._pass(client, broker, asked)
            back.join()
            with self._lock:
                self._open -= {client, broker}

    def _pass(self, source: socket.socket, sink: socket.socket, noted: bytearray) -> None:
        with suppress(OSError):  # either end is gone, and takes the other along
            while data := source.recv(1 << 16):
                with self._lock:
                    noted += data
                sink.sendall(data)
        _shut(source)
        _shut(sink)


def _shut(end: socket.socket) -> None:
    with suppress(OSError):  # it has ended by itself
        end.shutdown(socket.SHUT_RDWR)


def _keys(data: bytes) -> list[tuple[int, int]]:
    """Of each frame that has begun: a length, a key, a version."""
    found: list[tuple[int, int]] = []
    at = 0
    while at + 8 <= len(data):
        size, key, version = struct.unpack_from(">ihh", data, at)
        found.append((key, version))
        at += 4 + size
    return found
