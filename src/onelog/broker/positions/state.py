"""How far each group has read: what may be remembered, and what a change does. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from onelog.broker.values import Position
from onelog.errors import InvalidRequest, NoteTooLarge
from onelog.model import POSITION_MAX, TopicId

Place = tuple[TopicId, int]

# The last moment that a row can say: a peer may ask for longer, and a transaction with more in it would fail
# as if the disk had.
MOMENT_MS_MAX: Final = (1 << 63) - 1


class Kept(NamedTuple):
    """A position, when it was committed, and when it goes if its commit said so."""

    position: Position
    committed_ms: int
    expires_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Committed:
    """A group has read a partition up to a position."""

    group: str
    topic_id: TopicId
    partition: int
    kept: Kept


@dataclass(frozen=True, slots=True)
class Deleted:
    """A group has no position in a partition any more."""

    group: str
    topic_id: TopicId
    partition: int


@dataclass(frozen=True, slots=True)
class TopicForgotten:
    """No group has a position in this topic any more."""

    topic_id: TopicId


Change = Committed | Deleted | TopicForgotten


@dataclass
class PositionsState:
    """All positions as decided. Owned by the service; changed by apply alone."""

    by_group: dict[str, dict[Place, Kept]] = field(default_factory=dict)


def decide(
    group: str,
    topic_id: TopicId,
    partition: int,
    position: Position,
    *,
    note_bytes_max: int,
    now_ms: int,
    keep_ms: int | None = None,
) -> Committed:
    """Remember it as given, on an empty topic too; or a OnelogError."""
    _size_of(group, what="group")
    size = _size_of(position.note, what="note")
    if size > note_bytes_max:
        raise NoteTooLarge(size=size, size_max=note_bytes_max)
    if not 0 <= position.offset <= POSITION_MAX:
        raise InvalidRequest(
            reason=f"group {group!r}: position {position.offset}; expected 0 to {POSITION_MAX}."
        )
    expires_ms = None if keep_ms is None else min(now_ms + keep_ms, MOMENT_MS_MAX)
    return Committed(group, topic_id, partition, Kept(position, now_ms, expires_ms))


def beyond(state: PositionsState, ends: Mapping[Place, int]) -> list[Committed]:
    """Positions behind the ends of logs that may have lost records: each brought back to the end."""
    return [
        Committed(group, *place, kept._replace(position=kept.position._replace(offset=ends[place])))
        for group, places in state.by_group.items()
        for place, kept in places.items()
        if place in ends and kept.position.offset > ends[place]
    ]


def _size_of(text: str, *, what: str) -> int:
    """Its bytes, of which there are none for half of a pair: JSON can say it, a file cannot hold it."""
    try:
        return len(text.encode())
    except UnicodeEncodeError as error:
        raise InvalidRequest(reason=f"{what} {text!r:.80}: not UTF-8 at character {error.start}.") from error


def apply(state: PositionsState, change: Change) -> None:
    """Make the change true in memory."""
    match change:
        case Committed(group, topic_id, partition, kept):
            state.by_group.setdefault(group, {})[topic_id, partition] = kept
        case Deleted(group, topic_id, partition):
            _drop(state, group, [(topic_id, partition)])
        case TopicForgotten(topic_id):
            for group, places in list(state.by_group.items()):
                _drop(state, group, [p for p in places if p[0] == topic_id])


def _drop(state: PositionsState, group: str, dropped: Iterable[Place]) -> None:
    """A group that has no position left is none."""
    places = state.by_group[group]
    for place in dropped:
        del places[place]
    if not places:
        del state.by_group[group]
