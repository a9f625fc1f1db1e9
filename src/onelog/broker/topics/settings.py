"""What can be set of a topic: Kafka's names and defaults, and which of them do something here.

Every name is known, so that Kafka's tools see what they expect. One that we do not act on
can only be given its default: a setting that is accepted and does nothing is a lie.
"""

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

from onelog.broker.values import ListChange, SettingChange, SettingValue, Topic
from onelog.errors import InvalidConfig
from onelog.storage.compaction import CompactionPolicy
from onelog.storage.log import LogSettings
from onelog.storage.retention import Limits

INT_MAX = (1 << 31) - 1
LONG_MAX = (1 << 63) - 1
CLEANUP = "cleanup.policy"
DURABILITY = "durability"
CREATE_TIME = "CreateTime"
LOG_APPEND_TIME = "LogAppendTime"


class Durability(Enum):
    """When an answer is true and a record is visible: when it is synced, or when it is written."""

    SYNC = "sync"
    OS = "os"


@dataclass(frozen=True)
class TopicSetting:
    """One line of the table. honoured: it has an effect, and may differ from its default."""

    name: str
    kind: str
    default: str
    doc: str
    honoured: bool = False
    low: int = 0
    high: int = LONG_MAX
    words: tuple[str, ...] = ()


def _honoured(
    name: str,
    kind: str,
    default: str,
    doc: str,
    *,
    low: int = 0,
    high: int = LONG_MAX,
    words: tuple[str, ...] = (),
) -> TopicSetting:
    return TopicSetting(name, kind, default, doc, True, low, high, words)


_MAX = str(LONG_MAX)

TABLE: tuple[TopicSetting, ...] = (
    _honoured(
        CLEANUP,
        "list",
        "delete",
        "What happens to old records: their segments are deleted, or of each key the last one is kept.",
        words=("compact", "delete"),
    ),
    TopicSetting("compression.gzip.level", "int", "-1", "How hard gzip tries; batches stay as sent."),
    TopicSetting("compression.lz4.level", "int", "9", "How hard lz4 tries; batches stay as sent."),
    TopicSetting("compression.type", "string", "producer", "The codec on disk: the producer's own."),
    TopicSetting("compression.zstd.level", "int", "3", "How hard zstd tries; batches stay as sent."),
    _honoured("delete.retention.ms", "long", "86400000", "How long compaction keeps tombstones."),
    _honoured(
        DURABILITY,
        "string",
        Durability.SYNC.value,
        "When an answer is true: when its records are synced, or when the system has them. Chosen once.",
        words=tuple(one.value for one in Durability),
    ),
    TopicSetting("file.delete.delay.ms", "long", "60000", "Wait before a file goes; ours go at once."),
    TopicSetting("flush.messages", "long", _MAX, "Records between syncs; every answer is synced here."),
    TopicSetting("flush.ms", "long", _MAX, "Time between syncs; every answer is synced here."),
    TopicSetting("follower.replication.throttled.replicas", "list", "", "Replicas that are slowed down."),
    _honoured("index.interval.bytes", "int", "4096", "Bytes of records between index entries.", high=INT_MAX),
    TopicSetting("leader.replication.throttled.replicas", "list", "", "Leaders that are slowed down."),
    TopicSetting("local.retention.bytes", "long", "-2", "Bytes kept here when others are remote."),
    TopicSetting("local.retention.ms", "long", "-2", "Time kept here when older ones are remote."),
    _honoured("max.compaction.lag.ms", "long", _MAX, "The longest that a record stays uncompacted.", low=1),
    _honoured("max.message.bytes", "int", "1048588", "The largest batch, for every producer.", high=INT_MAX),
    _honoured(
        "message.timestamp.after.max.ms", "long", "3600000", "How far ahead of our clock a record may be."
    ),
    _honoured("message.timestamp.before.max.ms", "long", _MAX, "How far behind our clock a record may be."),
    _honoured(
        "message.timestamp.type",
        "string",
        CREATE_TIME,
        "Whose time a record has: its producer's, or the log's at the append.",
        words=(CREATE_TIME, LOG_APPEND_TIME),
    ),
    _honoured(
        "min.cleanable.dirty.ratio", "double", "0.5", "How much must be new before compaction.", high=1
    ),
    _honoured("min.compaction.lag.ms", "long", "0", "The least time that a record stays uncompacted."),
    TopicSetting("min.insync.replicas", "int", "1", "Copies that a write waits for; there is one."),
    TopicSetting("preallocate", "boolean", "false", "Whether segments are filled beforehand."),
    TopicSetting("remote.log.copy.disable", "boolean", "false", "Whether remote copies are paused."),
    TopicSetting("remote.log.delete.on.disable", "boolean", "false", "Whether remote copies go when off."),
    TopicSetting("remote.storage.enable", "boolean", "false", "Whether segments are copied elsewhere."),
    _honoured("retention.bytes", "long", "-1", "Bytes kept of each partition; -1: any number.", low=-1),
    _honoured("retention.ms", "long", "604800000", "How long records are kept; -1: for ever.", low=-1),
    _honoured(
        "segment.bytes",
        "int",
        "1073741824",
        "The size at which a segment ends and the next begins.",
        low=1 << 10,
        high=INT_MAX,
    ),
    TopicSetting("segment.index.bytes", "int", "10485760", "The largest index file."),
    TopicSetting("segment.jitter.ms", "long", "0", "A random part that is taken off segment.ms."),
    _honoured("segment.ms", "long", "604800000", "The age at which a segment ends.", low=1),
    TopicSetting("unclean.leader.election.enable", "boolean", "false", "Whether a copy that lags may lead."),
)
BY_NAME: Mapping[str, TopicSetting] = {setting.name: setting for setting in TABLE}


