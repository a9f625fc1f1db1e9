"""What can be set of a topic. That the honoured ones have their effect is told in other tests:

max.message.bytes, message.timestamp.*, in test_produce; retention.*, segment.* and
index.interval.bytes in test_retention and below.
"""

from uuid import UUID

import pytest

from onelog.broker.topics.settings import (
    BY_NAME,
    TABLE,
    Durability,
    TopicSetting,
    altered,
    changed,
    checked,
    described,
    policy_of,
)
from onelog.broker.values import ListChange, Topic
from onelog.errors import InvalidConfig
from onelog.model import TopicName
from onelog.storage.compaction import CompactionPolicy
from onelog.storage.log import LogSettings
from onelog.storage.retention import Limits

HONOURED = {
    "index.interval.bytes",
    "durability",
    "cleanup.policy",
    "delete.retention.ms",
    "max.compaction.lag.ms",
    "max.message.bytes",
    "min.cleanable.dirty.ratio",
    "min.compaction.lag.ms",
    "message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms",
    "message.timestamp.type",
    "retention.bytes",
    "retention.ms",
    "segment.bytes",
    "segment.ms",
}


def test_these_have_an_effect_and_no_others() -> None:
    assert {setting.name for setting in TABLE if setting.honoured} == HONOURED


def test_the_table_is_in_the_order_of_names_and_each_stands_once() -> None:
    assert [setting.name for setting in TABLE] == sorted(BY_NAME)
    assert len(TABLE) == 34


def test_names_kinds_and_defaults_are_those_of_kafka() -> None:
    told = {
        setting.name: (setting.kind, setting.default) for setting in TABLE if setting.name != "durability"
    }
    assert told == {
        "cleanup.policy": ("list", "delete"),
        "compression.gzip.level": ("int", "-1"),
        "compression.lz4.level": ("int", "9"),
        "compression.type": ("string", "producer"),
        "compression.zstd.level": ("int", "3"),
        "delete.retention.ms": ("long", "86400000"),
        "file.delete.delay.ms": ("long", "60000"),
        "flush.messages": ("long", "9223372036854775807"),
        "flush.ms": ("long", "9223372036854775807"),
        "follower.replication.throttled.replicas": ("list", ""),
        "index.interval.bytes": ("int", "4096"),
        "leader.replication.throttled.replicas": ("list", ""),
        "local.retention.bytes": ("long", "-2"),
        "local.retention.ms": ("long", "-2"),
        "max.compaction.lag.ms": ("long", "9223372036854775807"),
        "max.message.bytes": ("int", "1048588"),
        "message.timestamp.after.max.ms": ("long", "3600000"),
        "message.timestamp.before.max.ms": ("long", "9223372036854775807"),
        "message.timestamp.type": ("string", "CreateTime"),
        "min.cleanable.dirty.ratio": ("double", "0.5"),
        "min.compaction.lag.ms": ("long", "0"),
        "min.insync.replicas": ("int", "1"),
        "preallocate": ("boolean", "false"),
        "remote.log.copy.disable": ("boolean", "false"),
        "remote.log.delete.on.disable": ("boolean", "false"),
        "remote.storage.enable": ("boolean", "false"),
        "retention.bytes": ("long", "-1"),
        "retention.ms": ("long", "604800000"),
        "segment.bytes": ("int", "1073741824"),
        "segment.index.bytes": ("int", "10485760"),
        "segment.jitter.ms": ("long", "0"),
        "segment.ms": ("long", "604800000"),
        "unclean.leader.election.enable": ("boolean", "false"),
    }


OTHER_VALUES = {
    "int": "77",
    "long": "77",
    "double": "0.7",
    "boolean": "true",
    "string": "gzip",
    "list": "0:1",
}


@pytest.mark.parametrize("setting", [s for s in TABLE if not s.honoured], ids=lambda s: s.name)
def test_a_setting_without_an_effect_takes_its_default_and_names_itself_else(setting: TopicSetting) -> None:
    assert changed({}, {setting.name: setting.default}) == {setting.name: setting.default}
    with pytest.raises(InvalidConfig) as refusal:
        changed({}, {setting.name: OTHER_VALUES[setting.kind]})
    assert refusal.value.key == setting.name


@pytest.mark.parametrize("setting", TABLE, ids=lambda s: s.name)
def test_every_default_is_accepted_as_it_is_shown(setting: TopicSetting) -> None:
    assert checked(setting.name, setting.default) == setting.default
    assert setting.doc.endswith(".")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("compression.type", "zstd"),
        ("min.insync.replicas", "2"),
        ("preallocate", "true"),
        ("flush.messages", "1"),
    ],
)
def test_what_would_have_no_effect_is_refused(name: str, text: str) -> None:
    with pytest.raises(InvalidConfig, match="only value that has an effect"):
        checked(name, text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("retention.ms", "-2"),
        ("retention.ms", "soon"),
        ("retention.ms", str(1 << 63)),
        ("segment.bytes", "1023"),
        ("segment.bytes", str(1 << 31)),
        ("segment.ms", "0"),
        ("max.message.bytes", "-1"),
        ("message.timestamp.type", "Sometimes"),
        ("message.timestamp.after.max.ms", "-1"),
        ("preallocate", "perhaps"),
        ("min.cleanable.dirty.ratio", "half"),
        ("retention.days", "1"),
    ],
)
def test_what_cannot_be_is_refused_with_its_name(name: str, text: str) -> None:
    with pytest.raises(InvalidConfig) as refusal:
        checked(name, text)
    assert refusal.value.key == name


def test_another_spelling_of_a_default_is_the_default() -> None:
    assert checked("preallocate", " FALSE ") == "false"
    assert checked("min.cleanable.dirty.ratio", "0.50") == "0.5"
    assert checked("retention.ms", "+0100") == "100"


