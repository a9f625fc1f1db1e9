"""A server on loopback that answers frames as a script says; what it was sent is kept.

Frames are a big-endian u32 length and so many bytes, as Kafka's and RustLog's are. A script
gets one frame and returns the payload of the answer, None for no answer, or HANG_UP.
"""

import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

HANG_UP = object()
Script = Callable[[bytes], object]


class ScriptedServer:
    """Listens on a free port of 127.0.0.1 until it is closed; one thread a connection."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._open: list[socket.socket] = []
        self.frames: list[bytes] = []
        self.connections = 0
        self.port: int = self._listener.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        self._threads[0].start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        # shutdown wakes the accept that waits; close alone does not.
        _shut(self._listener)
        self._listener.close()
        self.hang_up()
        for thread in self._threads:
            thread.join(5)

    def hang_up(self) -> None:
        """Close every connection there is; new ones are welcome."""
        connections, self._open = self._open, []
        for connection in connections:
            _shut(connection)

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
        with connection:
            while (frame := _frame(connection)) is not None:
                self.frames.append(frame)
                answer = self._script(frame)
                if answer is HANG_UP:
                    return
                if answer is not None:
                    assert isinstance(answer, bytes)
                    connection.sendall(len(answer).to_bytes(4, "big") + answer)


def _frame(connection: socket.socket) -> bytes | None:
    head = exactly(connection, 4)
    return None if head is None else exactly(connection, int.from_bytes(head, "big"))


def exactly(connection: socket.socket, count: int) -> bytes | None:
    data = b""
    while len(data) < count:
        try:
            got = connection.recv(count - len(data))
        except OSError:
            return None
        if not got:
            return None
        data += got
    return data


def _shut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return
