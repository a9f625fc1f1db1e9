"""Producer ids: each once, from blocks that are reserved first."""

from hypothesis import given
from hypothesis import strategies as st

from onelog.broker.producers import rows
from onelog.broker.producers.state import BLOCK_SIZE, Change, ProducersState, Reserved, apply, decide


def _next(state: ProducersState) -> tuple[int, list[Change]]:
    changes, producer_id = decide(state)
    for change in changes:
        apply(state, change)
    return producer_id, changes


def test_a_block_is_reserved_for_its_first_id_only() -> None:
    state = ProducersState()
    reserving = [number for number in range(2 * BLOCK_SIZE) if isinstance(_next(state)[1][0], Reserved)]
    assert reserving == [0, BLOCK_SIZE]


@given(st.lists(st.integers(1, 2 * BLOCK_SIZE), max_size=5))
def test_no_id_is_given_twice_over_any_number_of_starts(lives: list[int]) -> None:
    given_out: list[int] = []
    kept: list[tuple[int, ...]] = []

    def query(_: str) -> list[tuple[int, ...]]:
        return kept

    for count in lives:
        state = rows.load(query)
        for _ in range(count):
            producer_id, changes = _next(state)
            kept = [values for change in changes for _, values in rows.statements(change)] or kept
            given_out.append(producer_id)
    assert len(set(given_out)) == len(given_out)
    assert given_out == sorted(given_out)
