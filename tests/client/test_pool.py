from dataclasses import dataclass

import pytest

from onelog.client.errors import ClientError
from onelog.client.pool import IDLE_MAX, Pool
from onelog.client.retry import Deadline
from onelog.model import Address
from tests.support.hand_clock import HandClock

HERE = Address("here", 1)
THERE = Address("there", 1)
DEADLINE = Deadline(HandClock(), 1.0)


@dataclass(eq=False)
class Line:
    """A connection that counts for nothing but being open."""

    address: Address
    stale: bool = False
    closed: bool = False

    def is_stale(self) -> bool:
        return self.stale

    def close(self) -> None:
        self.closed = True


def pool() -> tuple[Pool[Line], list[Line]]:
    made: list[Line] = []

    def connect(address: Address, _: Deadline) -> Line:
        made.append(Line(address))
        return made[-1]

    return Pool(connect), made


def test_a_connection_that_came_back_is_used_again() -> None:
    lines, made = pool()
    for _ in range(3):
        with lines.borrow(HERE, DEADLINE):
            pass
    assert len(made) == 1


def test_two_borrowers_at_once_have_a_connection_each() -> None:
    lines, made = pool()
    with lines.borrow(HERE, DEADLINE) as one, lines.borrow(HERE, DEADLINE) as other:
        assert one is not other
    assert len(made) == 2


def test_addresses_do_not_share_connections() -> None:
    lines, made = pool()
    with lines.borrow(HERE, DEADLINE):
        pass
    with lines.borrow(THERE, DEADLINE) as line:
        assert line.address == THERE
    assert len(made) == 2


def test_a_connection_in_which_something_went_wrong_is_closed() -> None:
    lines, made = pool()
    with pytest.raises(KeyError), lines.borrow(HERE, DEADLINE):
        raise KeyError
    assert made[0].closed
    with lines.borrow(HERE, DEADLINE) as line:
        assert line is made[1]


def test_a_stale_connection_is_replaced() -> None:
    lines, made = pool()
    with lines.borrow(HERE, DEADLINE):
        pass
    made[0].stale = True
    with lines.borrow(HERE, DEADLINE) as line:
        assert line is made[1]
    assert made[0].closed


def test_few_idle_connections_are_kept() -> None:
    lines, made = pool()
    borrowed = [lines.borrow(HERE, DEADLINE) for _ in range(IDLE_MAX + 2)]
    for one in borrowed:
        one.__enter__()
    for one in borrowed:
        one.__exit__(None, None, None)
    assert sum(not line.closed for line in made) == IDLE_MAX


def test_a_closed_pool_closes_what_comes_back_and_lends_no_more() -> None:
    lines, made = pool()
    with lines.borrow(HERE, DEADLINE):
        with lines.borrow(HERE, DEADLINE):
            pass
        lines.close()
        assert [line.closed for line in made] == [False, True]
    assert made[0].closed
    with pytest.raises(ClientError, match="closed"), lines.borrow(HERE, DEADLINE):
        pass
