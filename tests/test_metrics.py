import re

from onelog.metrics import METRICS, RECORDS_PRODUCED, SYNCS, TOPICS, Kind, Metrics


def test_a_series_counts() -> None:
    metrics = Metrics()
    series = metrics.series(RECORDS_PRODUCED, "kafka")
    series.add(3)
    metrics.series(RECORDS_PRODUCED, "kafka").add()
    assert metrics.value(RECORDS_PRODUCED, "kafka") == 4
    assert metrics.value(RECORDS_PRODUCED, "rustlog") == 0


def test_the_text_has_help_type_and_value() -> None:
    metrics = Metrics()
    metrics.series(RECORDS_PRODUCED, "kafka").add(2)
    metrics.series(SYNCS).add(5)
    text = metrics.text()
    assert "# TYPE onelog_records_produced_total counter\n" in text
    assert 'onelog_records_produced_total{dialect="kafka"} 2\n' in text
    assert "onelog_syncs_total 5\n" in text


def test_what_was_not_counted_is_zero_when_it_has_no_labels() -> None:
    assert "onelog_topics 0\n" in Metrics().text()


def test_labels_cannot_break_the_text() -> None:
    metrics = Metrics()
    metrics.series(RECORDS_PRODUCED, 'a"b\\c\nd').add()
    assert 'dialect="a\\"b\\\\c\\nd"' in metrics.text()


def test_collectors_run_before_every_export() -> None:
    metrics = Metrics()
    metrics.add_collector(lambda: setattr(metrics.series(TOPICS), "value", 9))
    assert "onelog_topics 9\n" in metrics.text()


def test_names_follow_the_rules_of_the_text_form() -> None:
    for metric in METRICS:
        assert re.fullmatch(r"onelog_[a-z_]+", metric.name)
        assert metric.name.endswith("_total") == (metric.kind is Kind.COUNTER)
