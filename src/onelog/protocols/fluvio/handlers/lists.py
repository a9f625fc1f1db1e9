"""List: the objects of one kind, as they are now."""

from typing import Any

from onelog.protocols.contract import Outcome, ProtocolError, Reply
from onelog.protocols.fluvio.connection import Request
from onelog.protocols.fluvio.handlers.context import Context
from onelog.protocols.fluvio.handlers.objects import (
    all_partitions,
    all_topics,
    custom_unit_object,
    unit_object,
)
from onelog.protocols.fluvio.messages.objects import LABELS, Label
from onelog.protocols.fluvio.messages.topics import ListRequest, ListResponse


def list_objects(context: Context, request: Request) -> Outcome:
    """Those that are wanted. What is listed is durable already."""
    body: ListRequest = request.body
    if body.label not in LABELS:
        raise ProtocolError(f"a list of {body.label!r:.40}; expected one of {', '.join(LABELS)}")
    return Reply(ListResponse(body.label, _wanted(context, body)))


def _wanted(context: Context, body: ListRequest) -> list[Any]:
    match body.label:
        case Label.TOPIC:
            return [
                topic
                for topic in all_topics(context.broker)
                if topic.spec.is_system == body.is_system and _contains(topic.name, body.names)
            ]
        case Label.PARTITION:
            # Names are not looked at, as in Fluvio.
            return [p for p in all_partitions(context.broker) if p.spec.is_system == body.is_system]
        case Label.UNIT:
            unit = unit_object(context.unit_address)
            return [unit] if not body.names or unit.name in body.names else []
        case Label.CUSTOM_UNIT:
            custom = custom_unit_object(context.unit_address)
            return [custom] if not body.names or custom.name in body.names else []
    return []


def _contains(name: str, parts: list[str]) -> bool:
    return not parts or any(part in name for part in parts)
