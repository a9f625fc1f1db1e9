"""What is asked of a controller: objects made, removed, changed and listed.

Around each request and list stands its wrapper (wrapper.py); a Status has none.
"""

from dataclasses import dataclass, field
from typing import Any, Final

from onelog.binary.fields import array32, boolean, choice8, i32, option, text16, u32
from onelog.binary.message import LENIENT, codec, message
from onelog.protocols.fluvio.messages.error import Fault, error_code
from onelog.protocols.fluvio.messages.form import Buffer, Form
from onelog.protocols.fluvio.messages.objects import OBJECTS, Label, TopicSpec
from onelog.protocols.fluvio.messages.wrapper import unwrap, wrap


@message(lengths=LENIENT)
class Status:
    """What became of a Create, Delete or Update. The name is that of the object."""

    name: str = text16()
    error: Fault = error_code()
    text: str | None = option(text16())


# ---- Create


@message(lengths=LENIENT)
class CreateCommon:
    """What stands before every object that is to be made."""

    name: str = text16()
    is_dry_run: bool = boolean()
    timeout_ms: int | None = option(u32(), since=7)


@dataclass(slots=True)
class CreateRequest:
    """Make an object. spec: of a topic; the rest of the bytes of anything else."""

    label: str
    name: str
    spec: Any
    is_dry_run: bool = False
    timeout_ms: int | None = None


def decode_create(view: memoryview, pos: int, version: int) -> tuple[CreateRequest, int]:
    wrapped = unwrap(view, pos, version)
    common, at = codec(CreateCommon, version).decode(wrapped.inner)
    spec: Any = bytes(wrapped.inner[at:])
    if wrapped.label == Label.TOPIC:
        spec, _ = codec(TopicSpec, version).decode(wrapped.inner, at)
    request = CreateRequest(wrapped.label, common.name, spec, common.is_dry_run, common.timeout_ms)
    return request, wrapped.end


def encode_create(request: CreateRequest, version: int) -> list[Buffer]:
    common = CreateCommon(name=request.name, is_dry_run=request.is_dry_run, timeout_ms=request.timeout_ms)
    spec = request.spec
    rest = codec(TopicSpec, version).encode(spec) if isinstance(spec, TopicSpec) else [spec]
    return wrap(request.label, [*codec(CreateCommon, version).encode(common), *rest], version)


# ---- Delete and Update: an object by its key


@message(lengths=LENIENT)
class NameKey:
    """Most objects are known by their name."""

    name: str = text16()


@message(lengths=LENIENT)
class UnitKey:
    """Units of one's own are known by their name or their number; the word before it says which."""

    kind: str = text16()


@message()
class UnitNumber:
    """The number of a unit."""

    id: int = i32()


@message()
class Force:
    """Whether it goes though it is the cluster's own."""

    is_forced: bool = boolean(since=13)


BY_ID: Final = "Id"
BY_NAME: Final = "Name"


@dataclass(slots=True)
class DeleteRequest:
    """Remove an object, by its name; a unit by its number too."""

    label: str
    key: str | int
    is_forced: bool = False


def decode_delete(view: memoryview, pos: int, version: int) -> tuple[DeleteRequest, int]:
    wrapped = unwrap(view, pos, version)
    key, at = _decode_key(wrapped.label, wrapped.inner)
    force, _ = codec(Force, version).decode(wrapped.inner, at)
    return DeleteRequest(wrapped.label, key, force.is_forced), wrapped.end


def encode_delete(request: DeleteRequest, version: int) -> list[Buffer]:
    force = codec(Force, version).encode(Force(is_forced=request.is_forced))
    return wrap(request.label, [*_encode_key(request.label, request.key), *force], version)


def _decode_key(label: str, inner: memoryview) -> tuple[str | int, int]:
    at = 0
    if label == Label.CUSTOM_UNIT:
        kind, at = codec(UnitKey).decode(inner)
        if kind.kind == BY_ID:
            number, at = codec(UnitNumber).decode(inner, at)
            return number.id, at
    name, at = codec(NameKey).decode(inner, at)
    return name.name, at


