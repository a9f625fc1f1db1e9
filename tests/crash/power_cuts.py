"""Thousands of small worlds, each with its power cuts: `python -m tests.crash.power_cuts --seeds 5000`.

A few hundred of them run every day (test_power_cuts.py). A seed that breaks a promise is
printed; `World(seed).live()` lives through it again. With --mutants, each way to be wrong is tried
on so many seeds until one of them catches it.
"""

import argparse
import logging
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from onelog.errors import OnelogError
from onelog.storage.disk import StoreRefused
from tests.crash.mutants import EQUIVALENT, MUTANTS
from tests.crash.world import ViolatedError, World

# What a world ends with when a promise is broken: the oracle's word, or a start that refuses.
BROKEN = (ViolatedError, OnelogError, StoreRefused, AssertionError)
CHUNK = 250


def broken_by(seed: int, kind: type[World] = World) -> str | None:
    """How this seed breaks a promise, if it does."""
    try:
        kind(seed).live()
    except BROKEN as error:
        return f"seed {seed}: {type(error).__name__}: {error}"
    return None


def _findings(first: int, *, end: int) -> list[str]:
    logging.disable(logging.CRITICAL)
    return [found for seed in range(first, min(end, first + CHUNK)) if (found := broken_by(seed))]


def _caught(number: int, *, first: int, end: int) -> str | None:
    """How a mutant is caught; None when it is not."""
    logging.disable(logging.CRITICAL)
    with MUTANTS[number].at_work() as world:
        return next((found for seed in range(first, end) if (found := _wrong(seed, world))), None)


def _wrong(seed: int, world: type[World]) -> str | None:
    try:
        return broken_by(seed, world)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        return f"seed {seed}: {type(error).__name__}: {error}"


def main(argv: list[str] | None = None) -> int:
    """Run them; 0 when every promise was kept, or every mutant caught."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash.power_cuts")
    parser.add_argument("--seeds", type=int, default=5000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes at once")
    parser.add_argument("--mutants", action="store_true", help="try the mutants instead")
    args = parser.parse_args(argv)
    end = args.first + args.seeds
    with ProcessPoolExecutor(args.jobs) as processes:
        if args.mutants:
            caught = processes.map(partial(_caught, first=args.first, end=end), range(len(MUTANTS)))
            return _tell_caught(list(zip([mutant.name for mutant in MUTANTS], caught, strict=True)))
        begin_s = time.monotonic()
        worlds = processes.map(partial(_findings, end=end), range(args.first, end, CHUNK))
        findings = [finding for chunk in worlds for finding in chunk]
    for finding in findings:
        sys.stdout.write(f"FINDING {finding}\n")
    rate = args.seeds / (time.monotonic() - begin_s)
    sys.stdout.write(f"{args.seeds} worlds, {rate:.0f} a second, {len(findings)} broken\n")
    return 1 if findings else 0


def _tell_caught(verdicts: list[tuple[str, str | None]]) -> int:
    for name, found in verdicts:
        sys.stdout.write(f"{'caught' if found else 'MISSED':7} {name}: {found or ''}\n")
    for name, reason in EQUIVALENT.items():
        sys.stdout.write(f"{'same':7} {name}: {reason}\n")
    missed = sum(found is None for _, found in verdicts)
    sys.stdout.write(f"{len(verdicts)} mutants, {missed} missed\n")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
