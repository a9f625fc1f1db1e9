"""TANK's client side for tests: requests may be sent ahead, answers may overtake; from dossier and captures alone.

    frame    id:u8 length:u32 payload                 little-endian; answers carry the request's id number

The broker speaks first: five bytes of ping, once. It imports nothing of onelog.
"""

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

from tests.support.blocking_wire import Wire
from tests.support.tank_bundles import Bytes, Message, pack, text8, unpack_chunk, varint

PING = bytes.fromhex("0300000000")
PRODUCE, FETCH, PRODUCE_NUMBERED = 0x01, 0x02, 0x05
PARTITIONS, CREATE, RELOAD = 0x06, 0x07, 0x08
STATUS, TOPICS, TOPOLOGY = 0x0A, 0x0B, 0x0C
FROM_FIRST = 0
FROM_NOW = (1 << 64) - 1
FETCH_SIZE = 1 << 27
OK = 0x00
BOUNDARY = 0x01
UNKNOWN_PARTITION = 0x01
NUMBER_REFUSED = 0x0A
LEADER_ELSEWHERE, NO_LEADER, READ_ONLY, UNKNOWN_TOPIC = 0xFC, 0xFD, 0xFE, 0xFF
# What else a fetch may say of an entry.
NOT_OPEN, FIRST_IS_SPARSE, NO_SUCH_PARTITION, NO_SUCH_TOPIC = 0xFB, 0xFE, 0xFF, 0xFFFF
PRODUCE_CODES = {0, 1, 2, 3, 4, 10, LEADER_ELSEWHERE, NO_LEADER, READ_ONLY, UNKNOWN_TOPIC}
CREATE_CODES = {0, 1, 2, 4, 5, 10, 11}


Item = TypeVar("Item")


@dataclass(frozen=True)
class Entry:
    """Something for one partition of one topic: a bundle, and the base number if numbers are given."""

    topic: str
    partition: int
    bundle: bytes
    base: int | None = None


@dataclass(frozen=True)
class Ask:
    """A position to read from."""

    topic: str
    partition: int
    number: int
    size: int = FETCH_SIZE


@dataclass(frozen=True)
class Found:
    """What one position gave."""

    topic: str
    partition: int
    code: int
    base: int = 0
    high_watermark: int = 0
    first_available: int = 0
    chunk: bytes = b""

    @property
    def messages(self) -> list[Message]:
        return unpack_chunk(self.chunk, self.base)


@dataclass(frozen=True)
class Status:
    """What the broker says of itself."""

    topics: int
    partitions: int
    version: int


