"""RustLog through the tests' own clients: its document's JSON, and its published programs' binary form."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

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
from tests.support import rustlog_client as client

EXPRESSION = Expression(keys=False, null_values=False, headers=False)
NEVER = {
    Feature.WAITING: Never("Fetch has no field for it, and a connection is served one request at a time"),
    Feature.REFUSAL_PAST_END: Never("document and program answer an empty fetch there"),
    Feature.TOPIC_BY_PRODUCING: Never("document and program refuse to write to an unknown topic"),
}
MEANINGS = {
    404: {Refusal.UNKNOWN_TOPIC},
    405: {Refusal.UNKNOWN_PARTITION},
    413: {Refusal.TOO_LARGE},
    416: {Refusal.OUT_OF_RANGE},
    # The binary form's words: one for topic and partition, one for a request that cannot be had.
    10: {Refusal.UNKNOWN_TOPIC, Refusal.UNKNOWN_PARTITION},
    2: {Refusal.TOO_LARGE},
    4: {Refusal.OUT_OF_RANGE, Refusal.TOO_LARGE},
}
RECORDS_MAX = 1000


# The binary form has no details, so its text says it.
NEXT_OFFSET = re.compile(r"go on at (\d+)")


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except client.Refused as refused:
        raise Refused(MEANINGS.get(refused.code, set()), refused) from refused


class RustLog:
    """Either form."""

    def __init__(self, name: str, talk: client.JsonClient | client.BinaryClient) -> None:
        self.name = name
        self._talk = talk

    def create_topic(self, topic: str, partition_count: int = 1) -> None:
        self._talk.create_topic(topic, partition_count)

    def topics(self) -> list[str]:
        return list(self._talk.topics())

    def produce(
        self, topic: str, messages: Sequence[Message], *, partition: int = 0, codec: str = "none"
    ) -> list[int]:
        assert codec == "none"
        values = [m.value for m in messages if m.value is not None]
        assert len(values) == len(messages)
        with _translated():
            base, count = self._talk.produce(topic, partition, values)
        assert count == len(values)
        return list(range(base, base + count))

    def produce_pipelined(self, topic: str, values: Sequence[bytes]) -> None:
        answers = self._talk.produce_pipelined(topic, 0, [[v] for v in values])
        first, _ = answers[0]
        assert answers == [(first + i, 1) for i in range(len(values))]

    def read(self, topic: str, offset: int = 0, *, partition: int = 0) -> list[Read]:
        found: list[Read] = []
        while True:
            try:
                with _translated():
                    fetched = self._talk.fetch(topic, partition, offset)
            except Refused as refused:
                offset = _next_offset(refused)
                continue
            if not fetched.records and fetched.next_offset == offset:
                return found
            assert fetched.next_offset > offset
            found += [Read(Message(r.payload), r.offset) for r in fetched.records]
            offset = fetched.next_offset

    def wait(self, topic: str, offset: int) -> list[Read]:
        raise NotImplementedError(NEVER[Feature.WAITING].because)

    def commit(self, group: str, topic: str, offset: int) -> None:
        with _translated():
            assert self._talk.commit(group, topic, 0, offset)

    def position(self, group: str, topic: str) -> int | None:
        with _translated():
            return self._talk.committed(group, topic, 0)

    def prove_never(self, feature: Feature) -> None:
        topic = f"never-{self.name}-{feature.name.lower()}".replace("_", "-")
        if feature is Feature.TOPIC_BY_PRODUCING:
            try:
                self._talk.produce(topic, 0, [b"x"])
            except client.Refused:
                assert topic not in self.topics()
                return
            raise AssertionError("a topic was made by writing to it")
        self.create_topic(topic)
        for offset in (0, 7):
            fetched = self._talk.fetch(topic, 0, offset)
            assert (fetched.records, fetched.next_offset) == ((), offset)

    def close(self) -> None:
        self._talk.close()


def _next_offset(refused: Refused) -> int:
    """Where a refusal of a record that no frame holds says that reading goes on."""
    said = refused.__cause__
    assert isinstance(said, client.Refused)
    if isinstance(said.details, dict) and "next_offset" in said.details:
        return int(said.details["next_offset"])
    named = NEXT_OFFSET.search(said.message)
    if named is None:
        raise refused
    return int(named[1])


def _open_json(addresses: Addresses) -> RustLog:
    return RustLog("rustlog-json", client.JsonClient.connect(addresses["shared"]))


def _open_binary(addresses: Addresses) -> RustLog:
    return RustLog("rustlog-binary", client.BinaryClient.connect(addresses["shared"]))


JSON = Kind(
    "rustlog-json",
    "rustlog",
    _open_json,
    EXPRESSION,
    Hostility(
        listener="rustlog",
        request=client.frame(b'{"type":"ListTopics"}'),
        oversize=(client.FRAME_BYTES_MAX + 1).to_bytes(4, "big"),
        unknown=client.frame(json.dumps({"type": "Nonsense"}).encode()),
    ),
    never=NEVER,
    answer_bytes_max=client.FRAME_BYTES_MAX * 3 // 4 - 1024,
)
BINARY = Kind(
    "rustlog-binary",
    "rustlog",
    _open_binary,
    EXPRESSION,
    Hostility(
        listener="rustlog",
        request=client.frame(b"\x06"),
        oversize=b"\xff\xff\xff\xff",
        unknown=client.frame(b"cab"),
    ),
    never=NEVER,
    answer_bytes_max=client.FRAME_BYTES_MAX - 1024,
)
