"""The loop and its threads in a small world: everything happens when the world says so."""

from collections import deque
from collections.abc import Callable
from random import Random

from onelog.broker.work import Act, Done
from onelog.errors import OnelogError


class SimulatedTimer:
    """Fires when the world likes, unless it is cancelled."""

    def __init__(self, act: Act) -> None:
        self.act: Act | None = act

    def cancel(self) -> None:
        self.act = None


class SimulatedWork:
    """What the committer and the settler want done, until the world does it."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self.time_s = 0.0
        self.acts: deque[Act] = deque()
        self.timers: list[SimulatedTimer] = []
        self.jobs: list[tuple[Act, Done]] = []
        self.files: deque[tuple[Act, Done]] = deque()
        self.in_threads = 0
        self.faults: list[BaseException] = []

    def soon(self, act: Act) -> None:
        self.acts.append(act)

    def later(self, delay_s: float, act: Act) -> SimulatedTimer:
        timer = SimulatedTimer(act)
        self.timers.append(timer)
        return timer

    def now_s(self) -> float:
        self.time_s += 0.00005
        return self.time_s

    def sync(self, job: Act, done: Done) -> None:
        self.jobs.append((job, done))

    def run(self, job: Act, done: Done) -> None:
        self.jobs.append((job, done))

    def run_in_turn(self, job: Act, done: Done) -> None:
        """In the one thread in which directories come and go: behind what was asked for before."""
        self.files.append((job, done))
        if len(self.files) == 1:
            self._next_file_job()

    def _next_file_job(self) -> None:
        job, done = self.files[0]

        def ended(error: BaseException | None) -> None:
            self.files.popleft()
            if self.files:
                self._next_file_job()
            done(error)

        self.jobs.append((job, ended))

    def report(self, message: str, fault: BaseException) -> None:
        self.faults.append(fault)

    # What the world does

    def turn(self) -> None:
        """The loop goes round once."""
        for _ in range(len(self.acts)):
            self.acts.popleft()()

    def fire(self) -> None:
        """Time passes, and one of the timers is due."""
        self.time_s += 3.0
        timers, self.timers = self.timers, []
        for timer in timers:
            if timer.act is not None:
                timer.act()

    def run_one(self, around: Callable[[Act], None]) -> None:
        """A thread does one job, and the loop hears how it ended."""
        job, done = self.jobs.pop(self._rng.randrange(len(self.jobs)))
        error: BaseException | None = None
        self.in_threads += 1
        try:
            around(job)
        except OnelogError as found:
            error = found
        finally:
            self.in_threads -= 1
        self.acts.append(lambda: done(error))

    @property
    def is_idle(self) -> bool:
        return not self.acts and not self.jobs
