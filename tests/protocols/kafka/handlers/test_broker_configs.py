import pytest

from onelog.broker.topics.settings import TABLE
from onelog.protocols.contract import Address
from onelog.protocols.kafka.handlers.broker_configs import broker_configs, broker_name
from tests.support.kafka_peer import KafkaPeer

# A topic's setting, and the name that Kafka's brokers have for its default.
NAMES = {
    "cleanup.policy": "log.cleanup.policy",
    "compression.type": "compression.type",
    "delete.retention.ms": "log.cleaner.delete.retention.ms",
    "file.delete.delay.ms": "log.segment.delete.delay.ms",
    "flush.messages": "log.flush.interval.messages",
    "flush.ms": "log.flush.interval.ms",
    "index.interval.bytes": "log.index.interval.bytes",
    "leader.replication.throttled.replicas": None,
    "max.message.bytes": "message.max.bytes",
    "message.timestamp.type": "log.message.timestamp.type",
    "min.cleanable.dirty.ratio": "log.cleaner.min.cleanable.ratio",
    "min.insync.replicas": "min.insync.replicas",
    "remote.storage.enable": None,
    "retention.ms": "log.retention.ms",
    "segment.bytes": "log.segment.bytes",
    "segment.index.bytes": "log.index.size.max.bytes",
    "segment.jitter.ms": "log.roll.jitter.ms",
    "segment.ms": "log.roll.ms",
}


@pytest.mark.parametrize(("setting", "name"), NAMES.items())
def test_the_default_of_a_setting_has_the_name_that_kafkas_brokers_give_it(
    setting: str, name: str | None
) -> None:
    assert broker_name(setting) == name


def test_each_name_stands_once_in_their_order(peer: KafkaPeer) -> None:
    names = [config.name for config in broker_configs(peer.house.broker, Address("here", 1))]
    assert names == sorted(set(names))
    assert {broker_name(setting.name) for setting in TABLE} - {None} <= set(names)


def test_what_is_of_the_broker_itself_counts_as_set(peer: KafkaPeer) -> None:
    found = {config.name: config for config in broker_configs(peer.house.broker, Address("here", 1))}
    assert found["advertised.listeners"].value == "PLAINTEXT://here:1"
    assert found["broker.id"].value == found["node.id"].value == "1"
    assert found["delete.topic.enable"].value == "true"
    assert found["fetch.max.bytes"].value == str(55 * 1024 * 1024)
    assert (found["log.dirs"].kind, found["advertised.listeners"].kind) == ("list", "list")
    assert found["message.max.bytes"].is_set
    assert found["group.min.session.timeout.ms"].value == "6000"
    assert found["group.max.session.timeout.ms"].value == "1800000"
    assert found["offsets.retention.minutes"].value == "10080"
    assert found["group.initial.rebalance.delay.ms"].value == "3000"
    assert not found["log.retention.ms"].is_set
