"""What a broker is asked about itself: Kafka's names for what is true of this one.

Ours is set in its file, so nothing here can be altered. A name is listed when it says something
that holds: an own setting, or the default that topics have.
"""

from typing import NamedTuple

from onelog.broker.broker import Broker
from onelog.broker.topics.settings import TABLE
from onelog.protocols.contract import Address
from onelog.protocols.kafka.handlers.fetch import FETCH_BYTES_MAX

# What a broker calls the default of a topic's setting, where it is not "log." and the same.
_BROKER_NAMES: dict[str, str | None] = {
    "compression.gzip.level": "compression.gzip.level",
    "compression.lz4.level": "compression.lz4.level",
    "compression.type": "compression.type",
    "compression.zstd.level": "compression.zstd.level",
    "delete.retention.ms": "log.cleaner.delete.retention.ms",
    "file.delete.delay.ms": "log.segment.delete.delay.ms",
    "flush.messages": "log.flush.interval.messages",
    "flush.ms": "log.flush.interval.ms",
    "follower.replication.throttled.replicas": None,
    "leader.replication.throttled.replicas": None,
    "max.compaction.lag.ms": "log.cleaner.max.compaction.lag.ms",
    "max.message.bytes": "message.max.bytes",
    "min.cleanable.dirty.ratio": "log.cleaner.min.cleanable.ratio",
    "min.compaction.lag.ms": "log.cleaner.min.compaction.lag.ms",
    "min.insync.replicas": "min.insync.replicas",
    "remote.log.copy.disable": None,
    "remote.log.delete.on.disable": None,
    "remote.storage.enable": None,
    "segment.index.bytes": "log.index.size.max.bytes",
    "segment.jitter.ms": "log.roll.jitter.ms",
    "segment.ms": "log.roll.ms",
    "unclean.leader.election.enable": "unclean.leader.election.enable",
}


class BrokerConfig(NamedTuple):
    """One line. is_set: the broker's file may say it; else it is a default of topics."""

    name: str
    kind: str
    value: str
    is_set: bool


def broker_name(setting: str) -> str | None:
    """What the broker calls the default of a topic's setting; None where it has no name for it."""
    return _BROKER_NAMES.get(setting, f"log.{setting}")


def broker_configs(broker: Broker, address: Address) -> list[BrokerConfig]:
    """Everything, in the order of names."""
    own = _own(broker, address)
    taken = {config.name for config in own}
    defaults = [
        BrokerConfig(name, setting.kind, setting.default, is_set=False)
        for setting in TABLE
        if (name := broker_name(setting.name)) is not None and name not in taken
    ]
    return sorted([*own, *defaults])


def _own(broker: Broker, address: Address) -> list[BrokerConfig]:
    settings = broker.settings
    path = broker.describe_directory().path
    values = {
        "advertised.listeners": ("list", f"PLAINTEXT://{address.host}:{address.port}"),
        "auto.create.topics.enable": ("boolean", str(settings.auto_create_topics).lower()),
        "broker.id": ("int", str(broker.node_id)),
        "default.replication.factor": ("int", "1"),
        "delete.topic.enable": ("boolean", "true"),
        "fetch.max.bytes": ("int", str(FETCH_BYTES_MAX)),
        "group.initial.rebalance.delay.ms": ("int", str(settings.group_initial_rebalance_delay_ms)),
        "group.max.session.timeout.ms": ("int", str(settings.group_session_timeout_max_ms)),
        "group.max.size": ("int", str(settings.group_members_max)),
        "group.min.session.timeout.ms": ("int", str(settings.group_session_timeout_min_ms)),
        "log.dir": ("list", path),
        "log.dirs": ("list", path),
        "log.retention.check.interval.ms": ("long", str(settings.retention_check_interval_ms)),
        "message.max.bytes": ("int", str(settings.message_bytes_max)),
        "node.id": ("int", str(broker.node_id)),
        "num.partitions": ("int", str(settings.partition_count_default)),
        "offset.metadata.max.bytes": ("int", str(settings.note_bytes_max)),
        "offsets.retention.minutes": ("int", str(settings.position_retention_ms // 60_000)),
    }
    return [BrokerConfig(name, kind, value, is_set=True) for name, (kind, value) in values.items()]
