"""Fluvio through its own wheel. Its names are lower case, digits and hyphens, which binds every topic of the suite."""

import base64
import json
import os
import re
import select
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from tests.conformance.driver import (
    Addresses,
    Expression,
    Feature,
    Hostility,
    Kind,
    Message,
    Never,
    Read,
    Refusal,
    Refused,
)
from tests.support.source_tree import ROOT

TIMEOUT_S = 12.0
# The wheel tells what went wrong in words.
MEANINGS = [
    # Of a topic that it doesn't know the wheel misses the partition.
    (re.compile("(topic|partition) not found", re.IGNORECASE), Refusal.UNKNOWN_TOPIC),
    (re.compile("partition not found", re.IGNORECASE), Refusal.UNKNOWN_PARTITION),
    (re.compile("too ?large|too ?big", re.IGNORECASE), Refusal.TOO_LARGE),
]
NEVER = {
    Feature.END_BEHIND_HOLES: Never(
        "the wheel ends after as many records as there are numbers up to the end"
    ),
    Feature.REFUSAL_PAST_END: Never("the wheel asks for the end first, and begins there at the latest"),
    Feature.TOPIC_BY_PRODUCING: Never("the controller alone makes topics, and the wheel asks it first"),
    Feature.POSITION_ANYWHERE: Never(
        "the wheel commits what it was given, nothing before and nothing beyond"
    ),
}


class Fluvio:
    """The wheel in a process of its own."""

    name = "fluvio"

    def __init__(self, addresses: Addresses) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.conformance.drivers.fluvio_worker", addresses["fluvio-sc"]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            # How long it looks for what nobody knows, and waits for an answer.
            env={**os.environ, "FLV_METADATA_TIMEOUT": "1000", "FLV_SOCKET_WAIT": "20"},
        )
        assert self._answer() == {"ready": True}

    def _ask(self, name: str, *arguments: Any) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([name, arguments]) + "\n")
        self._process.stdin.flush()
        answer = self._answer()
        if "refused" in answer:
            said = answer["refused"]
            raise Refused({meaning for words, meaning in MEANINGS if words.search(said)}, said)
        return answer["result"]

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], TIMEOUT_S)
        assert ready, f"the wheel was silent for {TIMEOUT_S} s"
        line = self._process.stdout.readline()
        assert line, "the wheel's process ended"
        found: dict[str, Any] = json.loads(line)
        return found

    def create_topic(self, topic: str, partition_count: int = 1) -> None:
        self._ask("create_topic", topic, partition_count)

    def topics(self) -> list[str]:
        found: list[str] = self._ask("topics")
        return found

    def produce(
        self, topic: str, messages: Sequence[Message], *, partition: int = 0, codec: str = "none"
    ) -> list[int]:
        records = [(_text(m.key or b""), _text(m.value or b"")) for m in messages]
        offsets: list[int] = self._ask("produce", topic, partition, codec, records)
        return offsets

    def produce_pipelined(self, topic: str, values: Sequence[bytes]) -> None:
        self._ask("produce_one_by_one", topic, [_text(v) for v in values])

    def read(self, topic: str, offset: int = 0, *, partition: int = 0) -> list[Read]:
        return [_read(*shown) for shown in self._ask("read", topic, partition, offset)]

    def wait(self, topic: str, offset: int) -> list[Read]:
        return [_read(*shown) for shown in self._ask("wait", topic, offset)]

    def commit(self, group: str, topic: str, offset: int) -> None:
        self._ask("commit", group, topic, offset)

    def position(self, group: str, topic: str) -> int | None:
        found: int | None = self._ask("position", group, topic)
        return found

    def prove_never(self, feature: Feature) -> None:
        topic = f"never-fluvio-{feature.name.lower()}".replace("_", "-")
        if feature is Feature.TOPIC_BY_PRODUCING:
            try:
                self.produce(topic, [Message(b"v")])
            except Refused:
                assert topic not in self.topics()
                return
            raise AssertionError("a topic was made by writing to it")
        self.create_topic(topic)
        self.produce(topic, [Message(b"a"), Message(b"b")])
        if feature is Feature.END_BEHIND_HOLES:
            # It counts what it was given, and asks for nothing that would tell it more.
            assert [r.offset for at in (0, 1) for r in self.wait(topic, at)] == [0, 1]
            return
        if feature is Feature.REFUSAL_PAST_END:
            assert self.read(topic, 100) == []
            return
        assert feature is Feature.POSITION_ANYWHERE
        self.commit("g", topic, 2)
        assert self.position("g", topic) == 2

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.kill()
        self._process.wait(TIMEOUT_S)
        self._process.stdin.close()
        self._process.stdout.close()


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _read(offset: int, key: str | None, value: str) -> Read:
    return Read(Message(base64.b64decode(value), None if key is None else base64.b64decode(key)), offset)


# ApiVersions as the wheel asks for it: version 2, correlation 1, its name, its version and its platform.
API_VERSIONS = bytes.fromhex(
    "0012 0002 00000001 0006 666c7576696f 0006 302e31352e32 0005 6c696e7578 0006 7838365f3634"
)
KIND = Kind(
    "fluvio",
    "fluvio",
    Fluvio,
    Expression(null_values=False, headers=False, null_keys=False),
    Hostility(
        listener="fluvio-spu",
        request=len(API_VERSIONS).to_bytes(4, "big") + API_VERSIONS,
        oversize=b"\x7f\xff\xff\xff" + API_VERSIONS,
        unknown=bytes.fromhex("0000000a 7fff 0000 00000001 0000"),
    ),
    codecs=("none", "gzip", "snappy", "lz4", "zstd"),
    never=NEVER,
    repeats_itself=True,
)
