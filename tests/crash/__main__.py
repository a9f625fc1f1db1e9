"""All long crash runs, one after the other: `make crash`."""

import sys

from tests.crash import broker_kills, connections, power_cuts, spark_kills, sync_order, watchers


def main() -> int:
    """Run each; 1 if any found something."""
    codes = {
        "200 000 worlds with power cuts": power_cuts.main(["--seeds", "200000", "--jobs", "2"]),
        "every way to be wrong": power_cuts.main(["--mutants", "--jobs", "2"]),
        "no answer before its sync": sync_order.main([]),
        "broker killed 50 times": broker_kills.main(["--kills", "50"]),
        "10 000 connections of every dialect": connections.main([]),
        "1 000 watchers while topics come and go": watchers.main([]),
        "Spark's driver killed 20 times": spark_kills.main(["--kills", "20"]),
    }
    for what, code in codes.items():
        sys.stdout.write(f"{'ok' if code == 0 else 'FAILED':8} {what}\n")
    return 1 if any(codes.values()) else 0


if __name__ == "__main__":
    raise SystemExit(main())