class TankClient:
    """One connection, past its ping. Version 2 and client id "c++" are tank-cli's."""

    def __init__(self, wire: Wire, *, version: int = 2, client_id: str = "c++", first_id: int = 1) -> None:
        self.wire = wire
        self._version = version
        self._client_id = client_id
        self._last_id = first_id - 1
        self._readers: dict[int, Callable[[Bytes], Any]] = {}
        self._answers: dict[int, Any] = {}
        assert wire.read(len(PING)) == PING

    @classmethod
    def connect(cls, address: str) -> Self:
        return cls(Wire.connect(address))

    def close(self) -> None:
        self.wire.close()

    # Each of these sends and returns the request's id; `answer` waits for it.

    def send_produce(self, entries: Sequence[Entry]) -> int:
        """Entries of one topic that follow each other are sent as one topic's."""
        numbered = any(e.base is not None for e in entries)
        groups = _by_topic([(e.topic, e) for e in entries])
        body = struct.pack("<BIB", 0, 0, len(groups))
        for topic, of_topic in groups:
            body += text8(topic) + bytes([len(of_topic)])
            for e in of_topic:
                body += struct.pack("<H", e.partition) + varint(len(e.bundle))
                body += (struct.pack("<Q", e.base or 0) if numbered else b"") + e.bundle
        return self._send(
            PRODUCE_NUMBERED if numbered else PRODUCE,
            body,
            lambda answer: _produced(answer, groups),
            answered_as=PRODUCE,
            client_id=self._client_id,
        )

    def send_fetch(
        self, asks: Sequence[Ask], *, wait_ms: int = 0, bytes_min: int = 0, flags: int | None = None
    ) -> int:
        """Flags make it a request of version 3."""
        groups = _by_topic([(a.topic, a) for a in asks])
        body = struct.pack("<QI", wait_ms, bytes_min)
        body += b"" if flags is None else bytes([flags])
        body += bytes([len(groups)])
        for topic, of_topic in groups:
            body += text8(topic) + bytes([len(of_topic)])
            body += b"".join(struct.pack("<HQI", a.partition, a.number, a.size) for a in of_topic)
        version = self._version if flags is None else 3
        return self._send(FETCH, body, _fetched, answered_as=FETCH, client_id="", version=version)

    def answer(self, request: int) -> Any:
        """The answer to this request; others that come before it are kept for their own."""
        while request not in self._answers:
            self._receive()
        return self._answers.pop(request)

    def next_answered(self) -> int:
        """The id of the next request that gets its answer."""
        before = set(self._answers)
        self._receive()
        (request,) = set(self._answers) - before
        return request

    # And these send, and wait.

    def produce(
        self, topic: str, partition: int, messages: Sequence[Message], *, snappy: bool = False
    ) -> int:
        """The code of one plain bundle."""
        return self.produce_bundle(topic, partition, pack(messages, snappy=snappy))

    def produce_bundle(self, topic: str, partition: int, bundle: bytes, *, base: int | None = None) -> int:
        (code,) = self.answer(self.send_produce([Entry(topic, partition, bundle, base)]))
        assert isinstance(code, int)
        return code

    def fetch(
        self, topic: str, partition: int, number: int, *, wait_ms: int = 0, size: int = FETCH_SIZE
    ) -> Found:
        """What stands there, from the bundle that holds the number on."""
        (found,) = self.answer(self.send_fetch([Ask(topic, partition, number, size)], wait_ms=wait_ms))
        assert isinstance(found, Found)
        return found

    def create_topic(self, topic: str, partition_count: int, config: str = "") -> int:
        """Its code: 0 made, 1 there already, 4 a bad config, 10 a bad name or no partitions."""
        text = config.encode()
        body = text8(topic) + struct.pack("<H", partition_count) + varint(len(text)) + text

        def read(answer: Bytes) -> int:
            assert answer.text8() == topic
            return answer.number(1)

        code: int = self.answer(self._send(CREATE, body, read))
        assert code in CREATE_CODES
        return code

    def partitions(self, topic: str) -> list[tuple[int, int]]:
        """First available and last number of each partition; none: the topic is unknown."""

        def read(answer: Bytes) -> list[tuple[int, int]]:
            assert answer.text8() == topic
            return [(answer.number(8), answer.number(8)) for _ in range(answer.number(2))]

        found: list[tuple[int, int]] = self.answer(self._send(PARTITIONS, text8(topic), read))
        return found

    def topics(self) -> dict[str, int]:
        """How many partitions each topic has."""

        def read(answer: Bytes) -> dict[str, int]:
            count, cluster = answer.number(4), answer.number(1)
            assert cluster == 0
            listed = [(answer.text8(), answer.number(1), answer.number(2)) for _ in range(count)]
            return {name: partitions for name, _, partitions in listed}

        found: dict[str, int] = self.answer(self._send(TOPICS, b"\0", read))
        return found

    def status(self) -> Status:
        def read(answer: Bytes) -> Status:
            flags, cluster, topics, partitions = (answer.number(w) for w in (1, 1, 4, 4))
            assert (flags, cluster) == (0, 0)
            answer.taken(12)
            return Status(topics, partitions, answer.number(4))

        found: Status = self.answer(self._send(STATUS, b"", read))
        return found

    def stands_alone(self) -> bool:
        """Whether the topology is that of a broker without a cluster."""
        nodes: int = self.answer(self._send(TOPOLOGY, b"\0", lambda answer: answer.number(2)))
        return nodes == 0xFFFF

    def reload_config(self, topic: str, partition: int) -> int:
        """Its code."""

        def read(answer: Bytes) -> int:
            assert (answer.text8(), answer.number(2)) == (topic, partition)
            return answer.number(1)

        code: int = self.answer(self._send(RELOAD, text8(topic) + struct.pack("<H", partition), read))
        return code

    def _send(
        self,
        kind: int,
        body: bytes,
        read: Callable[[Bytes], Any],
        *,
        answered_as: int | None = None,
        client_id: str | None = None,
        version: int | None = None,
    ) -> int:
        self._last_id += 1
        head = struct.pack("<I", self._last_id)
        if client_id is not None:
            head = struct.pack("<H", self._version if version is None else version) + head + text8(client_id)
        self._readers[self._last_id] = _of_kind(answered_as or kind, read)
        self.wire.send(struct.pack("<BI", kind, len(head + body)) + head + body)
        return self._last_id

    def _receive(self) -> None:
        kind, length = struct.unpack("<BI", self.wire.read(5))
        assert (kind, length) != (PING[0], 0), "a second ping ends the Go and the Java client"
        answer = Bytes(bytes([kind]) + self.wire.read(length))
        # A fetch tells its header's length before the request's id.
        answer.at = 5 if kind == FETCH else 1
        request = answer.number(4)
        self._answers[request] = self._readers.pop(request)(answer)
        assert not answer.left, f"{answer.left} bytes behind the answer"


