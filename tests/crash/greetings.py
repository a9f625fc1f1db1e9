"""What a client of each dialect may say first, and whether an answer is the one to just that.

Written from the documents; it imports nothing of onelog. Each greeting has something of its own
in it (a number, a name), so that an answer meant for another connection is seen as wrong.
"""

import json
import random
import struct
from collections.abc import Callable
from dataclasses import dataclass

PING = b"\x03\x00\x00\x00\x00"


class Mistaken(Exception):
    """An answer that is not the one to what was said."""


@dataclass(frozen=True)
class Greeting:
    """The bytes of a request; is_answered says whether these bytes are its whole answer."""

    request: bytes
    is_answered: Callable[[bytes], bool]


Maker = Callable[[random.Random], Greeting]


def kafka(rng: random.Random) -> Greeting:
    """ApiVersions in a version before 3, or Metadata of no topics, from clients of many names."""
    number = rng.randrange(1 << 31)
    client = b"c" * rng.randrange(1, 200)
    key, version, body = rng.choice([(18, 0, b""), (18, 2, b""), (3, 1, struct.pack(">i", 0)), (16, 0, b"")])
    head = struct.pack(">hhih", key, version, number, len(client))
    return Greeting(_sized(head + client + body), lambda data: _numbered(data, struct.pack(">i", number)))


def fluvio(rng: random.Random) -> Greeting:
    """ApiVersions, as both kinds of its servers want it first."""
    number = rng.randrange(1, 1 << 31)
    client, version = b"fluvio", b"0.17.3"
    head = struct.pack(">hhih", 18, 2, number, len(client)) + client
    info = struct.pack(">h", len(version)) + version
    info += struct.pack(">h", 5) + b"linux" + struct.pack(">h", 6) + b"x86_64"
    return Greeting(_sized(head + info), lambda data: _numbered(data, struct.pack(">i", number)))


def flymq(rng: random.Random) -> Greeting:
    """What is there, who am I, or a position of a group that nobody knows."""
    name = b"nobody-%d" % rng.randrange(1 << 60)
    place = struct.pack(">H", len(name)) + name
    missing = place * 2 + struct.pack(">i", 0)
    opcode, payload = rng.choice([(0x08, b""), (0x72, b""), (0x60, missing)])
    request = struct.pack(">BBBBI", 0xAF, 1, opcode, 1, len(payload)) + payload
    answered = 0xFF if opcode == 0x60 else opcode

    def check(data: bytes) -> bool:
        if not _begins(data, b"\xaf\x01" + bytes([answered]), 8):
            return False
        size = int.from_bytes(data[4:8], "big")
        return _whole(data, 8 + size)

    return Greeting(request, check)


def rustlog_json(rng: random.Random) -> Greeting:
    """A ping behind any blanks that JSON allows, or a topic that nobody made."""
    blanks = "".join(rng.choices(" \n\r", k=rng.randrange(4)))
    name = f"nobody-{rng.randrange(1 << 60)}"
    message, expected = rng.choice(
        [({"type": "Ping"}, "Pong"), ({"type": "DescribeTopic", "topic": name}, name)]
    )
    request = _sized((blanks + json.dumps(message)).encode())

    def check(data: bytes) -> bool:
        if not _framed(data):
            return False
        if expected not in json.dumps(json.loads(data[4:])):
            raise Mistaken(f"{data[4:200]!r} where {expected} was due")
        return True

    return Greeting(request, check)


def rustlog_binary(rng: random.Random) -> Greeting:
    """A ping, the metrics, all topics, or one that nobody made."""
    name = b"nobody-%d" % rng.randrange(1 << 60)
    kind, fields = rng.choice(
        [(0xFF, b""), (0x06, b""), (0x09, b""), (0x07, struct.pack(">H", len(name)) + name)]
    )
    due = b"\xfe\x00\x0d" if kind == 0x07 else bytes([kind])

    def check(data: bytes) -> bool:
        if not _framed(data):
            return False
        if not data[4:].startswith(due) or (kind == 0x07 and name not in data):
            raise Mistaken(f"{data[:80]!r} where {due!r} was due")
        return True

    return Greeting(_sized(bytes([kind]) + fields), check)


def tank(rng: random.Random) -> Greeting:
    """How much there is. The server's ping comes before anything else, once."""
    number = rng.randrange(1 << 32)
    tag = struct.pack("<I", number)

    def check(data: bytes) -> bool:
        if not _begins(data, PING + b"\x0a", 10):
            return False
        (size,) = struct.unpack_from("<I", data, 6)
        if not _whole(data, 10 + size):
            return False
        if data[10:14] != tag:
            raise Mistaken(f"answer {data[10:14].hex()} where {tag.hex()} was due")
        return True

    return Greeting(struct.pack("<BI", 0x0A, 4) + tag, check)


SHARED: dict[str, Maker] = {
    "kafka": kafka,
    "flymq": flymq,
    "rustlog JSON": rustlog_json,
    "rustlog binary": rustlog_binary,
}


def _sized(payload: bytes) -> bytes:
    return struct.pack(">I", len(payload)) + payload


def _numbered(data: bytes, tag: bytes) -> bool:
    if not _framed(data):
        return False
    if data[4:8] != tag:
        raise Mistaken(f"correlation id {data[4:8].hex()} where {tag.hex()} was due")
    return True


def _framed(data: bytes) -> bool:
    return len(data) >= 4 and _whole(data, 4 + int.from_bytes(data[:4], "big"))


def _begins(data: bytes, due: bytes, head_bytes: int) -> bool:
    """What has come agrees with what is due, and so much of it is there."""
    seen = data[: len(due)]
    if seen != due[: len(seen)]:
        raise Mistaken(f"{data[:40]!r} where {due!r} was due")
    return len(data) >= head_bytes


def _whole(data: bytes, size: int) -> bool:
    if len(data) > size:
        raise Mistaken(f"{len(data) - size} bytes behind an answer of {size}")
    return len(data) == size
