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
from onelog.broker.values import Topic
from onelog.errors import InvalidConfig
from onelog.model import TopicName
from onelog.storage.log import LogSettings
from onelog.storage.retention import Limits

HONOURED = {
    "index.interval.bytes",
    "durability",
    "max.message.bytes",
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


@pytest.mark.parametrize("setting", TABLE, ids=lambda s: s.name)
def test_every_default_is_accepted_as_it_is_shown(setting: TopicSetting) -> None:
    assert checked(setting.name, setting.default) == setting.default
    assert setting.doc.endswith(".")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cleanup.policy", "compact"),
        ("compression.type", "zstd"),
        ("min.insync.replicas", "2"),
        ("preallocate", "true"),
        ("min.cleanable.dirty.ratio", "0.6"),
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
        ("segment.bytes", "1048575"),
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
    with pytest.raises(InvalidConfig):
        changed({}, {"retention.days": None})


def test_the_defaults_make_this_policy() -> None:
    policy = policy_of({})
    assert policy.batch_bytes_max is None
    assert not policy.restamps
    assert policy.limits == Limits(retention_ms=7 * 86_400_000)
    assert policy.log == LogSettings()


def test_every_honoured_setting_is_in_the_policy() -> None:
    own = {
        "durability": "os",
        "index.interval.bytes": "1",
        "max.message.bytes": "2",
        "message.timestamp.after.max.ms": "3",
        "message.timestamp.before.max.ms": "4",
        "message.timestamp.type": "LogAppendTime",
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
