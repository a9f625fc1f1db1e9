"""One blocking TCP connection: bytes out, exactly so many bytes in, under a deadline.

Knows no protocol. Whatever goes wrong is a ConnectionLost that says whether bytes had left.
"""

import select
import socket
from collections.abc import Sequence

from onelog.client.errors import ConnectionLost
from onelog.client.retry import Deadline
from onelog.model import Address

Buffer = bytes | bytearray | memoryview

# A host that swallows packets must not eat the whole deadline while others would answer.
CONNECT_S_MAX = 5.0
# Below this, copying into one buffer is cheaper than a system call more.
JOIN_BYTES_MAX = 64 * 1024


class Stream:
    """An open connection. One owner at a time."""

    def __init__(self, address: Address, deadline: Deadline) -> None:
        self.address = address
        self._sent = False
        self._is_connected = False
        self._has_answered = False
        timeout_s = min(max(deadline.remaining_s(), 0.001), CONNECT_S_MAX)
        try:
            self._socket = socket.create_connection(address, timeout=timeout_s)
        except OSError as error:
            raise self._lost("connecting", error) from error
        self._is_connected = True
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, buffers: Sequence[Buffer], *, doing: str, deadline: Deadline) -> None:
        """All of it, in order."""
        try:
            for data in joined(buffers):
                self._socket.settimeout(self._left_s(deadline))
                self._sent = True
                self._socket.sendall(data)
        except OSError as error:
            raise self._lost(doing, error) from error

    def receive(self, count: int, *, doing: str, deadline: Deadline) -> bytearray:
        """Exactly count bytes, in a buffer of their own."""
        data = bytearray(count)
        view = memoryview(data)
        try:
            while view:
                self._socket.settimeout(self._left_s(deadline))
                got = self._socket.recv_into(view)
                if got == 0:
                    raise ConnectionResetError("the broker closed the connection")
                view = view[got:]
        except OSError as error:
            raise self._lost(doing, error) from error
        return data

    def answered(self) -> None:
        """The last request has its answer: nothing is under way."""
        self._sent = False
        self._has_answered = True

    def is_stale(self) -> bool:
        """Whether an idle connection was closed, or talks out of turn: not to be used again."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(0))

    def close(self) -> None:
        """No more of it."""
        self._socket.close()

    def fileno(self) -> int:
        """What the system knows it by."""
        return self._socket.fileno()

    def _left_s(self, deadline: Deadline) -> float:
        left_s = deadline.remaining_s()
        if left_s <= 0:
            raise TimeoutError
        return left_s

    def _lost(self, doing: str, error: OSError) -> ConnectionLost:
        if isinstance(error, TimeoutError):
            found = "no answer in time"
        else:
            found = (error.strerror or str(error)).lower()
        return ConnectionLost(
            address=str(self.address),
            doing=doing,
            found=found,
            sent=self._sent,
            is_stranger=self._is_connected and not self._has_answered,
        )


def readable(streams: Sequence[Stream], wait_s: float) -> list[Stream]:
    """Those that have something to read, or have ended; at the latest when the time is over."""
    poll = select.poll()
    by_number = {stream.fileno(): stream for stream in streams}
    for number in by_number:
        poll.register(number, select.POLLIN)
    return [by_number[number] for number, _ in poll.poll(max(wait_s, 0) * 1000)]


def joined(buffers: Sequence[Buffer]) -> list[Buffer]:
    """The same bytes in few pieces: small neighbours are copied together, large ones stay."""
    pieces: list[Buffer] = []
    small = bytearray()
    for data in buffers:
        if len(data) < JOIN_BYTES_MAX:
            small += data
            continue
        if small:
            pieces.append(small)
            small = bytearray()
        pieces.append(data)
    if small:
        pieces.append(small)
    return pieces