@dataclass(frozen=True, slots=True)
class TopicPolicy:
    """A topic's settings as numbers, made once when they change. None: no limit of its own."""

    batch_bytes_max: int | None
    restamps: bool
    timestamp_after_max_ms: int
    timestamp_before_max_ms: int
    limits: Limits
    log: LogSettings
    compaction: CompactionPolicy | None = None
    durability: Durability = Durability.SYNC


def policy_of(own: Mapping[str, str]) -> TopicPolicy:
    """The policy that valid settings make."""

    def number(name: str) -> int:
        return int(own.get(name, BY_NAME[name].default))

    stamps = own.get("message.timestamp.type", CREATE_TIME)
    cleanup = _split(own.get(CLEANUP, BY_NAME[CLEANUP].default))
    return TopicPolicy(
        batch_bytes_max=number("max.message.bytes") if "max.message.bytes" in own else None,
        restamps=stamps == LOG_APPEND_TIME,
        timestamp_after_max_ms=number("message.timestamp.after.max.ms"),
        timestamp_before_max_ms=number("message.timestamp.before.max.ms"),
        limits=_limits(number) if "delete" in cleanup else Limits(),
        log=LogSettings(
            segment_bytes=number("segment.bytes"),
            segment_ms=number("segment.ms"),
            index_interval_bytes=number("index.interval.bytes"),
        ),
        compaction=_compaction(own, number) if "compact" in cleanup else None,
        durability=Durability(own.get(DURABILITY, BY_NAME[DURABILITY].default)),
    )


def _limits(number: Callable[[str], int]) -> Limits:
    return Limits(retention_bytes=number("retention.bytes"), retention_ms=number("retention.ms"))


def _compaction(own: Mapping[str, str], number: Callable[[str], int]) -> CompactionPolicy:
    ratio = "min.cleanable.dirty.ratio"
    return CompactionPolicy(
        dirty_ratio_min=float(own.get(ratio, BY_NAME[ratio].default)),
        tombstone_ms=number("delete.retention.ms"),
        lag_min_ms=number("min.compaction.lag.ms"),
        lag_max_ms=number("max.compaction.lag.ms"),
    )


def changed(own: Mapping[str, str], changes: Mapping[str, SettingChange]) -> dict[str, str]:
    """The settings after the changes, in one spelling, or InvalidConfig."""
    settings = dict(own)
    for name, change in changes.items():
        text = _listed(own, name, change) if isinstance(change, ListChange) else change
        value = None if text is None else checked(name, text)
        if name not in BY_NAME:
            raise _unknown(name, text)
        if value is None:
            settings.pop(name, None)
        else:
            settings[name] = value
    _check_lags(settings)
    return settings


def _check_lags(settings: Mapping[str, str]) -> None:
    shortest, longest = "min.compaction.lag.ms", "max.compaction.lag.ms"
    least = int(settings.get(shortest, BY_NAME[shortest].default))
    most = int(settings.get(longest, BY_NAME[longest].default))
    if least > most:
        raise InvalidConfig(key=shortest, value=str(least), expected=f"at most {most}, which is {longest}")


