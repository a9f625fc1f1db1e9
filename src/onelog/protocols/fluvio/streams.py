"""Open watches: each is a place in a journal that all of one kind share.

A change is written down once and encoded once for each version that somebody speaks, however
many watch. A watcher that is so far behind that the journal has forgotten where it stood gets
everything anew, which its client takes in place of what it knew.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, Final

from onelog.protocols.fluvio.messages.watch import WATCHED, Change, WatchResponse

# Objects in the journal of a feed: with as many behind it, a watcher is told everything again.
JOURNAL_OBJECTS_MAX: Final = 4096


class _Entry:
    """One change, and its frame in every version that was asked for."""

    __slots__ = ("frames", "response")

    def __init__(self, response: WatchResponse) -> None:
        self.response = response
        self.frames: dict[int, bytes] = {}

    def frame(self, version: int) -> bytes:
        found = self.frames.get(version)
        if found is None:
            found = self.frames[version] = b"".join(WATCHED.encode(self.response, version))
        return found


class Feed:
    """The news of one kind of object. everything: all of them, now. is_whole: nothing of them
    changes but what is told here, so the first frame of one watcher will do for the next.
    """

    def __init__(self, label: str, everything: Callable[[], list[Any]], *, is_whole: bool = False) -> None:
        self.label = label
        self.epoch = 0
        self._everything = everything
        self._is_whole = is_whole
        self._firsts: dict[int, tuple[int, bytes]] = {}
        self._journal: deque[_Entry] = deque()
        self._objects = 0
        self._watchers: dict[WatchStream, None] = {}

    @property
    def is_watched(self) -> bool:
        """Whether anybody hears of it."""
        return bool(self._watchers)

    def add(self, changes: list[Change]) -> None:
        """All who watch are told, when their peers take it."""
        self.epoch += 1
        if not self._watchers:
            return
        self._journal.append(_Entry(WatchResponse(self.label, self.epoch, changes)))
        self._objects += len(changes)
        while self._objects > JOURNAL_OBJECTS_MAX and len(self._journal) > 1:
            self._objects -= len(self._journal.popleft().response.changes)
        for watcher in self._watchers:
            watcher.wake()

    def after(self, epoch: int, version: int) -> tuple[int, bytes] | None:
        """The next frame for who knows this epoch, and the epoch then; None: nothing new."""
        if epoch == self.epoch:
            return None
        first = self._journal[0].response.epoch if self._journal else self.epoch + 1
        if not first <= epoch + 1:
            return self.all(version)
        return epoch + 1, self._journal[epoch + 1 - first].frame(version)

    def all(self, version: int) -> tuple[int, bytes]:
        """Everything that there is, and the epoch of it."""
        first = self._firsts.get(version)
        if first is None or first[0] != self.epoch:
            response = WatchResponse(self.label, self.epoch, all=self._everything())
            first = self.epoch, b"".join(WATCHED.encode(response, version))
            if self._is_whole:
                self._firsts[version] = first
        return first

    def watch(self, watcher: "WatchStream") -> None:
        """One more who is told."""
        self._watchers[watcher] = None

    def unwatch(self, watcher: "WatchStream") -> None:
        """It is gone."""
        self._watchers.pop(watcher, None)
        if not self._watchers:
            self._journal.clear()
            self._objects = 0


class WatchStream:
    """One watch: everything at first, then what changes, for as long as its connection lives."""

    is_over = False

    def __init__(self, feed: Feed, version: int) -> None:
        self._feed = feed
        self._version = version
        self._epoch: int | None = None
        self.wake: Callable[[], None] = _nobody

    def opened(self, wake: Callable[[], None]) -> None:
        """The first frame is there at once."""
        self.wake = wake
        self._feed.watch(self)
        wake()

    def next(self) -> bytes | None:
        """What it has not been told."""
        if self._epoch is None:
            self._epoch, frame = self._feed.all(self._version)
            return frame
        told = self._feed.after(self._epoch, self._version)
        if told is None:
            return None
        self._epoch, frame = told
        return frame

    def closed(self) -> None:
        """Its connection is gone."""
        self._feed.unwatch(self)


class StillStream:
    """A watch of what never changes: one frame, and silence."""

    is_over = False

    def __init__(self, response: WatchResponse) -> None:
        self._response: WatchResponse | None = response

    def opened(self, wake: Callable[[], None]) -> None:
        wake()

    def next(self) -> WatchResponse | None:
        response, self._response = self._response, None
        return response

    def closed(self) -> None:
        """Nothing is kept for it."""


def _nobody() -> None:
    """Before it is opened nobody listens."""
