"""kio's classes for Kafka's messages, and their values in the words of ours.

kio is a codec of somebody else's and our oracle. It spells some fields in its own way: times
are timedeltas and datetimes without the ending `_ms`, error codes an enum, no topic id is None.
"""

import dataclasses
import datetime
import importlib
import io
from typing import Any
from uuid import UUID

from kio.schema.errors import ErrorCode
from kio.schema.index import api_key_map
from kio.serial import entity_reader, entity_writer

from onelog.binary.fields import NO_UUID
from onelog.protocols.kafka.versions import Api

EPOCH = datetime.datetime.fromtimestamp(0, datetime.UTC)
MILLISECOND = datetime.timedelta(milliseconds=1)
ERROR_CODES = sorted(code.value for code in ErrorCode)


def oracle(api: Api, version: int, cls: type[Any]) -> type[Any]:
    """kio's class for one of ours in one version."""
    side = "request" if cls is api.request else "response"
    module = importlib.import_module(f"kio.schema.{api_key_map[api.key]}.v{version}.{side}")
    made: type[Any] = getattr(module, cls.__name__)
    return made


def read(cls: type[Any], data: bytes) -> tuple[Any, int]:
    """What kio finds in the bytes, and how many it took."""
    found: tuple[Any, int] = entity_reader(cls)(data, 0)
    return found


def written(value: Any) -> bytes:
    """The bytes that kio makes of a value of its own."""
    out = io.BytesIO()
    entity_writer(type(value))(out, value)
    return out.getvalue()


def said(theirs: Any, ours: Any) -> Any:
    """A value of kio's in our words: structs as dicts. `ours` is what it should come to."""
    if dataclasses.is_dataclass(theirs):
        made: Any = type(theirs)
        if ours is None and theirs == made():
            return None
        return {
            _name(field.name, ours): _member(theirs, field.name, ours) for field in dataclasses.fields(theirs)
        }
    match theirs:
        case ErrorCode():
            return theirs.value
        case datetime.timedelta():
            return theirs // MILLISECOND
        case datetime.datetime():
            return (theirs - EPOCH) // MILLISECOND
        case tuple():
            return [said(*pair) for pair in zip(theirs, ours, strict=True)]
        case None if isinstance(ours, UUID):
            return NO_UUID
        case None if isinstance(ours, int):
            return -1
    return theirs


def plain(ours: Any, theirs: Any) -> Any:
    """A value of ours in the same shape: those fields that kio's has."""
    if dataclasses.is_dataclass(theirs):
        if ours is None:
            return None
        names = [field.name for field in dataclasses.fields(theirs)]
        return {
            _name(name, ours): plain(getattr(ours, _name(name, ours)), getattr(theirs, name))
            for name in names
        }
    if isinstance(ours, list):
        return [plain(*pair) for pair in zip(ours, theirs, strict=True)]
    return bytes(ours) if isinstance(ours, memoryview) else ours


def _member(theirs: Any, name: str, ours: Any) -> Any:
    return said(getattr(theirs, name), getattr(ours, _name(name, ours)))


def _name(theirs: str, ours: Any) -> str:
    return theirs if hasattr(ours, theirs) else f"{theirs}_ms"
