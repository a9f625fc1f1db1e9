import resource
import sys
from collections.abc import Iterator

import pytest

from onelog.open_files import connections_that_fit, limit, raise_limit


@pytest.fixture
def hard() -> Iterator[int]:
    """The hard limit, with the soft one below it for as long as the test runs."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (600, hard))
    yield hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_the_limit_is_raised_as_far_as_the_system_allows(hard: int) -> None:
    assert limit() == 600
    raise_limit()
    assert limit() == (sys.maxsize if hard == resource.RLIM_INFINITY else hard)
    raise_limit()


@pytest.mark.parametrize(
    ("asked", "files_max", "fits"),
    [
        (10_000, 1 << 20, 10_000),
        (10_000, 10_512, 10_000),
        (10_000, 10_511, 9_999),
        (10_000, 1024, 512),
        (100, 1024, 100),
        (10_000, 600, 150),
        (10_000, 3, 1),
        (10_000, sys.maxsize, 10_000),
    ],
)
def test_connections_leave_room_for_files(asked: int, files_max: int, fits: int) -> None:
    assert connections_that_fit(asked, files_max=files_max, files_kept=512) == fits
