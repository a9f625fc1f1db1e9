"""Everything acknowledged survives the power going anywhere, and the test would know if not."""

import logging

import pytest

from tests.crash.mutants import MUTANTS, Mutant
from tests.crash.power_cuts import broken_by

SEEDS = 400
SEEDS_FOR_A_MUTANT = 60

# A promise broke in each of these while the commit log was built (docs/decisions/0011-commit-log.md). What a
# seed means changes with the world, so each finding has a named test of its own, too.
ONCE_BROKEN = (53, 205, 425, 553, 1557, 5081, 6777, 24840, 300591)
# Which seed catches a mutant that the first ones do not.
CAUGHT_BY = {
    "a log left out of the round not holding F back": 104,
    "new directory's parent not synced": 2731,
    "metadata only synced when it looks right": 100,
    "failed sync retried and believed": 122,
    "identity by path": 77,
    "leftovers believed": 96,
    "removed directory unlinked before its rename is durable": 124,
    "pending batches push written ones out of a snapshot": 2792,
    "roll over leftovers": 131,
    "snapshot beyond the end kept": 62,
    "cut not synced": 897,
}


@pytest.fixture(autouse=True)
def _quietly(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, logger="onelog")


def test_what_was_acknowledged_or_served_survives_every_cut() -> None:
    assert not [found for seed in range(SEEDS) if (found := broken_by(seed))]


@pytest.mark.parametrize("seed", ONCE_BROKEN)
def test_what_broke_once_holds(seed: int) -> None:
    assert broken_by(seed) is None


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name)
def test_a_mutant_is_caught(mutant: Mutant) -> None:
    first = CAUGHT_BY.get(mutant.name)
    seeds = range(SEEDS_FOR_A_MUTANT) if first is None else [first]
    with mutant.at_work() as world:
        assert any(broken_by(seed, world) for seed in seeds)
