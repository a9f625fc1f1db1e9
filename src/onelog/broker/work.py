"""What the loop does later, and what is done in threads meanwhile: the two things that storage's owners need.

Threads make system calls only. Whatever is done is told on the loop's thread, many in one wake-up.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Protocol

Act = Callable[[], None]
Done = Callable[[BaseException | None], None]


class Timer(Protocol):
    """Something that will happen unless it is cancelled."""

    def cancel(self) -> None:
        """It will not."""
        ...


class Work(Protocol):
    """The loop and its threads, as the committer and the settler see them."""

    def soon(self, act: Act) -> None:
        """Do it at the end of this turn of the loop."""
        ...

    def later(self, delay_s: float, act: Act) -> Timer:
        """Do it when so much time has passed."""
        ...

    def now_s(self) -> float:
        """A clock that never goes back."""
        ...

    def sync(self, job: Act, done: Done) -> None:
        """Run the commit log's sync, beside nothing else of its kind; then tell how it ended."""
        ...

    def run(self, job: Act, done: Done) -> None:
        """Run it in some thread; then tell how it ended."""
        ...

    def report(self, message: str, fault: BaseException) -> None:
        """A fault of somebody who was told something: told to the loop's owner."""
        ...


class LoopWork:
    """Work on the running loop, with threads of its own."""

    def __init__(self, *, threads: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._sync_thread = ThreadPoolExecutor(1, thread_name_prefix="onelog-sync")
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="onelog-settler")
        self._finished: deque[tuple[Done, BaseException | None]] = deque()
        self._is_told = False

    def soon(self, act: Act) -> None:
        """Do it at the end of this turn of the loop."""
        self._loop.call_soon(act)

    def later(self, delay_s: float, act: Act) -> Timer:
        """Do it when so much time has passed."""
        return self._loop.call_later(delay_s, act)

    def now_s(self) -> float:
        """The loop's own clock."""
        return self._loop.time()

    def sync(self, job: Act, done: Done) -> None:
        """Run it in the thread that does nothing else."""
        self._submit(self._sync_thread, job, done)

    def run(self, job: Act, done: Done) -> None:
        """Run it in some thread."""
        self._submit(self._threads, job, done)

    def report(self, message: str, fault: BaseException) -> None:
        """Tell the loop's exception handler."""
        self._loop.call_exception_handler({"message": message, "exception": fault})

    def close(self) -> None:
        """Let the threads go. Nothing is left for them to do."""
        self._sync_thread.shutdown(wait=True)
        self._threads.shutdown(wait=True)

    def _submit(self, threads: ThreadPoolExecutor, job: Act, done: Done) -> None:
        try:
            future = threads.submit(job)
        except RuntimeError as error:  # no thread to be had, or closed already
            self._loop.call_soon(done, error)
        else:
            future.add_done_callback(partial(self._ended, done))

    def _ended(self, done: Done, future: "Future[None]") -> None:
        # In the thread. One wake-up of the loop serves all that ends before it runs.
        self._finished.append((done, future.exception()))
        if not self._is_told:
            self._is_told = True
            self._loop.call_soon_threadsafe(self._collect)

    def _collect(self) -> None:
        self._is_told = False
        while self._finished:
            done, error = self._finished.popleft()
            done(error)
