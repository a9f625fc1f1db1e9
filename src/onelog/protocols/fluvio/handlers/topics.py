"""Create, Delete and Update: topics made, removed and widened; everything else refused by its name.

Later requests of the connection wait, as at Fluvio's own controller: they find what was made.
"""

from typing import Final

from onelog.broker.broker import Topic
from onelog.errors import OnelogError
from onelog.protocols.contract import Outcome, Reply
from onelog.protocols.fluvio.connection import Request
from onelog.protocols.fluvio.errors import FluvioRefusal, other
from onelog.protocols.fluvio.handlers.context import Context, later
from onelog.protocols.fluvio.handlers.objects import SYSTEM_TOPIC, UNIT_NAME
from onelog.protocols.fluvio.handlers.patience import after, behind_news, within
from onelog.protocols.fluvio.handlers.watch import News
from onelog.protocols.fluvio.messages.error import (
    Code,
    SmartModuleNotFound,
    SystemSpecDeletionAttempt,
    SystemSpecUpdatingAttempt,
    code_of,
)
from onelog.protocols.fluvio.messages.objects import Label
from onelog.protocols.fluvio.messages.topics import (
    AddPartition,
    CreateRequest,
    DeleteRequest,
    Status,
    UpdateRequest,
)
from onelog.protocols.fluvio.options import UNIT_ID, new_topic, spec_of
from onelog.ticket import Ticket

# A program creates on one connection and looks on another, which hears of it by a push. Its
# answer must not overtake that: with 5 ms between them none of 60 did, without, 4.
SETTLE_MS: Final = 20

# Where a cluster has words of its own.
_WORDS: Final = {
    Code.TOPIC_ALREADY_EXISTS: "Topic '{name}' already exists",
    Code.TOPIC_NOT_FOUND: "not found",
}

Refused = OnelogError | FluvioRefusal


def create(context: Context, request: Request) -> Outcome:
    """Make a topic; answered when it takes records and all who watch have been told."""
    body: CreateRequest = request.body
    try:
        if body.label != Label.TOPIC:
            raise _not_served(f"a {body.label!r:.40} cannot be created here: only topics can")
        if body.name == SYSTEM_TOPIC:
            raise FluvioRefusal(Code.TOPIC_ALREADY_EXISTS, f"{SYSTEM_TOPIC} is Fluvio's own")
        wanted = new_topic(body.name, body.spec)
        made = context.broker.create_topics([wanted], validate_only=body.is_dry_run).then(_only)
    except (OnelogError, FluvioRefusal) as error:
        return Reply(_refused(context, body.name, error))
    if body.timeout_ms is not None:
        made = within(made, body.timeout_ms, lambda: _not_yet(body))
    if not body.is_dry_run and context.broker.kept(News).is_watched:
        made = after(made, SETTLE_MS)
    return later(made, lambda done: _status(context, body.name, done), hold=True)


def delete(context: Context, request: Request) -> Outcome:
    """Remove a topic; answered when it is gone for good and all who watch have been told."""
    body: DeleteRequest = request.body
    name = str(body.key)
    try:
        if body.label != Label.TOPIC:
            raise _nothing_to_delete(body)
        _require_deletable(context, name, is_forced=body.is_forced)
        gone = context.broker.delete_topics([name]).then(_only)
    except (OnelogError, FluvioRefusal) as error:
        # What a cluster calls it that has no such thing.
        return Reply(_refused(context, "create error" if isinstance(error, _UnknownKind) else name, error))
    return later(behind_news(gone), lambda done: _status(context, name, done), hold=True)


def update(context: Context, request: Request) -> Outcome:
    """Widen a topic."""
    body: UpdateRequest = request.body
    name = str(body.key)
    try:
        if body.label != Label.TOPIC:
            raise _not_served(f"a {body.label!r:.40} cannot be changed here: only topics can")
        if not isinstance(body.action, AddPartition):
            raise _not_served(f"{name}: mirrors are not served")
        grown = _widened(context, name, body.action.count)
    except (OnelogError, FluvioRefusal) as error:
        return Reply(_refused(context, name, error))
    return later(behind_news(grown), lambda done: _status(context, name, done), hold=True)


def _widened(context: Context, name: str, count: int) -> Ticket[Topic]:
    if name == SYSTEM_TOPIC:
        text = f"{name} is Fluvio's own and has one partition"
        raise FluvioRefusal(SystemSpecUpdatingAttempt(kind="topic", name=name), text)
    topic = context.broker.topic(name)
    return context.broker.grow_partitions(name, topic.partition_count + count)


def _require_deletable(context: Context, name: str, *, is_forced: bool) -> None:
    """A system topic goes by force only, and Fluvio's own not at all: it is no log that could go."""
    is_system = name == SYSTEM_TOPIC or spec_of(context.broker.topic(name)).is_system
    if is_system and (name == SYSTEM_TOPIC or not is_forced):
        raise _SystemTopic(name)


class _SystemTopic(FluvioRefusal):
    """Clients print what the code carries, and are told nothing beside it."""

    def __init__(self, name: str) -> None:
        super().__init__(SystemSpecDeletionAttempt(kind="topic", name=name), "")


class _UnknownKind(FluvioRefusal):
    """Something that no cluster has."""

    def __init__(self) -> None:
        text = "unknown admin object type"
        super().__init__(other(text), text)


def _nothing_to_delete(body: DeleteRequest) -> FluvioRefusal:
    """There is none of it, and its kind has a word for that; the unit is there, and stays."""
    name = str(body.key)
    match body.label:
        case Label.SMART_MODULE:
            return FluvioRefusal(SmartModuleNotFound(name=name), f"SmartModule {name!r:.80} is not there")
        case Label.TABLE_FORMAT:
            return FluvioRefusal(Code.TABLE_FORMAT_NOT_FOUND, f"TableFormat {name!r:.80} is not there")
        case Label.MIRROR:
            return FluvioRefusal(Code.MIRROR_NOT_FOUND, f"Mirror {name!r:.80} is not there")
        case Label.CUSTOM_UNIT if body.key in (UNIT_ID, UNIT_NAME):
            return _not_served(f"{UNIT_NAME} is this broker and cannot be removed")
        case Label.CUSTOM_UNIT | Label.UNIT_GROUP:
            return FluvioRefusal(Code.SPU_NOT_FOUND, f"{body.label} {name!r:.80} is not there")
    return _UnknownKind()


def _not_served(text: str) -> FluvioRefusal:
    return FluvioRefusal(other(text), text)


def _not_yet(body: CreateRequest) -> FluvioRefusal:
    text = f"topic {body.name!r} was not durable after {body.timeout_ms} ms; it is being made all the same"
    return FluvioRefusal(Code.TOPIC_NOT_PROVISIONED, text)


def _only(outcomes: list[Topic | OnelogError]) -> Topic:
    [outcome] = outcomes
    if isinstance(outcome, OnelogError):
        raise outcome
    return outcome


def _status(context: Context, name: str, done: Ticket[Topic]) -> Status:
    if done.error is None:
        return Status(name=name)
    if not isinstance(done.error, OnelogError | FluvioRefusal):
        raise done.error
    return _refused(context, name, done.error)


def _refused(context: Context, name: str, error: Refused) -> Status:
    fault = context.refuse(error)
    words = _WORDS.get(code_of(fault))
    text = str(error) if words is None else words.format(name=name)
    return Status(name=name, error=fault, text=text or None)
