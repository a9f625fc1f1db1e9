"""How many files this process may have open, sockets included, and how many connections fit.

The usual soft limit is 1024, which is for programs that put file numbers into select(); this
one does not. A process that has no number left can neither accept nor read a segment. What
the broker itself keeps open is storage's to say (handles.py).
"""

import contextlib
import resource
import sys


def raise_limit() -> None:
    """Let this process open as many files as the system allows it. For a process of our own only."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        # Some systems promise more than they give (macOS: no limit); then it stays as it was.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def limit() -> int:
    """How many it may have open now."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft


def connections_that_fit(asked: int, *, files_max: int, files_kept: int) -> int:
    """As many as asked for, if so many sockets are left beside the files that are kept open.

    A quarter of all at least: where files and sockets are both scarce, neither gets everything.
    """
    return max(1, min(asked, max(files_max - files_kept, files_max // 4)))
