"""FlyMQ's client side for tests, in both forms of every frame that has two; from document, dossier and captures.

    frame    AF 01 opcode flags | length u32 | payload      big-endian; flags 01, and 02 with gzip
    str      u16 length, UTF-8      str8  u8 length      bytes  u32 length      [x]  u32 count

The document's client sends FETCH without a filter and SUBSCRIBE with a str mode; the programs' client
sends a filter always and a str8 mode, and reads another order of fields. It imports nothing of onelog.
"""

import gzip
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Self, TypeVar

from tests.support.blocking_wire import Wire

PAYLOAD_BYTES_MAX = 33_554_432
HEADER = struct.Struct(">BBBBI")
BINARY, GZIP = 0x01, 0x02
ERROR = 0xFF
ANY_PARTITION = -1
Item = TypeVar("Item")


class Op(Enum):
    """The opcodes that this client sends."""

    PRODUCE = 0x01
    CONSUME = 0x02
    CREATE_TOPIC = 0x03
    SUBSCRIBE = 0x05
    COMMIT = 0x06
    FETCH = 0x07
    LIST_TOPICS = 0x08
    DELETE_TOPIC = 0x09
    CONSUME_ZERO_COPY = 0x0A
    FETCH_BINARY = 0x0B
    CLUSTER_METADATA = 0x53
    GET_OFFSET = 0x60
    RESET_OFFSET = 0x61
    LIST_GROUPS = 0x62
    DESCRIBE_GROUP = 0x63
    GET_LAG = 0x64
    DELETE_GROUP = 0x65
    AUTH = 0x70
    AUTH_RESPONSE = 0x71
    WHOAMI = 0x72


class Form(Enum):
    """Whose layouts a client speaks, where there are two."""

    DOCUMENT = "document"
    PROGRAMS = "programs"


class Refused(Exception):
    """An ERROR frame."""

    def __init__(self, message: str, payload: bytes) -> None:
        super().__init__(message)
        self.message = message
        self.payload = payload


@dataclass(frozen=True)
class Metadata:
    """Where a message was put."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key_size: int
    value_size: int


@dataclass(frozen=True)
class Message:
    """One message of a fetch. An empty key is none."""

    offset: int
    key: bytes
    value: bytes


@dataclass(frozen=True)
class Fetched:
    """What a fetch answered."""

    messages: tuple[Message, ...]
    next_offset: int


@dataclass(frozen=True)
class Group:
    """A group of one topic: how many members, and its positions."""

    topic: str
    group: str
    members: int
    offsets: tuple[tuple[int, int], ...]


class Fields:
    """Reads big-endian fields in turn."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def number(self, width: int, *, signed: bool = False) -> int:
        return int.from_bytes(self.taken(width), "big", signed=signed)

    def taken(self, count: int) -> bytes:
        found = self._data[self._at : self._at + count]
        assert len(found) == count, f"{count} bytes expected at {self._at} of {self._data[:64].hex()}"
        self._at += count
        return found

    def text(self) -> str:
        return self.taken(self.number(2)).decode("utf-8")

    def text8(self) -> str:
        return self.taken(self.number(1)).decode("utf-8")

    def blob(self) -> bytes:
        return self.taken(self.number(4))

    def several(self, read: Callable[[], Item]) -> tuple[Item, ...]:
        return tuple(read() for _ in range(self.number(4)))

    @property
    def left(self) -> int:
        return len(self._data) - self._at


def text(value: str) -> bytes:
    """A str."""
    data = value.encode("utf-8")
    return struct.pack(">H", len(data)) + data


def text8(value: str) -> bytes:
    """A str8."""
    data = value.encode("utf-8")
    return bytes([len(data)]) + data


def blob(data: bytes) -> bytes:
    """Bytes behind their u32 length."""
    return struct.pack(">I", len(data)) + data


def frame(op: Op, payload: bytes = b"", *, flags: int = BINARY) -> bytes:
    """A message as it is sent."""
    return HEADER.pack(0xAF, 1, op.value, flags, len(payload)) + payload


def produce_frame(topic: str, partition: int, key: bytes, value: bytes, *, compressed: bool = False) -> bytes:
    """A PRODUCE; the programs compress a payload whole."""
    payload = text(topic) + blob(key) + blob(value) + struct.pack(">i", partition)
    if compressed:
        return frame(Op.PRODUCE, gzip.compress(payload), flags=BINARY | GZIP)
    return frame(Op.PRODUCE, payload)