def altered(
    own: Mapping[str, str], changes: Mapping[str, SettingChange], *, replaces: bool = False
) -> dict[str, str]:
    """The settings of a topic that is there after the changes, or InvalidConfig."""
    wanted, before = changes.get(DURABILITY), own.get(DURABILITY, Durability.SYNC.value)
    if isinstance(wanted, ListChange):
        wanted = _listed(own, DURABILITY, wanted)
    if wanted is not None and checked(DURABILITY, wanted) != before:
        expected = f"{before!r}: it is chosen when a topic is made, for good"
        raise InvalidConfig(key=DURABILITY, value=wanted, expected=expected)
    others = {name: value for name, value in changes.items() if name != DURABILITY}
    # Whoever replaces all settings by a list of his own does not mean this one.
    chosen = {name: value for name, value in own.items() if name == DURABILITY or not replaces}
    return changed(chosen, others)


def _listed(own: Mapping[str, str], name: str, change: ListChange) -> str:
    """The list after the change; each word stands there once."""
    setting = BY_NAME.get(name)
    text = change.added or change.removed
    if setting is None:
        raise _unknown(name, text)
    if setting.kind != "list":
        raise InvalidConfig(key=name, value=text, expected="a list, to add to or take from")
    words = _split(own.get(name, setting.default))
    gone = _split(change.removed)
    return ",".join(dict.fromkeys(word for word in [*words, *_split(change.added)] if word not in gone))


def _unknown(name: str, text: str | None) -> InvalidConfig:
    close = difflib.get_close_matches(name, BY_NAME, n=1)
    hint = f" (did you mean {close[0]}?)" if close else ""
    return InvalidConfig(key=name, value=text, expected=f"the name of a topic's setting{hint}")


def checked(name: str, text: str) -> str:
    """The value as it is kept, or InvalidConfig."""
    setting = BY_NAME.get(name)
    if setting is None:
        raise _unknown(name, text)
    value = _KINDS[setting.kind](setting, text.strip())
    if not setting.honoured and value != setting.default:
        expected = f"{setting.default!r}, the only value that has an effect here"
        raise InvalidConfig(key=name, value=text, expected=expected)
    return value


def described(topic: Topic, *, message_bytes_max: int) -> list[SettingValue]:
    """All settings of the topic, in the order of their names."""
    values = []
    for setting in TABLE:
        default = str(message_bytes_max) if setting.name == "max.message.bytes" else setting.default
        own = topic.settings.get(setting.name)
        value = default if own is None else own
        values.append(SettingValue(setting.name, value, default, setting.kind, own is not None, setting.doc))
    return values


def _whole(setting: TopicSetting, text: str) -> str:
    try:
        value = int(text)
    except ValueError:
        raise InvalidConfig(key=setting.name, value=text, expected="a whole number") from None
    low = setting.low if setting.honoured else -LONG_MAX
    if not low <= value <= setting.high:
        expected = f"{setting.low} to {setting.high}"
        raise InvalidConfig(key=setting.name, value=text, expected=expected)
    return str(value)


def _number(setting: TopicSetting, text: str) -> str:
    try:
        value = float(text)
    except ValueError:
        raise InvalidConfig(key=setting.name, value=text, expected="a number") from None
    if setting.honoured and not setting.low <= value <= setting.high:
        expected = f"{setting.low} to {setting.high}"
        raise InvalidConfig(key=setting.name, value=text, expected=expected)
    return str(value)


def _truth(setting: TopicSetting, text: str) -> str:
    if text.lower() not in ("true", "false"):
        raise InvalidConfig(key=setting.name, value=text, expected="true or false")
    return text.lower()


def _word(setting: TopicSetting, text: str) -> str:
    if setting.words and text not in setting.words:
        raise InvalidConfig(key=setting.name, value=text, expected=" or ".join(setting.words))
    return text


def _words(setting: TopicSetting, text: str) -> str:
    words = list(dict.fromkeys(_split(text)))
    if setting.words and (not words or not set(words) <= set(setting.words)):
        expected = f"{' or '.join(setting.words)}, or both"
        raise InvalidConfig(key=setting.name, value=text, expected=expected)
    return ",".join(words)


def _split(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


_KINDS: Mapping[str, Callable[[TopicSetting, str], str]] = {
    "int": _whole,
    "long": _whole,
    "double": _number,
    "boolean": _truth,
    "string": _word,
    "list": _words,
}
