"""TANK through the tests' own client. Numbers are offsets + 1."""

from collections.abc import Sequence

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
from tests.support import tank_bundles, tank_client
from tests.support.blocking_wire import Wire
from tests.support.tank_client import TankClient

GIVEN_MS = 1_700_000_000_000
WAIT_MS = 15_000
MESSAGES_OF_A_BUNDLE = 200
WRITING = {
    tank_client.UNKNOWN_TOPIC: {Refusal.UNKNOWN_TOPIC},
    tank_client.UNKNOWN_PARTITION: {Refusal.UNKNOWN_PARTITION},
    # The two words that are left for everything else: a system error, an invalid request.
    2: {Refusal.TOO_LARGE},
    tank_client.NUMBER_REFUSED: {Refusal.TOO_LARGE},
}
READING = {
    tank_client.NO_SUCH_TOPIC: {Refusal.UNKNOWN_TOPIC},
    tank_client.NO_SUCH_PARTITION: {Refusal.UNKNOWN_PARTITION},
    tank_client.BOUNDARY: {Refusal.OUT_OF_RANGE},
}


class Tank:
    """One connection."""

    name = "tank"

    def __init__(self, addresses: Addresses) -> None:
        self._address = addresses["tank"]
        self._talk = TankClient.connect(self._address)

    def create_topic(self, topic: str, partition_count: int = 1) -> None:
        assert self._talk.create_topic(topic, partition_count) == tank_client.OK

    def topics(self) -> list[str]:
        return list(self._talk.topics())

    def produce(
        self, topic: str, messages: Sequence[Message], *, partition: int = 0, codec: str = "none"
    ) -> None:
        for at in range(0, len(messages), MESSAGES_OF_A_BUNDLE):
            packed = [_packed(m) for m in messages[at : at + MESSAGES_OF_A_BUNDLE]]
            code = self._talk.produce(topic, partition, packed, snappy=codec == "snappy")
            if code != tank_client.OK:
                raise Refused(WRITING[code], f"code {code:02x}")

    def produce_pipelined(self, topic: str, values: Sequence[bytes]) -> None:
        bundles = [tank_bundles.pack([_packed(Message(v))]) for v in values]
        sent = [self._talk.send_produce([tank_client.Entry(topic, 0, b)]) for b in bundles]
        for request in sent:
            assert self._talk.answer(request) == [tank_client.OK]

    def produce_numbered(self, topic: str, numbers: Sequence[tuple[int, str]]) -> None:
        """Contents that stand at these offsets, with holes between them."""
        messages = [tank_bundles.Message(c.encode(), None, GIVEN_MS, at + 1) for at, c in numbers]
        bundle = tank_bundles.pack(messages, sparse=True)
        assert self._talk.produce_bundle(topic, 0, bundle, base=messages[0].number) == tank_client.OK

    def read(self, topic: str, offset: int = 0, *, partition: int = 0) -> list[Read]:
        found: list[Read] = []
        while some := self._fetched(topic, partition, offset):
            found += some
            offset = _offset(some[-1]) + 1
        return found

    def wait(self, topic: str, offset: int) -> list[Read]:
        return self._fetched(topic, 0, offset, wait_ms=WAIT_MS)

    def _fetched(self, topic: str, partition: int, offset: int, *, wait_ms: int = 0) -> list[Read]:
        number = offset + 1
        found = self._talk.fetch(topic, partition, number, wait_ms=wait_ms)
        if found.code == tank_client.BOUNDARY and number < found.first_available:
            # As tank-cli goes on where the log begins.
            found = self._talk.fetch(topic, partition, found.first_available, wait_ms=wait_ms)
        if found.code != tank_client.OK:
            raise Refused(READING[found.code], f"code {found.code:02x}")
        # A chunk begins with the bundle that holds the number asked for.
        return [Read(Message(m.content, m.key), m.number - 1) for m in found.messages if m.number >= number]

    def commit(self, group: str, topic: str, offset: int) -> None:
        raise NotImplementedError(NEVER[Feature.POSITIONS].because)

    def position(self, group: str, topic: str) -> int | None:
        raise NotImplementedError(NEVER[Feature.POSITIONS].because)

    def prove_never(self, feature: Feature) -> None:
        if feature in (Feature.POSITIONS, Feature.POSITION_ANYWHERE):
            for number in range(0x0D, 0x20):
                wire = Wire.connect(self._address)
                wire.send(bytes([number]) + bytes(4))
                assert wire.rest() == tank_client.PING, f"id {number:02x} was answered"
                wire.close()
            return
        assert feature is Feature.TOPIC_BY_PRODUCING
        code = self._talk.produce("never-tank-made", 0, [_packed(Message(b"x"))])
        assert code == tank_client.UNKNOWN_TOPIC
        assert "never-tank-made" not in self.topics()

    def close(self) -> None:
        self._talk.close()


def _packed(message: Message) -> tank_bundles.Message:
    assert message.value is not None
    return tank_bundles.Message(message.value, message.key, GIVEN_MS)


def _offset(read: Read) -> int:
    assert read.offset is not None
    return read.offset


NEVER = {
    Feature.POSITIONS: Never("TANK has no message for them, its clients keep their own"),
    Feature.POSITION_ANYWHERE: Never("it has no positions at all"),
    Feature.TOPIC_BY_PRODUCING: Never("TANK answers that the topic is unknown, and its clients rely on it"),
}
KIND = Kind(
    "tank",
    "tank",
    Tank,
    Expression(key_bytes_max=255, null_values=False, headers=False),
    Hostility(
        listener="tank",
        request=bytes.fromhex("0b050000000100000000"),
        oversize=b"\x02" + ((256 << 20) + 1).to_bytes(4, "little"),
        unknown=b"\x63" + bytes(4),
        greeting=tank_client.PING,
    ),
    codecs=("none", "snappy"),
    never=NEVER,
)