def _encode_key(label: str, key: str | int) -> list[Buffer]:
    if isinstance(key, int):
        return [*codec(UnitKey).encode(UnitKey(kind=BY_ID)), *codec(UnitNumber).encode(UnitNumber(id=key))]
    kind = codec(UnitKey).encode(UnitKey(kind=BY_NAME)) if label == Label.CUSTOM_UNIT else []
    return [*kind, *codec(NameKey).encode(NameKey(name=key))]


@message()
class AddPartition:
    """So many more partitions."""

    count: int = u32()


@message()
class AddMirror:
    """A cluster that mirrors the topic from now on."""

    remote_cluster: str = text16()
    is_home_to_mirror: bool = boolean()


@message(lengths=LENIENT)
class TopicAction:
    """What is to become of a topic."""

    action: AddPartition | AddMirror = choice8({0: AddPartition, 1: AddMirror}, is_closed=True)


@dataclass(slots=True)
class UpdateRequest:
    """Change an object. action: of a topic; the rest of the bytes of anything else."""

    label: str
    key: str | int
    action: Any


def decode_update(view: memoryview, pos: int, version: int) -> tuple[UpdateRequest, int]:
    wrapped = unwrap(view, pos, version)
    key, at = _decode_key(wrapped.label, wrapped.inner)
    action: Any = bytes(wrapped.inner[at:])
    if wrapped.label == Label.TOPIC:
        action = codec(TopicAction).decode(wrapped.inner, at)[0].action
    return UpdateRequest(wrapped.label, key, action), wrapped.end


def encode_update(request: UpdateRequest, version: int) -> list[Buffer]:
    action = request.action
    if not isinstance(action, bytes):
        action = codec(TopicAction).encode_bytes(TopicAction(action=action))
    return wrap(request.label, [*_encode_key(request.label, request.key), action], version)


# ---- List


@message(lengths=LENIENT)
class ListFilters:
    """What is wanted of one kind of object."""

    names: list[str] = array32(text16())
    is_summary: bool = boolean(since=10)
    is_system: bool = boolean(since=13)


@dataclass(slots=True)
class ListRequest:
    """Which objects of a kind are there."""

    label: str
    names: list[str] = field(default_factory=list)
    is_summary: bool = False
    is_system: bool = False


def decode_list(view: memoryview, pos: int, version: int) -> tuple[ListRequest, int]:
    wrapped = unwrap(view, pos, version)
    wanted, _ = codec(ListFilters, version).decode(wrapped.inner)
    return ListRequest(wrapped.label, wanted.names, wanted.is_summary, wanted.is_system), wrapped.end


def encode_list(request: ListRequest, version: int) -> list[Buffer]:
    wanted = ListFilters(names=request.names, is_summary=request.is_summary, is_system=request.is_system)
    return wrap(request.label, codec(ListFilters, version).encode(wanted), version)


@dataclass(slots=True)
class ListResponse:
    """The objects of a kind."""

    label: str
    objects: list[Any]


def decode_listed(view: memoryview, pos: int, version: int) -> tuple[ListResponse, int]:
    wrapped = unwrap(view, pos, version)
    objects, _ = decode_objects(wrapped.label, wrapped.inner, 0, version)
    return ListResponse(wrapped.label, objects), wrapped.end


def encode_listed(response: ListResponse, version: int) -> list[Buffer]:
    return wrap(response.label, encode_objects(response.label, response.objects, version), version)


def decode_objects(label: str, view: memoryview, pos: int, version: int) -> tuple[list[Any], int]:
    """A count, and as many objects of one kind."""
    count, pos = codec(Counted).decode(view, pos)
    objects = []
    decode = codec(OBJECTS[label], version).decode if count.count else None
    for _ in range(count.count):
        assert decode is not None
        found, pos = decode(view, pos)
        objects.append(found)
    return objects, pos


def encode_objects(label: str, objects: list[Any], version: int) -> list[Buffer]:
    """The same, written."""
    parts = codec(Counted).encode(Counted(count=len(objects)))
    for each in objects:
        parts += codec(OBJECTS[label], version).encode(each)
    return parts


@message()
class Counted:
    """How many objects follow."""

    count: int = i32()


CREATE: Final = Form(decode_create, encode_create)
DELETE: Final = Form(decode_delete, encode_delete)
UPDATE: Final = Form(decode_update, encode_update)
LIST: Final = Form(decode_list, encode_list)
LISTED: Final = Form(decode_listed, encode_listed)
