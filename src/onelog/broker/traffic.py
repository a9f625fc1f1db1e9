"""Counting records and bytes by dialect, with one look-up of a dialect's series, not one a request."""

from onelog.metrics import Metric, Metrics, Series


class Traffic:
    """Two counters for each dialect that moves records one way."""

    def __init__(self, metrics: Metrics, *, records: Metric, size: Metric) -> None:
        self._metrics = metrics
        self._records = records
        self._size = size
        self._by_dialect: dict[str, tuple[Series, Series]] = {}

    def add(self, dialect: str, *, records: int, size: int) -> None:
        """So many records, in so many bytes of batches."""
        found = self._by_dialect.get(dialect)
        if found is None:
            found = self._by_dialect[dialect] = (
                self._metrics.series(self._records, dialect),
                self._metrics.series(self._size, dialect),
            )
        found[0].add(records)
        found[1].add(size)
