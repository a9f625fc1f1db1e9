"""What is counted: one table of names, their meaning, and their text form.

Every metric is declared here, so that the docs can be held against the code. Labels take
few values (a dialect, a reason), never a client's or a key's. A count is one addition on a
plain object; only the export looks at all of them. A collector is called at export and sets
what is cheaper to look at than to keep (open connections, sizes).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum


class Kind(Enum):
    """How a value moves: only up, or both ways."""

    COUNTER = "counter"
    GAUGE = "gauge"


@dataclass(frozen=True)
class Metric:
    """A name, its kind, what it means, and the labels that tell its series apart."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()


def _counter(name: str, help: str, *labels: str) -> Metric:
    return Metric(name, Kind.COUNTER, help, labels)


def _gauge(name: str, help: str, *labels: str) -> Metric:
    return Metric(name, Kind.GAUGE, help, labels)


RECORDS_PRODUCED = _counter("onelog_records_produced_total", "Records acknowledged.", "dialect")
BYTES_PRODUCED = _counter("onelog_bytes_produced_total", "Bytes of batches acknowledged.", "dialect")
RECORDS_FETCHED = _counter("onelog_records_fetched_total", "Records handed to readers.", "dialect")
BYTES_FETCHED = _counter("onelog_bytes_fetched_total", "Bytes handed to readers.", "dialect")
REQUESTS = _counter("onelog_requests_total", "Requests handled.", "dialect", "request")
REFUSALS = _counter("onelog_refusals_total", "Requests answered with an error.", "dialect", "code")
LOSSES = _counter(
    "onelog_losses_total", "Parts of records that a dialect could not say.", "dialect", "reason"
)
CONNECTIONS = _gauge("onelog_connections", "Connections open now.", "dialect")
CONNECTIONS_OPENED = _counter("onelog_connections_opened_total", "Connections accepted.", "listener")
CONNECTIONS_FAULTED = _counter(
    "onelog_connections_faulted_total", "Connections closed because the peer broke its protocol.", "dialect"
)
SYNCS = _counter("onelog_syncs_total", "Syncs of the commit log.")
TURNS = _counter("onelog_turns_total", "Turns of the committer that wrote something.")
FRAMES = _counter("onelog_frames_total", "Frames written to the commit log.")
ROUNDS = _counter("onelog_rounds_total", "Rounds that settled what was in the commit log.")
BYTES_SETTLED = _counter("onelog_bytes_settled_total", "Bytes put into segments by rounds.")
CATALOG_TRANSACTIONS = _counter("onelog_catalog_transactions_total", "Transactions of the catalog.")
GENERATIONS = _counter("onelog_group_generations_total", "Rebalances of groups that came to an end.")
POSITIONS_EXPIRED = _counter("onelog_positions_expired_total", "Positions that nobody wanted any more.")
GROUPS = _gauge("onelog_groups", "Groups that have members, or had.", "phase")
GROUP_MEMBERS = _gauge("onelog_group_members", "Members of all groups.")
TOPICS = _gauge("onelog_topics", "Topics alive.")
PARTITIONS = _gauge("onelog_partitions", "Partitions alive.")
TAIL_BYTES = _gauge("onelog_tail_bytes", "Bytes of batches that are not in segments yet.")
POSITIONS_BROUGHT_BACK = _counter(
    "onelog_positions_brought_back_total", "Positions beyond the end of an os log after a power cut."
)
SEGMENTS_REMOVED = _counter("onelog_segments_removed_total", "Segments removed by retention or deletion.")
BYTES_CUT = _counter("onelog_bytes_cut_total", "Bytes of torn batches cut at a start.")

METRICS: tuple[Metric, ...] = tuple(v for v in list(globals().values()) if isinstance(v, Metric))


@dataclass
class Series:
    """One number of one metric under one set of label values."""

    value: int = 0

    def add(self, amount: int = 1) -> None:
        """Count."""
        self.value += amount


@dataclass
class Metrics:
    """All series of one broker. Owned by its loop."""

    _series: dict[tuple[Metric, tuple[str, ...]], Series] = field(default_factory=dict)
    _collectors: list[Callable[[], None]] = field(default_factory=list)

    def series(self, metric: Metric, *values: str) -> Series:
        """The number behind a metric and its label values; keep it, rather than look it up."""
        assert len(values) == len(metric.labels)
        return self._series.setdefault((metric, values), Series())

    def add_collector(self, fn: Callable[[], None]) -> None:
        """Call fn before every export."""
        self._collectors.append(fn)

    def value(self, metric: Metric, *values: str) -> int:
        """What stands there now; 0 if nothing was counted."""
        found = self._series.get((metric, values))
        return found.value if found else 0

    def total(self, metric: Metric) -> int:
        """The sum over all label values."""
        return sum(series.value for (counted, _), series in self._series.items() if counted is metric)

    def text(self) -> str:
        """The Prometheus text form."""
        for fn in self._collectors:
            fn()
        lines: list[str] = []
        for metric in METRICS:
            rows = [(v, s) for (m, v), s in self._series.items() if m is metric]
            if not rows and metric.labels:
                continue
            lines.append(f"# HELP {metric.name} {metric.help}")
            lines.append(f"# TYPE {metric.name} {metric.kind.value}")
            for values, series in sorted(rows, key=lambda row: row[0]) or [((), Series())]:
                labels = labelled(dict(zip(metric.labels, values, strict=True)))
                lines.append(f"{metric.name}{labels} {series.value}")
        return "\n".join(lines) + "\n"


def labelled(labels: Mapping[str, str]) -> str:
    """What stands behind a name in the Prometheus text form."""
    return "{" + ",".join(f'{k}="{_escaped(v)}"' for k, v in labels.items()) + "}" if labels else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