def test_none_brings_a_default_back_of_a_known_name_only() -> None:
    assert changed({"segment.ms": "7"}, {"segment.ms": None, "retention.ms": None}) == {}
    with pytest.raises(
        InvalidConfig, match=r"^setting retention\.days: expected the name of a topic's setting"
    ):
        changed({}, {"retention.days": None})


def test_the_defaults_make_this_policy() -> None:
    policy = policy_of({})
    assert policy.batch_bytes_max is None
    assert not policy.restamps
    assert policy.limits == Limits(retention_ms=7 * 86_400_000)
    assert policy.log == LogSettings()


def test_every_honoured_setting_is_in_the_policy() -> None:
    own = {
        "cleanup.policy": "compact,delete",
        "delete.retention.ms": "9",
        "durability": "os",
        "index.interval.bytes": "1",
        "max.compaction.lag.ms": "11",
        "max.message.bytes": "2",
        "message.timestamp.after.max.ms": "3",
        "message.timestamp.before.max.ms": "4",
        "message.timestamp.type": "LogAppendTime",
        "min.cleanable.dirty.ratio": "0.25",
        "min.compaction.lag.ms": "10",
        "retention.bytes": "5",
        "retention.ms": "6",
        "segment.bytes": "7",
        "segment.ms": "8",
    }
    assert set(own) == HONOURED
    policy = policy_of(own)
    assert policy.durability is Durability.OS
    assert policy.batch_bytes_max == 2
    assert (policy.timestamp_after_max_ms, policy.timestamp_before_max_ms) == (3, 4)
    assert policy.restamps
    assert policy.limits == Limits(retention_bytes=5, retention_ms=6)
    assert policy.log == LogSettings(segment_bytes=7, segment_ms=8, index_interval_bytes=1)
    assert policy.compaction == CompactionPolicy(
        dirty_ratio_min=0.25, tombstone_ms=9, lag_min_ms=10, lag_max_ms=11
    )


def test_what_is_only_compacted_has_no_limits_and_what_is_only_deleted_is_not_compacted() -> None:
    compacted = policy_of({"cleanup.policy": "compact", "retention.ms": "5"})
    assert (compacted.limits, compacted.compaction) == (Limits(), CompactionPolicy())
    assert policy_of({}).compaction is None


@pytest.mark.parametrize("text", ["", "shred", "compact,shred"])
def test_old_records_are_compacted_or_deleted_or_both(text: str) -> None:
    with pytest.raises(InvalidConfig, match="compact or delete, or both"):
        checked("cleanup.policy", text)


@pytest.mark.parametrize("text", ["-0.1", "1.1", "nan"])
def test_a_ratio_lies_between_0_and_1(text: str) -> None:
    with pytest.raises(InvalidConfig, match="0 to 1"):
        checked("min.cleanable.dirty.ratio", text)


def test_the_shortest_time_uncompacted_is_no_longer_than_the_longest() -> None:
    with pytest.raises(InvalidConfig, match=r"at most 5, which is max\.compaction\.lag\.ms"):
        changed({"max.compaction.lag.ms": "5"}, {"min.compaction.lag.ms": "6"})


def test_all_settings_are_described_and_the_own_ones_marked() -> None:
    topic = Topic(TopicName("orders"), UUID(int=1), 1, {"retention.ms": "5"})
    values = {v.name: v for v in described(topic, message_bytes_max=1234)}
    assert len(values) == len(TABLE)
    assert (values["retention.ms"].value, values["retention.ms"].is_own) == ("5", True)
    assert values["retention.ms"].default == "604800000"
    assert (values["max.message.bytes"].value, values["max.message.bytes"].is_own) == ("1234", False)
    assert values["cleanup.policy"].kind == "list"


def test_a_slip_of_the_pen_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(InvalidConfig, match=r"did you mean retention\.ms\?"):
        checked("retentoin.ms", "5")


def test_durability_is_chosen_once() -> None:
    assert changed({}, {"durability": "os"}) == {"durability": "os"}
    with pytest.raises(InvalidConfig, match="sync or os"):
        changed({}, {"durability": "never"})
    for own, wanted in (({}, "os"), ({"durability": "os"}, "sync")):
        with pytest.raises(InvalidConfig, match="chosen when a topic is made, for good"):
            altered(own, {"durability": wanted})
    assert altered({"durability": "os"}, {"durability": "os", "retention.ms": "5"}) == {
        "durability": "os",
        "retention.ms": "5",
    }
    assert altered({"durability": "os"}, {"durability": None}) == {"durability": "os"}
    own = {"durability": "os", "retention.ms": "5"}
    assert altered(own, {"segment.ms": "7"}, replaces=True) == {"durability": "os", "segment.ms": "7"}


def test_words_are_added_to_a_list_and_taken_from_it_as_it_stands() -> None:
    name = "cleanup.policy"
    assert changed({}, {name: ListChange(added=" delete ,delete")}) == {name: "delete"}
    assert changed({name: "delete"}, {name: ListChange(removed="compact")}) == {name: "delete"}
    assert changed({}, {name: ListChange(added="compact")}) == {name: "delete,compact"}
    with pytest.raises(InvalidConfig, match="compact or delete, or both"):
        changed({}, {name: ListChange(removed="delete")})


def test_only_a_list_is_added_to() -> None:
    with pytest.raises(InvalidConfig, match="a list, to add to or take from"):
        changed({}, {"retention.ms": ListChange(added="1")})
    with pytest.raises(InvalidConfig, match="the name of a topic's setting"):
        changed({}, {"no.such": ListChange(added="1")})
