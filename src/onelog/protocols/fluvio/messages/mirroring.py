"""Mirroring: a controller elsewhere that wants to be told what it mirrors. Nobody is told anything here."""

from dataclasses import dataclass
from typing import Final

from onelog.binary.fields import array32, i32, option, struct, text16
from onelog.binary.message import LENIENT, codec, message
from onelog.protocols.fluvio.messages.error import Fault, error_code
from onelog.protocols.fluvio.messages.form import Buffer, Form, declared
from onelog.protocols.fluvio.messages.objects import TopicSpec
from onelog.protocols.fluvio.messages.wrapper import unwrap, wrap

LABEL: Final = "MirroringConnect"


@message(lengths=LENIENT)
class Remote:
    """Who asks."""

    remote_id: str = text16()


@dataclass(slots=True)
class MirroringRequest:
    """Tell me what I mirror."""

    remote_id: str


def decode_mirroring(view: memoryview, pos: int, version: int) -> tuple[MirroringRequest, int]:
    wrapped = unwrap(view, pos, version)
    remote, _ = codec(Remote).decode(wrapped.inner)
    return MirroringRequest(remote.remote_id), wrapped.end


def encode_mirroring(request: MirroringRequest, version: int) -> list[Buffer]:
    return wrap(LABEL, codec(Remote).encode(Remote(remote_id=request.remote_id)), version)


@message()
class MirroredTopic:
    """A topic to be mirrored, and the unit that has it."""

    key: str = text16()
    spec: TopicSpec = struct(TopicSpec)
    unit_id: int = i32()
    unit_key: str = text16()
    unit_endpoint: str = text16()


@message(lengths=LENIENT)
class MirroringResponse:
    """What is mirrored; this one has no wrapper."""

    name: str = text16()
    error: Fault = error_code()
    text: str | None = option(text16())
    topics: list[MirroredTopic] = array32(MirroredTopic)


MIRRORING: Final = Form(decode_mirroring, encode_mirroring)
MIRRORINGS: Final = declared(MirroringResponse)
