"""FlyMQ through the tests' own client, in the document's form and in the programs'."""

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
from tests.support import flymq_client as client
from tests.support.flymq_client import FlyMQClient, Form, Op

# What the programs look for in a text, as theirs is the only word for what went wrong.
MEANINGS = [
    (re.compile("topic not found"), Refusal.UNKNOWN_TOPIC),
    (re.compile(r"partition -?\d+ (not found|out of range)"), Refusal.UNKNOWN_PARTITION),
    (re.compile("EOF|offset out of range"), Refusal.OUT_OF_RANGE),
    (re.compile("too large|bytes; at most"), Refusal.TOO_LARGE),
]
NEXT_OFFSET = re.compile(r"go on at (\d+)")
NEVER = {
    Feature.WAITING: Never("FETCH has no field for it, and SDKs give an answer ten seconds"),
    Feature.REFUSAL_PAST_END: Never("every program reads an empty FETCH as the end"),
}


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except client.Refused as refused:
        meanings = {meaning for words, meaning in MEANINGS if words.search(refused.message)}
        raise Refused(meanings, refused) from refused


class FlyMQ:
    """Either form."""

    def __init__(self, name: str, talk: FlyMQClient) -> None:
        self.name = name
        self._talk = talk

    def create_topic(self, topic: str, partition_count: int = 1) -> None:
        self._talk.create_topic(topic, partition_count)
        if self._talk.form is Form.PROGRAMS:
            assert self._talk.partition_count(topic) == partition_count

    def topics(self) -> list[str]:
        return self._talk.topics()

    def produce(
        self, topic: str, messages: Sequence[Message], *, partition: int = 0, codec: str = "none"
    ) -> list[int]:
        return [
            self._produced(topic, partition, m.key or b"", m.value, compressed=codec == "gzip")
            for m in messages
            if m.value is not None
        ]

    def _produced(self, topic: str, partition: int, key: bytes, value: bytes, *, compressed: bool) -> int:
        with _translated():
            put = self._talk.produce(topic, partition, key, value, compressed=compressed)
        assert (put.topic, put.partition, put.value_size) == (topic, partition, len(value))
        assert put.key_size == (len(key) or -1)
        return put.offset

    def produce_pipelined(self, topic: str, values: Sequence[bytes]) -> None:
        put = self._talk.produce_pipelined(topic, 0, [(b"", v) for v in values])
        assert [m.offset - put[0].offset for m in put] == list(range(len(values)))

    def read(self, topic: str, offset: int = 0, *, partition: int = 0) -> list[Read]:
        found: list[Read] = []
        while True:
            try:
                with _translated():
                    fetched = self._talk.fetch(topic, partition, offset)
            except Refused as refused:
                offset = _next_offset(refused)
                continue
            if not fetched.messages and fetched.next_offset == offset:
                return found
            assert fetched.next_offset > offset
            found += [Read(Message(m.value, m.key or None), m.offset) for m in fetched.messages]
            offset = fetched.next_offset

    def wait(self, topic: str, offset: int) -> list[Read]:
        raise NotImplementedError(NEVER[Feature.WAITING].because)

    def commit(self, group: str, topic: str, offset: int) -> None:
        with _translated():
            self._talk.commit(topic, group, 0, offset)

    def position(self, group: str, topic: str) -> int | None:
        try:
            return self._talk.committed(topic, group, 0)
        except client.Refused as refused:
            if "consumer group not found" in refused.message:
                return None
            raise

    def prove_never(self, feature: Feature) -> None:
        topic = f"never-{self.name}-{feature.name.lower()}"
        self.create_topic(topic)
        for offset in (0, 7):
            fetched = self._talk.fetch(topic, 0, offset)
            assert (fetched.messages, fetched.next_offset) == ((), offset)

    def close(self) -> None:
        self._talk.close()


def _next_offset(refused: Refused) -> int:
    """Where a refusal of a record that no frame holds says that reading goes on."""
    named = NEXT_OFFSET.search(str(refused))
    if named is None:
        raise refused
    return int(named[1])


def _open_programs(addresses: Addresses) -> FlyMQ:
    return FlyMQ("flymq", FlyMQClient.connect(addresses["shared"]))


def _open_document(addresses: Addresses) -> FlyMQ:
    return FlyMQ("flymq-document", FlyMQClient.connect(addresses["shared"], Form.DOCUMENT))


EXPRESSION = Expression(empty_keys=False, null_values=False, headers=False)
HOSTILITY = Hostility(
    listener="flymq",
    request=client.frame(Op.LIST_TOPICS),
    oversize=bytes.fromhex("af010101") + (client.PAYLOAD_BYTES_MAX + 1).to_bytes(4, "big"),
    unknown=bytes.fromhex("af01ee0100000000"),
)
PROGRAMS = Kind(
    "flymq",
    "flymq",
    _open_programs,
    EXPRESSION,
    HOSTILITY,
    codecs=("none", "gzip"),
    never=NEVER,
    answer_bytes_max=client.PAYLOAD_BYTES_MAX - 1024,
)
DOCUMENT = Kind(
    "flymq-document",
    "flymq",
    _open_document,
    EXPRESSION,
    HOSTILITY,
    never=NEVER,
    answer_bytes_max=client.PAYLOAD_BYTES_MAX - 1024,
)
