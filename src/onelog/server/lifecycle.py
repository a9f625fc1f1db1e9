"""What the system's signals mean to a process that serves.

Which part stops after which is the app's to know: it enters them into one
contextlib.AsyncExitStack in the order of their start, which ends them in the other one.
"""

import asyncio
import logging
import signal
from types import TracebackType

LOG = logging.getLogger("onelog.server")
STOP_TIMEOUT_S = 10.0  # for all of it: draining, the last syncs, a clean close
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class StopSignals:
    """SIGTERM and SIGINT ask for an orderly stop; a second one ends the process at once.

    From the first signal on the system's own handling is back, so that the second one works even
    if our loop does not.
    """

    def __init__(self) -> None:
        self.requested = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def __enter__(self) -> "StopSignals":
        for number in _SIGNALS:
            self._loop.add_signal_handler(number, self._on_signal, number)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number in _SIGNALS:
            self._loop.remove_signal_handler(number)

    async def wait(self) -> None:
        """Until somebody asks for the stop."""
        await self.requested.wait()

    def _on_signal(self, number: int) -> None:
        LOG.info("%s: stopping; once more ends at once", signal.Signals(number).name)
        for each in _SIGNALS:
            self._loop.remove_signal_handler(each)
            signal.signal(each, signal.SIG_DFL)
        self.requested.set()
