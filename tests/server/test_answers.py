"""Slots: what may leave, and what is given up."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from onelog.protocols.contract import Buffer, Later
from onelog.server.answers import Answers, Slot
from onelog.ticket import Ticket


def slot(tag: int, *, request_bytes: int = 0) -> Slot:
    return Slot(tag, Later(Ticket[object]()), request_bytes, lambda _: None)


def text(buffers: Sequence[Buffer]) -> bytes:
    return b"".join(buffers)


@given(st.permutations(range(6)))
@settings(max_examples=50, deadline=None)
def test_answers_leave_in_the_order_of_their_slots_however_they_come(order: list[int]) -> None:
    answers = Answers(in_order=True)
    slots = [slot(n) for n in range(6)]
    for each in slots:
        answers.open(each)
    left = b"".join(text(answers.fill(slots[n], [b"%d" % n])) for n in order)
    assert left == b"012345"
    assert (len(answers), answers.waiting_bytes) == (0, 0)


def test_without_order_an_answer_leaves_at_once() -> None:
    answers = Answers(in_order=False)
    first, second = slot(1), slot(2)
    answers.open(first)
    answers.open(second)
    assert text(answers.fill(second, [b"second"])) == b"second"
    assert len(answers) == 1


def test_an_answer_that_is_nothing_makes_way() -> None:
    answers = Answers(in_order=True)
    first, second = slot(1), slot(2)
    answers.open(first)
    answers.open(second)
    answers.fill(second, [b"second"])
    assert text(answers.fill(first, ())) == b"second"


def test_what_is_held_is_known_in_bytes() -> None:
    answers = Answers(in_order=True)
    first, second = slot(1, request_bytes=10), slot(2, request_bytes=5)
    answers.open(first)
    answers.open(second)
    assert answers.request_bytes == 15
    answers.fill(second, [b"four"])
    assert (answers.request_bytes, answers.waiting_bytes) == (10, 4)
    answers.fill(first, [b"x"])
    assert (answers.request_bytes, answers.waiting_bytes) == (0, 0)


def test_cutting_drops_what_was_asked_for_later() -> None:
    answers = Answers(in_order=True)
    tickets = [Ticket[object]() for _ in range(3)]
    slots = [Slot(n, Later(ticket), 1, lambda _: None) for n, ticket in enumerate(tickets)]
    for each in slots:
        answers.open(each)
    answers.fill(slots[2], [b"ready"])
    answers.cut(slots[0])
    assert [ticket.cancelled for ticket in tickets] == [False, True, False]
    assert (len(answers), answers.waiting_bytes, answers.request_bytes) == (1, 0, 1)


def test_cancelling_lets_go_of_everything() -> None:
    answers = Answers(in_order=True)
    ticket = Ticket[object]()
    answers.open(Slot(1, Later(ticket), 0, lambda _: None))
    answers.cancel()
    assert ticket.cancelled
    assert len(answers) == 0
