import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onelog.client.errors import BrokerUnavailable, ClientError, ConnectionLost
from onelog.client.retry import Deadline, Retrier, RetryPolicy, pause
from tests.support.hand_clock import HandClock


def retrier(clock: HandClock, *, timeout_s: float = 10.0, chance: float = 1.0) -> Retrier:
    return Retrier(RetryPolicy(timeout_s=timeout_s), clock=clock, sleep=clock.sleep, chance=lambda: chance)


def lost() -> ConnectionLost:
    return ConnectionLost(address="broker:9092", doing="connecting", found="connection refused", sent=False)


def test_the_first_good_answer_ends_the_row() -> None:
    clock = HandClock()
    errors = iter([lost(), lost()])

    def attempt(_: Deadline) -> str:
        for error in errors:
            raise error
        return "good"

    assert retrier(clock).run(attempt) == "good"
    assert clock.slept == [0.05, 0.1]


def test_what_is_not_retriable_is_raised_at_once() -> None:
    clock = HandClock()

    def attempt(_: Deadline) -> None:
        raise ClientError("wrong")

    with pytest.raises(ClientError, match=r"^wrong$"):
        retrier(clock).run(attempt)
    assert clock.slept == []


def test_a_broker_that_never_answers_is_named_with_what_was_tried_and_how_long() -> None:
    clock = HandClock()

    def attempt(_: Deadline) -> None:
        clock.now_s += 0.5
        raise lost()

    with pytest.raises(BrokerUnavailable) as caught:
        retrier(clock, timeout_s=3.0).run(attempt)
    assert caught.value.address == "broker:9092"
    assert caught.value.attempts == 5
    assert 2.0 < caught.value.waited_s <= 3.5
    assert str(caught.value).startswith(
        "no broker answers at broker:9092: connection refused while connecting. Gave up after 5 attempts in 3."
    )


def test_the_last_error_tells_of_the_attempts_before_it() -> None:
    clock = HandClock()

    def attempt(_: Deadline) -> None:
        raise ClientError("busy.", retriable=True)

    with pytest.raises(ClientError, match=r"busy\. Gave up after \d+ attempts in \d\.\d s\."):
        retrier(clock, timeout_s=2.0).run(attempt)
    assert clock.now_s <= 1002.0


def test_who_prepares_the_next_attempt_hears_the_error_before_the_pause() -> None:
    clock = HandClock()
    heard: list[tuple[str, int]] = []
    errors = iter([lost()])

    def attempt(_: Deadline) -> int:
        for error in errors:
            raise error
        return 1

    retrier(clock).run(attempt, between=lambda error: heard.append((type(error).__name__, len(clock.slept))))
    assert heard == [("ConnectionLost", 0)]


def test_one_deadline_may_span_several_rows() -> None:
    clock = HandClock()
    both = retrier(clock, timeout_s=4.0)
    deadline = both.deadline(longer_s=1.0)
    clock.now_s += 4.9
    assert 0 < deadline.remaining_s() < 0.2

    def attempt(_: Deadline) -> None:
        raise lost()

    with pytest.raises(BrokerUnavailable):
        both.run(attempt, deadline=deadline)
    assert clock.now_s <= 1005.0


@settings(max_examples=100, deadline=None)
@given(
    attempt=st.integers(1, 10_000), chance=st.floats(0, 1), remaining_s=st.floats(-1, 100, allow_nan=False)
)
def test_a_pause_is_bounded_and_never_outlasts_the_deadline(
    attempt: int, chance: float, remaining_s: float
) -> None:
    policy = RetryPolicy()
    delay_s = policy.delay_s(attempt, chance=chance, remaining_s=remaining_s)
    if delay_s is None:
        assert remaining_s <= policy.delay_max_s
    else:
        assert policy.delay_first_s / 2 <= delay_s <= policy.delay_max_s
        assert delay_s < remaining_s


def test_half_of_a_pause_is_chance() -> None:
    policy = RetryPolicy(delay_first_s=1.0, delay_max_s=8.0)
    assert [policy.delay_s(n, chance=0.0, remaining_s=99) for n in (1, 2, 3, 4, 5)] == [0.5, 1, 2, 4, 4]
    assert [policy.delay_s(n, chance=1.0, remaining_s=99) for n in (1, 2, 3, 4, 5)] == [1, 2, 4, 8, 8]


def test_a_pause_of_nothing_returns() -> None:
    pause(0)
