"""All figures, one after the other: `make bench`. Each is a ratio within one run."""

from benchmarks import bulk, bundles, decode, dialects, many, requests, spark_read, start, wheel


def main() -> None:
    """Print what was measured; nothing is asserted of a time."""
    requests.main()
    dialects.main()
    wheel.main()
    bulk.main()
    many.main()
    start.main()
    decode.main()
    bundles.main()
    spark_read.main([])


if __name__ == "__main__":
    main()
