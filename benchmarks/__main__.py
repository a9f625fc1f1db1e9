"""All figures, one after the other: `make bench`. Each is a ratio within one run."""

from benchmarks import decode, dialects, requests, spark_read, start, wheel


def main() -> None:
    """Print what was measured; nothing is asserted of a time."""
    requests.main()
    dialects.main()
    wheel.main()
    start.main()
    decode.main()
    spark_read.main([])


if __name__ == "__main__":
    main()
