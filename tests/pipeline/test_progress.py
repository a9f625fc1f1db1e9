from dataclasses import replace

from onelog.pipeline.progress import FlowState, behind, counted, parsed_offsets, state_line, summary


def state(records: int, behind: int | None, *, active: bool = True) -> FlowState:
    return FlowState("orders", "tables/orders", records, behind, 1234.5, active)


def test_a_line_says_how_far_behind_and_how_fast() -> None:
    assert state_line([state(5000, 20_000)]) == "orders: 5,000 records, 20,000 behind, 1,234/s"
    assert (
        state_line([state(5000, 0), state(0, None)]) == "orders: 5,000 records, up to date | orders: starting"
    )
    assert state_line([state(3, None)]) == "orders: 3 records"


def test_the_last_word_says_what_is_done_and_what_is_left() -> None:
    assert summary(state(5000, 0)) == "orders: 5,000 records to tables/orders"
    assert summary(state(1, 7)) == "orders: 1 record to tables/orders, 7 behind"
    dead = replace(state(84, 0), dead_letters=4, dead_letters_path="tables/dead")
    assert summary(dead) == "orders: 80 records to tables/orders, 4 dead letters to tables/dead"


def test_one_of_a_thing_is_no_plural() -> None:
    assert counted(1, "batch") == "1 batch"
    assert [counted(0, "record"), counted(1200, "batch")] == ["0 records", "1,200 batches"]


def test_behind_counts_offsets_of_all_partitions_and_never_below_none() -> None:
    assert behind({"a": {"0": 5, "1": 9}}, {"a": {"0": 8, "1": 9, "2": 4}}) == 7
    assert behind({"a": {"0": 5}}, {"a": {"0": 3}}) == 0


def test_offsets_of_another_form_are_none() -> None:
    assert parsed_offsets({"a": {"0": 1}}) == {"a": {"0": 1}}
    assert parsed_offsets(7) is None
    assert parsed_offsets({"a": 1}) is None
