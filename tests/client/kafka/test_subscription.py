import importlib
import io
from typing import Any

import pytest
from kio.serial import entity_reader, entity_writer

from onelog.client.errors import BadAnswer
from onelog.client.kafka.subscription import (
    Subscription,
    assignment_bytes,
    assignment_of,
    subscription_bytes,
    subscription_of,
)

WANTED = Subscription(frozenset({"a", "b"}), frozenset({("a", 0), ("a", 2), ("b", 1)}), 7)


def theirs(name: str, version: int) -> Any:
    """kio's class, which is our oracle here as well."""
    module = importlib.import_module(f"kio.schema.consumer_protocol_{name.lower()}.v{version}.data")
    return getattr(module, f"ConsumerProtocol{name}")


def test_another_client_reads_what_is_wanted_and_held() -> None:
    data = subscription_bytes(WANTED)
    assert data[:2] == b"\0\2"
    found, size = entity_reader(theirs("Subscription", 2))(data[2:], 0)
    assert size == len(data) - 2
    assert found.topics == ("a", "b")
    assert [(each.topic, each.partitions) for each in found.owned_partitions] == [("a", (0, 2)), ("b", (1,))]
    assert found.generation_id == 7


@pytest.mark.parametrize("version", range(4))
def test_what_another_client_wants_is_read_in_every_version(version: int) -> None:
    cls = theirs("Subscription", version)
    said: dict[str, Any] = {"topics": ("a", "b"), "user_data": b"sticky"}
    if version >= 1:
        part = importlib.import_module(cls.__module__).TopicPartition
        said["owned_partitions"] = (part(topic="a", partitions=(0, 2)), part(topic="b", partitions=(1,)))
    if version >= 2:
        said["generation_id"] = 7
    if version >= 3:
        said["rack_id"] = None
    out = io.BytesIO()
    entity_writer(cls)(out, cls(**said))
    found = subscription_of(version.to_bytes(2, "big") + out.getvalue(), where="g")
    owned = WANTED.owned if version >= 1 else frozenset()
    assert found == Subscription(WANTED.topics, owned, 7 if version >= 2 else -1)


def test_a_version_that_is_newer_only_has_more_behind_it() -> None:
    data = b"\0\x09" + subscription_bytes(WANTED)[2:] + b"\xff\xff" + b"and more"
    assert subscription_of(data, where="g") == WANTED


def test_what_is_given_is_read_by_us_and_by_others() -> None:
    data = assignment_bytes(WANTED.owned)
    assert assignment_of(data, where="g") == WANTED.owned
    found, _ = entity_reader(theirs("Assignment", 0))(data[2:], 0)
    assert [(each.topic, each.partitions) for each in found.assigned_partitions] == [
        ("a", (0, 2)),
        ("b", (1,)),
    ]


def test_who_gets_no_bytes_is_given_nothing() -> None:
    assert assignment_of(b"", where="g") == frozenset()
    assert assignment_of(assignment_bytes([]), where="g") == frozenset()


@pytest.mark.parametrize("data", [b"\0", b"\0\0\0\0", b"\0\0\x7f\xff\xff\xff", b"\0\1\0\0\0\1\0\5ab"])
def test_what_cannot_be_read_names_whose_it_was(data: bytes) -> None:
    with pytest.raises(BadAnswer, match="member x: a subscription"):
        subscription_of(data, where="member x")
    with pytest.raises(BadAnswer, match="member x: an assignment"):
        assignment_of(data, where="member x")
