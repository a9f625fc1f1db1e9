"""Everything acknowledged survives the power going anywhere, and the test would know if not."""

import pytest

from tests.crash.mutants import MUTANTS, Mutant
from tests.crash.power_cuts import broken_by

SEEDS = 600
SEEDS_FOR_A_MUTANT = 1000


def test_what_was_acknowledged_or_served_survives_every_cut() -> None:
    assert not [found for seed in range(SEEDS) if (found := broken_by(seed))]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name)
def test_a_mutant_is_caught(mutant: Mutant) -> None:
    with mutant.at_work() as world:
        assert any(broken_by(seed, world) for seed in range(SEEDS_FOR_A_MUTANT))
