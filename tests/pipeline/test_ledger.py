from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onelog.pipeline.errors import LedgerError
from onelog.pipeline.ledger import (
    Entry,
    Partition,
    Range,
    Ranges,
    Verdict,
    check_log,
    entry_after,
    judge,
    judge_apart,
    uncovered,
)

A, B = Partition("orders", 0), Partition("orders", 1)


def entry(batch_id: int, ranges: Ranges, *, query: str = "q", app: str = "onelog/orders") -> Entry:
    return Entry(app_id=app, query_id=query, batch_id=batch_id, attempt="x", ranges=ranges)


LAST = entry_after(None, entry(4, {A: Range(0, 10), B: Range(0, 5)}))


def test_the_first_batch_of_a_table_is_new() -> None:
    assert judge(None, entry(0, {A: Range(7, 9)})) is Verdict.NEW


def test_a_table_that_lost_its_batches_is_not_taken_for_a_new_one() -> None:
    batch = replace(entry(3, {A: Range(50, 60)}), begins={A: 0})
    with pytest.raises(LedgerError, match="orders/0 from 0 to 50 was landed, the table has nothing"):
        judge(None, batch)


def test_the_next_batch_is_new() -> None:
    assert judge(LAST, entry(5, {A: Range(10, 12), B: Range(5, 5)})) is Verdict.NEW


def test_a_repeated_batch_is_done() -> None:
    assert judge(LAST, entry(4, {A: Range(0, 10), B: Range(0, 5)})) is Verdict.DONE


def test_a_batch_without_offsets_is_told_from_its_repetition_by_its_number() -> None:
    idle: Ranges = {A: Range(10, 10), B: Range(5, 5)}
    assert judge(LAST, entry(5, idle)) is Verdict.NEW
    assert judge(entry_after(LAST, entry(5, idle)), entry(5, idle)) is Verdict.DONE


def test_the_same_number_with_other_offsets_is_impossible() -> None:
    with pytest.raises(LedgerError, match="this batch with other offsets"):
        judge(LAST, entry(4, {A: Range(0, 11), B: Range(0, 5)}))


def test_a_gap_and_an_overlap_name_partition_and_offsets() -> None:
    with pytest.raises(LedgerError, match="orders/0 starts at 11, the table ends at 10: a gap"):
        judge(LAST, entry(5, {A: Range(11, 12)}))
    with pytest.raises(LedgerError, match="orders/1 starts at 4, the table ends at 5: an overlap"):
        judge(LAST, entry(5, {A: Range(10, 10), B: Range(4, 6)}))


def test_without_its_checkpoint_a_query_counts_anew_and_offsets_decide() -> None:
    assert judge(LAST, entry(0, {A: Range(0, 10), B: Range(0, 5)}, query="r")) is Verdict.DONE
    assert judge(LAST, entry(0, {A: Range(10, 20), B: Range(5, 6)}, query="r")) is Verdict.NEW
    with pytest.raises(LedgerError, match="an overlap"):
        judge(LAST, entry(0, {A: Range(0, 20)}, query="r"))


def test_a_partition_that_is_new_may_begin_anywhere() -> None:
    grown = {A: Range(10, 10), B: Range(5, 5), Partition("orders", 2): Range(0, 3)}
    assert judge(LAST, entry(5, grown)) is Verdict.NEW


def test_another_flow_may_not_write_into_the_table() -> None:
    with pytest.raises(LedgerError, match="is written by onelog/orders"):
        judge(LAST, entry(5, {A: Range(10, 12)}, app="onelog/other"))
    with pytest.raises(LedgerError, match="is written by onelog/orders"):
        judge_apart(LAST, entry(5, {A: Range(10, 12)}, app="onelog/other"))


def test_a_topic_that_was_created_again_is_told_by_name() -> None:
    known = replace(LAST, topic_ids={"orders": "id-1"})
    with pytest.raises(LedgerError, match=r"'orders' was deleted and created again.*id-1, and is id-2"):
        judge(known, replace(entry(5, {A: Range(10, 11)}), topic_ids={"orders": "id-2"}))
    with pytest.raises(LedgerError, match=r"created again.*ends at 3, the table has it up to 10"):
        check_log(LAST, log={A: Range(0, 3)}, topic_ids={})
    with pytest.raises(LedgerError, match="created again"):
        check_log(known, log={A: Range(0, 30)}, topic_ids={"orders": "id-2"})


def test_what_retention_took_before_it_was_landed_is_told() -> None:
    with pytest.raises(LedgerError, match="retention removed 2 offsets"):
        check_log(LAST, log={A: Range(12, 30)}, topic_ids={})
    check_log(LAST, log={A: Range(10, 30), B: Range(0, 5)}, topic_ids={})


def test_an_entry_also_speaks_for_partitions_without_a_part_in_the_batch() -> None:
    after = entry_after(LAST, entry(5, {A: Range(10, 12)}))
    assert after.ranges == {A: Range(10, 12), B: Range(5, 5)}
    assert after.claims == {A: Range(0, 12), B: Range(0, 5)}


def test_a_table_that_runs_ahead_takes_only_what_it_does_not_have() -> None:
    assert uncovered(LAST, {A: Range(0, 12), B: Range(0, 5)}) == {A: Range(10, 12)}
    assert judge_apart(LAST, entry(0, {A: Range(3, 9)}, query="r")) is Verdict.DONE
    assert judge_apart(LAST, entry(9, {A: Range(20, 30)})) is Verdict.NEW


def test_an_entry_of_somebody_else_is_refused() -> None:
    for text in ("", "[]", '{"app": 1}', "null"):
        with pytest.raises(LedgerError, match="expected what onelog writes"):
            Entry.of(text)


spans = st.tuples(st.integers(0, 1000), st.integers(0, 1000)).map(lambda t: Range(t[0], t[0] + t[1]))
ranges = st.dictionaries(st.builds(Partition, st.sampled_from(["a", "b.c"]), st.integers(0, 3)), spans)


@given(ranges, st.integers(0, 1 << 40), st.booleans(), st.booleans())
@settings(max_examples=100, deadline=None)
def test_every_entry_survives_a_commit(found: Ranges, batch: int, landing: bool, stateful: bool) -> None:
    given_entry = replace(
        entry_after(None, entry(batch, found)),
        topic_ids={"a": "1"},
        is_landing=landing,
        is_stateful=stateful,
    )
    assert Entry.of(given_entry.text()) == given_entry


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=12), st.lists(st.booleans(), min_size=12, max_size=12)
)
@settings(max_examples=100, deadline=None)
def test_however_often_batches_are_repeated_each_offset_is_taken_once(
    sizes: list[int], repeats: list[bool]
) -> None:
    last, taken, position = None, list[int](), 0
    for number, (size, repeat) in enumerate(zip(sizes, repeats, strict=False)):
        batch = entry(number, {A: Range(position, position + size)})
        for _ in range(2 if repeat else 1):
            if judge(last, batch) is Verdict.NEW:
                taken += range(position, position + size)
                last = entry_after(last, batch)
        position += size
    assert taken == list(range(position))
