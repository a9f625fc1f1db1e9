"""What RustLog's MetricsFetch tells: the broker in numbers, over all dialects.

Of the text of the binary form the first lines are those that the published programs look for.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from onelog import metrics as m
from onelog.broker.broker import Broker
from onelog.errors import OnelogError
from onelog.protocols.rustlog.messages.json import ConsumerLag, HighWatermark, MetricsData

# Each list's share of the answer; names are short enough for both to fit a frame.
ENTRIES_MAX: Final = 10_000
# In the order in which the programs look for them.
_PUBLISHED: Final = (
    ("messages_produced_total", "counter", m.RECORDS_PRODUCED),
    ("messages_fetched_total", "counter", m.RECORDS_FETCHED),
    ("bytes_in_total", "counter", m.BYTES_PRODUCED),
    ("bytes_out_total", "counter", m.BYTES_FETCHED),
    ("active_connections", "gauge", m.CONNECTIONS),
)


def metrics(broker: Broker) -> MetricsData:
    """As it is now."""
    text = broker.metrics.text()  # brings the gauges up to date
    return MetricsData(
        records_produced=broker.metrics.total(m.RECORDS_PRODUCED),
        bytes_produced=broker.metrics.total(m.BYTES_PRODUCED),
        records_fetched=broker.metrics.total(m.RECORDS_FETCHED),
        bytes_fetched=broker.metrics.total(m.BYTES_FETCHED),
        active_connections=broker.metrics.total(m.CONNECTIONS),
        high_watermarks=list(islice(_high_watermarks(broker), ENTRIES_MAX)),
        consumer_lag=list(islice(_lags(broker), ENTRIES_MAX)),
        prometheus=text,
    )


def text(broker: Broker) -> str:
    """As Prometheus reads it: under the published broker's names, and then under ours."""
    ours = broker.metrics.text()  # brings the gauges up to date
    lines = [
        line
        for name, kind, metric in _PUBLISHED
        for line in (f"# TYPE {name} {kind}", f"{name} {broker.metrics.total(metric)}")
    ]
    lines.append("# TYPE consumer_lag gauge")
    for each in islice(_lags(broker), ENTRIES_MAX):
        labels = m.labelled({"group": each.group, "topic": each.topic, "partition": str(each.partition)})
        lines.append(f"consumer_lag{labels} {each.lag}")
    return "\n".join(lines) + "\n" + ours


def _high_watermarks(broker: Broker) -> Iterator[HighWatermark]:
    for topic in broker.topics():
        for index in range(topic.partition_count):
            try:
                info = broker.describe_partition(topic.name, index)
            except OnelogError:
                continue  # a closed partition has no number; the log and /health tell of it
            yield HighWatermark(topic.name, index, info.high_watermark)


def _lags(broker: Broker) -> Iterator[ConsumerLag]:
    for group in broker.groups():
        for topic, partition, lag in broker.lag(group):
            yield ConsumerLag(group, topic, partition, lag)