class FlyMQClient:
    """One connection, one request after the other. The Java SDK's flags are 0."""

    def __init__(self, wire: Wire, form: Form = Form.PROGRAMS, *, flags: int = BINARY) -> None:
        self.wire = wire
        self.form = form
        self._flags = flags

    @classmethod
    def connect(cls, address: str, form: Form = Form.PROGRAMS) -> Self:
        return cls(Wire.connect(address), form)

    def close(self) -> None:
        self.wire.close()

    def ask(self, op: Op, payload: bytes = b"") -> Fields:
        """One request, the fields of its answer, or Refused."""
        self.wire.send(frame(op, payload, flags=self._flags))
        return self.answer(Op.AUTH_RESPONSE if op is Op.AUTH else op)

    def answer(self, op: Op) -> Fields:
        """The fields of the next answer, which has this opcode, or Refused."""
        magic, version, found, flags, length = HEADER.unpack(self.wire.read(HEADER.size))
        assert (magic, version) == (0xAF, 1)
        assert not flags & ~BINARY, "no client inflates an answer"
        assert length <= PAYLOAD_BYTES_MAX
        payload = self.wire.read(length)
        if found == ERROR:
            raise Refused(self._error_text(payload), payload)
        assert found == op.value, f"opcode {found:02x} where {op} was due"
        return Fields(payload)

    def _error_text(self, payload: bytes) -> str:
        if self.form is Form.DOCUMENT:
            # What every program reads is legible here, though not all of it has to be text.
            fields = Fields(payload)
            assert fields.number(1) == 0
            message = fields.taken(fields.number(2))
            assert not fields.left
            return message.decode("utf-8", "replace")
        if len(payload) < 6:
            return payload.decode("utf-8")
        length = int.from_bytes(payload[4:6], "big")
        rest = payload[6:]
        return (rest[:length] if length <= len(rest) else rest).decode("utf-8")

    def _done(self, op: Op, payload: bytes) -> None:
        """Ask for something that is answered by bool and text; the programs read the bool at most."""
        fields = self.ask(op, payload)
        assert fields.number(1) == 1
        if self.form is Form.DOCUMENT:
            fields.text()
            assert not fields.left

    def create_topic(self, topic: str, partition_count: int) -> None:
        self._done(Op.CREATE_TOPIC, text(topic) + struct.pack(">i", partition_count))

    def delete_topic(self, topic: str) -> None:
        self._done(Op.DELETE_TOPIC, text(topic))

    def topics(self) -> list[str]:
        fields = self.ask(Op.LIST_TOPICS)
        found = fields.several(fields.text)
        assert not fields.left
        return list(found)

    def partition_count(self, topic: str) -> int:
        """As CLUSTER_METADATA tells it; every partition has to name a leader."""
        fields = self.ask(Op.CLUSTER_METADATA, text(topic))
        fields.text()
        counts = {}
        for _ in range(fields.number(4)):
            name = fields.text()
            counts[name] = len(fields.several(lambda: _partition(fields)))
        assert not fields.left
        return counts[topic]

    def produce(
        self, topic: str, partition: int, key: bytes, value: bytes, *, compressed: bool = False
    ) -> Metadata:
        return self.produce_pipelined(topic, partition, [(key, value)], compressed=compressed)[0]

    def produce_pipelined(
        self, topic: str, partition: int, pairs: Sequence[tuple[bytes, bytes]], *, compressed: bool = False
    ) -> list[Metadata]:
        """Every request in one write, then every answer."""
        frames = [produce_frame(topic, partition, k, v, compressed=compressed) for k, v in pairs]
        if self._flags != BINARY:
            frames = [f[:3] + bytes([self._flags]) + f[4:] for f in frames]
        self.wire.send(b"".join(frames))
        return [self._metadata(self.answer(Op.PRODUCE)) for _ in pairs]

    def _metadata(self, fields: Fields) -> Metadata:
        found = Metadata(
            fields.text(),
            fields.number(4, signed=True),
            fields.number(8),
            fields.number(8, signed=True),
            fields.number(4, signed=True),
            fields.number(4, signed=True),
        )
        assert not fields.left
        return found

    def consume(self, topic: str, partition: int, offset: int, op: Op = Op.CONSUME) -> tuple[bytes, bytes]:
        """Key and value of one message."""
        fields = self.ask(op, text(topic) + struct.pack(">iQ", partition, offset))
        found = fields.blob(), fields.blob()
        assert not fields.left
        return found

    def fetch(
        self,
        topic: str,
        partition: int,
        offset: int,
        *,
        max_messages: int = 1000,
        matching: str | None = "",
        op: Op = Op.FETCH,
    ) -> Fetched:
        """The old Java SDK's sends no filter at all (None) and reads as the programs do."""
        request = text(topic) + struct.pack(">iQi", partition, offset, max_messages)
        if self.form is Form.PROGRAMS and matching is not None:
            request += text(matching)
        fields = self.ask(op, request)
        if self.form is Form.DOCUMENT and op is Op.FETCH:
            found = Fetched(fields.several(lambda: _documented(fields)), fields.number(8))
        else:
            count, next_offset = fields.number(4), fields.number(8)
            messages = [Message(fields.number(8), fields.blob(), fields.blob()) for _ in range(count)]
            found = Fetched(tuple(messages), next_offset)
        assert not fields.left
        return found

    def subscribe(self, topic: str, group: str, partition: int, mode: str) -> int:
        """Where to start reading."""
        spelled = text(mode) if self.form is Form.DOCUMENT else text8(mode)
        fields = self.ask(Op.SUBSCRIBE, group_place(topic, group, partition) + spelled)
        found = fields.number(8)
        assert not fields.left
        return found

    def commit(self, topic: str, group: str, partition: int, offset: int) -> None:
        self._done(Op.COMMIT, group_place(topic, group, partition) + struct.pack(">Q", offset))

    def committed(self, topic: str, group: str, partition: int) -> int:
        """0 where the group has nothing for this partition; an unknown group is refused."""
        fields = self.ask(Op.GET_OFFSET, group_place(topic, group, partition))
        found = fields.number(8)
        assert not fields.left
        return found

    def lag(self, topic: str, group: str, partition: int) -> tuple[int, int, int, int]:
        """Current and committed position, the latest offset, and the lag."""
        fields = self.ask(Op.GET_LAG, group_place(topic, group, partition))
        found = fields.number(8), fields.number(8), fields.number(8), fields.number(8)
        assert not fields.left
        return found

    def reset(self, topic: str, group: str, partition: int, mode: str, offset: int | None = None) -> None:
        """Java gives an offset with every mode."""
        request = group_place(topic, group, partition) + text8(mode)
        request += b"" if offset is None else struct.pack(">Q", offset)
        assert self.ask(Op.RESET_OFFSET, request).number(1) == 1

    def groups(self) -> list[Group]:
        fields = self.ask(Op.LIST_GROUPS)
        found = fields.several(lambda: _group(fields))
        assert not fields.left
        return list(found)

    def describe_group(self, topic: str, group: str) -> Group:
        return _group(self.ask(Op.DESCRIBE_GROUP, text(topic) + text(group)))

    def delete_group(self, topic: str, group: str) -> None:
        assert self.ask(Op.DELETE_GROUP, text(topic) + text(group)).number(1) == 1

    def log_in(self, user: str, password: str) -> tuple[bool, str]:
        """Whether it succeeded, and what was said of a failure; each form has an order of its own."""
        fields = self.ask(Op.AUTH, text(user) + text(password))
        success = fields.number(1) == 1
        if self.form is Form.DOCUMENT:
            said, _, _ = fields.text(), fields.text(), fields.several(fields.text)
        else:
            _, _, said = fields.text(), fields.several(fields.text8), fields.text()
        assert not fields.left
        return success, said

    def who_am_i(self) -> str:
        """As Python and Java read it: the name of the user, empty for nobody."""
        fields = self.ask(Op.WHOAMI)
        _, name, _, _ = (
            fields.number(1),
            fields.text(),
            fields.several(fields.text),
            fields.several(fields.text),
        )
        assert not fields.left
        return name


def group_place(topic: str, group: str, partition: int) -> bytes:
    """A topic, a group, and one partition."""
    return text(topic) + text(group) + struct.pack(">i", partition)


def _documented(fields: Fields) -> Message:
    key, value = fields.blob(), fields.blob()
    return Message(fields.number(8), key, value)


def _group(fields: Fields) -> Group:
    topic, group, members = fields.text(), fields.text(), fields.number(4)
    return Group(topic, group, members, fields.several(lambda: (fields.number(4), fields.number(8))))


def _partition(fields: Fields) -> int:
    number = fields.number(4)
    leader, address = fields.text(), fields.text()
    assert leader
    assert ":" in address
    fields.number(8), fields.text(), fields.several(fields.text), fields.several(fields.text)
    return number
