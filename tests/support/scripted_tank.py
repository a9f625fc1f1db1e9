"""A TANK broker on loopback that answers frames as a script says; what it was sent is kept.

A script gets one frame and returns the bytes of the answer, b"" for none, or HANG_UP.
"""

import socket
import struct
import threading
from collections.abc import Callable
from typing import Self

from tests.support import tank_wire as wire

HANG_UP = object()
Script = Callable[[bytes], object]


class ScriptedTank:
    """Listens on a free port of 127.0.0.1 until it is closed; one thread a connection."""

    def __init__(self, script: Script, *, opening: bytes = wire.PING) -> None:
        self._script = script
        self._opening = opening
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self.frames: list[bytes] = []
        self.connections = 0
        self.port: int = self._listener.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        self._threads[0].start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        # shutdown wakes the accept that waits; close alone does not.
        for each in (self._listener, *self._open):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
        self._listener.close()
        for thread in self._threads:
            thread.join(5)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(connection)
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream:
            connection.sendall(self._opening)
            while True:
                try:
                    head = stream.read(5)
                except OSError:
                    return
                if len(head) < 5:
                    return
                (size,) = struct.unpack_from("<I", head, 1)
                self.frames.append(head + stream.read(size))
                answer = self._script(self.frames[-1])
                if answer is HANG_UP:
                    return
                assert isinstance(answer, bytes)
                connection.sendall(answer)
