"""Thousands of small worlds, each with its power cuts: `python -m tests.crash.power_cuts --seeds 5000`.

A few hundred of them run every day (test_power_cuts.py). A seed that breaks a promise is
printed; `World(seed).live()` lives through it again.
"""

import argparse
import sys

from onelog.errors import OnelogError
from onelog.storage.disk import StoreRefused
from tests.crash.world import ViolatedError, World

# What a world ends with when a promise is broken: the oracle's word, or a start that refuses.
BROKEN = (ViolatedError, OnelogError, StoreRefused, AssertionError)


def broken_by(seed: int, kind: type[World] = World) -> str | None:
    """How this seed breaks a promise, if it does."""
    try:
        kind(seed).live()
    except BROKEN as error:
        return f"seed {seed}: {type(error).__name__}: {error}"
    return None


def main(argv: list[str] | None = None) -> int:
    """Run them; 0 when every promise was kept."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash.power_cuts")
    parser.add_argument("--seeds", type=int, default=5000)
    parser.add_argument("--first", type=int, default=0)
    args = parser.parse_args(argv)
    findings = [f for seed in range(args.first, args.first + args.seeds) if (f := broken_by(seed))]
    for finding in findings:
        sys.stdout.write(f"FINDING {finding}\n")
    sys.stdout.write(f"{args.seeds} worlds, {len(findings)} broken\n")
    return 1 if findings else 0


if __name__ == "__main__":
    raise SystemExit(main())