def _of_kind(kind: int, read: Callable[[Bytes], Any]) -> Callable[[Bytes], Any]:
    def checked(answer: Bytes) -> Any:
        assert answer.data[0] == kind, f"answer {answer.data[0]:02x} where {kind:02x} was due"
        return read(answer)

    return checked


def _by_topic(pairs: Sequence[tuple[str, Item]]) -> list[tuple[str, list[Item]]]:
    groups: list[tuple[str, list[Item]]] = []
    for topic, item in pairs:
        if not groups or groups[-1][0] != topic:
            groups.append((topic, []))
        groups[-1][1].append(item)
    return groups


def _produced(answer: Bytes, groups: Sequence[tuple[str, Sequence[Entry]]]) -> list[int]:
    """One code for each entry; those that stand once for a topic are told for each of its entries."""
    codes: list[int] = []
    for _, entries in groups:
        i = 0
        while i < len(entries):
            code = answer.number(1)
            assert code in PRODUCE_CODES, f"code {code:02x} aborts the C++ client"
            once = code in (UNKNOWN_TOPIC, READ_ONLY)
            codes += [code] * (len(entries) if once else 1)
            i = len(entries) if once else i + 1
    return codes


def _fetched(answer: Bytes) -> list[Found]:
    header = int.from_bytes(answer.data[1:5], "little")
    heads: list[tuple[Found, int]] = []
    for _ in range(answer.number(1)):
        topic, entries = answer.text8(), answer.number(1)
        if answer.data[answer.at : answer.at + 2] == b"\xff\xff":
            answer.taken(2)
            heads.append((Found(topic, -1, NO_SUCH_TOPIC), 0))
            continue
        heads += [_head(answer, topic) for _ in range(entries)]
    assert answer.at == 5 + header, "the header's length"
    return [_with_chunk(found, answer.taken(length)) for found, length in heads]


def _head(answer: Bytes, topic: str) -> tuple[Found, int]:
    """One entry of the header, and how long its chunk is."""
    partition, code = answer.number(2), answer.number(1)
    if code == LEADER_ELSEWHERE:
        answer.taken(6)
    if code not in (OK, BOUNDARY, FIRST_IS_SPARSE):
        assert code in (NOT_OPEN, LEADER_ELSEWHERE, NO_LEADER, NO_SUCH_PARTITION), (
            f"code {code:02x} aborts the C++ client"
        )
        return Found(topic, partition, code), 0
    # A sparse first bundle tells its number itself.
    base = 0 if code == FIRST_IS_SPARSE else answer.number(8)
    high_watermark, length = answer.number(8), answer.number(4)
    first = answer.number(8) if code == BOUNDARY else 0
    return Found(
        topic, partition, OK if code == FIRST_IS_SPARSE else code, base, high_watermark, first
    ), length


def _with_chunk(found: Found, chunk: bytes) -> Found:
    whole = replace(found, chunk=chunk)
    if chunk:
        assert whole.messages[-1].number <= whole.high_watermark, "C++ stops at the first message above it"
    return whole
