"""What a dialect cannot say of a record is left out and counted, by dialect and reason, in every one of them."""

import re
from collections import Counter
from urllib.request import urlopen

from onelog.protocols.contract import Capabilities
from onelog.protocols.registry import ENDPOINTS
from tests.conformance.driver import Addresses, Driver, Kind, Message, Opened
from tests.conformance.drivers import confluent

SAID = [
    Message(b"plain"),
    Message(b"v", b"k"),
    Message(b"v", b""),
    Message(b"v", b"k" * 300),
    Message(None, b"k"),
    Message(b"v", None, (("h", b"1"),)),
]


def lost(can: Capabilities) -> Counter[str]:
    """By what the dialect says of itself."""
    found: Counter[str] = Counter()
    for message in SAID:
        key = message.key
        found["key"] += key is not None and not can.keys
        found["empty_key"] += key == b"" and "empty_key" in can.losses
        found["long_key"] += len(key or b"") > (can.key_bytes_max or 1 << 31) and "long_key" in can.losses
        found["null_value"] += message.value is None and not can.null_values
        found["headers"] += bool(message.headers) and not can.headers
    assert {reason for reason, count in found.items() if count} == set(can.losses)
    return found


def counted(addresses: Addresses, dialect: str) -> Counter[str]:
    """By the broker's own metric."""
    with urlopen(f"http://{addresses['console']}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    pattern = rf'^onelog_losses_total{{dialect="{dialect}",reason="(\w+)"}} (\d+)$'
    return Counter({reason: int(count) for reason, count in re.findall(pattern, text, re.MULTILINE)})


def test_what_is_left_out_is_counted_by_dialect_and_reason(
    kind: Kind, driver: Driver, opened: Opened, addresses: Addresses, topic: str
) -> None:
    [can] = {
        endpoint.name: endpoint.capabilities for endpoint in ENDPOINTS if endpoint.name == kind.dialect
    }.values()
    kafka = opened(confluent.KIND)
    kafka.create_topic(topic)
    kafka.produce(topic, SAID)
    before = counted(addresses, kind.dialect)
    assert len(driver.read(topic)) == len(SAID)
    assert counted(addresses, kind.dialect) - before == +lost(can)
