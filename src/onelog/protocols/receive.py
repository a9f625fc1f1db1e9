"""Room for what a peer sends: lent to the socket, read as frames, reused when nobody looks at it.

Knows no dialect and no frame: its user says how large the frame at the front claims to be.
Views of what came stay valid for as long as somebody holds them, because a region that a
view points into is left behind, never written again.
"""

FIRST_BYTES = 32 * 1024
# What a connection that sends large frames may keep between them. Above, it is given back.
KEPT_BYTES_MAX = 2 * 1024 * 1024


class ReceiveBuffer:
    """The bytes between `begin` and `end` have come and wait to be taken; the rest is room.

    begin == end means that nothing waits. One spare is kept: a producer's batch mostly
    outlives its frame by a moment only, so two stores that take turns are enough.
    """

    __slots__ = ("_begin", "_end", "_spare", "_store", "_view")

    def __init__(self) -> None:
        self._store = bytearray()
        self._spare = bytearray()
        self._view = memoryview(self._store)
        self._begin = 0
        self._end = 0

    @property
    def waiting(self) -> int:
        """How many bytes have come and were not taken."""
        return self._end - self._begin

    def lend(self, frame_bytes: int = 0) -> memoryview:
        """Room for at least one byte. frame_bytes: what the frame at the front takes in all, if known."""
        capacity = len(self._store)
        if self._begin == self._end:
            # Going on behind what was taken is cheaper than a rewind, until half is used up.
            if self._end * 2 >= capacity:
                self._make_room(frame_bytes)
        elif self._end == capacity or (self._begin > 0 and self._begin + frame_bytes > capacity):
            self._make_room(frame_bytes)
        return self._view[self._end :]

    def filled(self, count: int) -> None:
        """So many bytes were written to the start of what was lent last."""
        assert 0 <= count <= len(self._store) - self._end
        self._end += count

    def peek(self) -> memoryview:
        """All that waits. Let go of it before the next lend, or it costs a new store."""
        return self._view[self._begin : self._end]

    def take(self, count: int) -> memoryview:
        """The first count bytes that wait; valid for as long as it is held."""
        assert 0 <= count <= self.waiting
        taken = self._view[self._begin : self._begin + count]
        self._begin += count
        if self._begin == self._end and len(self._store) > KEPT_BYTES_MAX:
            self._spare = bytearray()
            self._use(bytearray(), b"")
        return taken

    def _make_room(self, frame_bytes: int) -> None:
        waiting = bytes(self._view[self._begin : self._end])
        # Memory follows bytes, not claims: a frame gets its size only as fast as it comes.
        claimed = min(frame_bytes, 2 * len(waiting))
        capacity = max(FIRST_BYTES, claimed)
        self._view.release()
        old, spare = self._store, self._spare
        if not _is_free(old):
            self._spare = old if len(old) <= KEPT_BYTES_MAX else bytearray()
            chosen = spare if len(spare) >= capacity and _is_free(spare) else bytearray(capacity)
        else:
            chosen = old if len(old) >= capacity else bytearray(capacity)
        self._use(chosen, waiting)

    def _use(self, store: bytearray, waiting: bytes) -> None:
        store[: len(waiting)] = waiting
        self._store = store
        self._view = memoryview(store)
        self._begin, self._end = 0, len(waiting)


def _is_free(store: bytearray) -> bool:
    """Whether no view points into it. A bytearray with views refuses to change its size."""
    if not store:
        return True
    try:
        last = store.pop()
    except BufferError:
        return False
    store.append(last)
    return True
