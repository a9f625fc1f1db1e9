"""Traffic is counted under its dialect."""

from onelog import metrics as m
from onelog.broker.traffic import Traffic
from onelog.metrics import Metrics


def test_each_dialect_has_counts_of_its_own() -> None:
    metrics = Metrics()
    traffic = Traffic(metrics, records=m.RECORDS_PRODUCED, size=m.BYTES_PRODUCED)
    traffic.add("kafka", records=2, size=20)
    traffic.add("kafka", records=1, size=10)
    traffic.add("rustlog", records=5, size=50)
    assert metrics.value(m.RECORDS_PRODUCED, "kafka") == 3
    assert metrics.value(m.BYTES_PRODUCED, "kafka") == 30
    assert metrics.value(m.RECORDS_PRODUCED, "rustlog") == 5
