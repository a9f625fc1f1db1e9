"""Our declarations against the facts of Kafka's published message files."""

import tracemalloc
from random import Random
from typing import Any

import pytest

from onelog.binary.errors import BinaryError
from onelog.binary.message import codec
from onelog.protocols.kafka.messages.header import RequestHeader, ResponseHeader
from onelog.protocols.kafka.versions import ALTER_CONFIGS, APIS
from tests.support.kafka_facts import UNSTATED, Fact, declared, table
from tests.support.random_values import Values

TABLE = table()
CLASSES: list[type[Any]] = [cls for api in APIS.values() for cls in (api.request, api.response)]


def comparable(ours: Fact, theirs: Fact) -> Fact:
    """Ours, without a default where theirs states none and null is as good as empty.

    Where theirs is an empty struct or none at all, ours is None: an absent tag costs nothing.
    """
    if theirs.default != UNSTATED:
        return ours
    empty = ("null", "0", "", "b''", "[]", "false", "00000000-0000-0000-0000-000000000000")
    assert ours.default in empty, ours
    assert ours.default != "null" or ours.null_since is not None or ours.type == "struct", ours
    return ours._replace(default=UNSTATED)


@pytest.mark.parametrize("cls", [*CLASSES, RequestHeader, ResponseHeader], ids=lambda cls: cls.__name__)
def test_a_message_is_declared_as_kafka_publishes_it(cls: type[Any]) -> None:
    theirs = TABLE[cls.__name__]
    ours = declared(cls, theirs.versions)
    assert [fact.path for fact in ours.fields] == [fact.path for fact in theirs.fields]
    assert [comparable(*pair) for pair in zip(ours.fields, theirs.fields, strict=True)] == list(theirs.fields)
    assert ours.flexible == theirs.flexible


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_a_request_is_served_in_the_versions_that_are_published(api: Any) -> None:
    for cls in (api.request, api.response):
        first, last = TABLE[cls.__name__].versions
        # sarama cannot write the last one of these.
        last = 1 if api.key == ALTER_CONFIGS else last
        assert (first, last) == (api.version_min, api.version_max)


def test_the_table_holds_what_is_declared_and_nothing_else() -> None:
    assert set(TABLE) == {cls.__name__ for cls in CLASSES} | {"RequestHeader", "ResponseHeader"}


HOSTILE = [
    bytes.fromhex(lie) * repeated
    for lie in (
        "7fffffff",
        "80000000",
        "ffffffff",
        "ffffffff0f",
        "ffffffff07",
        "feffffff0f",
        "00",
        "01",
        "8080808080",
    )
    for repeated in (1, 20)
]


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_a_lying_body_of_any_version_is_cheap_to_refuse(api: Any) -> None:
    decodes = [
        codec(cls, version).decode
        for version in range(api.version_min, api.version_max + 1)
        for cls in (api.request, api.response)
    ]
    tracemalloc.start()
    try:
        for decode in decodes:
            for lie in HOSTILE:
                # A few bytes may go before the lie, so that it meets another field.
                for skipped in range(0, 24, 3):
                    try:
                        decode(bytes(skipped) + lie)
                    except BinaryError:
                        continue
        assert tracemalloc.get_traced_memory()[1] < 500_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_a_body_of_any_version_is_refused_when_it_is_cut(api: Any) -> None:
    for version in range(api.version_min, api.version_max + 1):
        values = Values(
            f"{api.name} {version}", version=version, is_flexible=api.is_flexible(version), error_codes=[0]
        )
        for cls in (api.request, api.response):
            whole = codec(cls, version).encode_bytes(values.message(cls))
            for end in Random(version).sample(range(len(whole)), min(len(whole), 40)):
                with pytest.raises(BinaryError, match=rf"^{cls.__name__}"):
                    codec(cls, version).decode(memoryview(whole)[:end])


def test_what_follows_a_body_is_left_alone() -> None:
    # librdkafka sends a byte too many with one request.
    for api in APIS.values():
        whole = codec(api.request, api.version_max).encode_bytes(api.request())
        assert codec(api.request, api.version_max).decode(whole + b"!") == (api.request(), len(whole))
