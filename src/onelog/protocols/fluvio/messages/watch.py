"""Watch: the objects of a kind as they are, and from then on what changes, frame by frame."""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Final

from onelog.binary.errors import BinaryError
from onelog.binary.fields import boolean, i64, u8
from onelog.binary.message import codec, message
from onelog.protocols.fluvio.messages.form import Buffer, Form
from onelog.protocols.fluvio.messages.objects import OBJECTS
from onelog.protocols.fluvio.messages.topics import Counted, decode_objects, encode_objects
from onelog.protocols.fluvio.messages.wrapper import unwrap, wrap


class ChangeKind(IntEnum):
    """What happened. Made and changed are one."""

    UPDATE = 0
    DELETE = 1


@message()
class WatchFrom:
    """epoch: 0, whatever the client has seen."""

    epoch: int = i64()
    is_summary: bool = boolean(since=10)


@dataclass(slots=True)
class WatchRequest:
    """Tell me of the objects of a kind."""

    label: str
    epoch: int = 0
    is_summary: bool = False


def decode_watch(view: memoryview, pos: int, version: int) -> tuple[WatchRequest, int]:
    wrapped = unwrap(view, pos, version)
    wanted, _ = codec(WatchFrom, version).decode(wrapped.inner)
    return WatchRequest(wrapped.label, wanted.epoch, wanted.is_summary), wrapped.end


def encode_watch(request: WatchRequest, version: int) -> list[Buffer]:
    wanted = WatchFrom(epoch=request.epoch, is_summary=request.is_summary)
    return wrap(request.label, codec(WatchFrom, version).encode(wanted), version)


@dataclass(slots=True)
class Change:
    """One object that is new, is different, or is gone."""

    kind: ChangeKind
    object: Any


@dataclass(slots=True)
class WatchResponse:
    """One frame. Where all is not empty it is everything that there is; else only the changes count."""

    label: str
    epoch: int
    changes: list[Change] = field(default_factory=list)
    all: list[Any] = field(default_factory=list)


@message()
class Epoch:
    """Rises with every frame of news."""

    epoch: int = i64()


@message()
class Kind:
    """What happened to the object behind it."""

    kind: int = u8()


def decode_watched(view: memoryview, pos: int, version: int) -> tuple[WatchResponse, int]:
    wrapped = unwrap(view, pos, version)
    inner, label = wrapped.inner, wrapped.label
    epoch, at = codec(Epoch).decode(inner)
    count, at = codec(Counted).decode(inner, at)
    changes = []
    for _ in range(count.count):
        kind, at = codec(Kind).decode(inner, at)
        found, at = codec(OBJECTS[label], version).decode(inner, at)
        if kind.kind not in (ChangeKind.UPDATE, ChangeKind.DELETE):
            raise BinaryError("kind of change", at, str(kind.kind), "0 or 1")
        changes.append(Change(ChangeKind(kind.kind), found))
    everything, _ = decode_objects(label, inner, at, version)
    return WatchResponse(label, epoch.epoch, changes, everything), wrapped.end


def encode_watched(response: WatchResponse | bytes, version: int) -> list[Buffer]:
    """bytes: a frame that was written before, for another watcher in the same version."""
    if isinstance(response, bytes):
        return [response]
    inner = codec(Epoch).encode(Epoch(epoch=response.epoch))
    inner += codec(Counted).encode(Counted(count=len(response.changes)))
    for change in response.changes:
        inner += codec(Kind).encode(Kind(kind=change.kind))
        inner += codec(OBJECTS[response.label], version).encode(change.object)
    inner += encode_objects(response.label, response.all, version)
    return wrap(response.label, inner, version)


WATCH: Final = Form(decode_watch, encode_watch)
WATCHED: Final = Form(decode_watched, encode_watched)
