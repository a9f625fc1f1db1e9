"""Our declarations against the facts of Kafka's published message files."""

from typing import Any

import pytest

from onelog.protocols.kafka.messages.header import RequestHeader, ResponseHeader
from onelog.protocols.kafka.versions import APIS
from tests.support.kafka_facts import UNSTATED, Fact, declared, table

TABLE = table()
CLASSES: list[type[Any]] = [cls for api in APIS.values() for cls in (api.request, api.response)]


def comparable(ours: Fact, theirs: Fact) -> Fact:
    """Ours, without a default where theirs states none and null is as good as empty.

    Where theirs is an empty struct or none at all, ours is None: an absent tag costs nothing.
    """
    if theirs.default != UNSTATED:
        return ours
    assert ours.default in ("null", "0", "", "[]", "false", "00000000-0000-0000-0000-000000000000"), ours
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
        assert TABLE[cls.__name__].versions == (api.version_min, api.version_max)


def test_the_table_holds_what_is_declared_and_nothing_else() -> None:
    assert set(TABLE) == {cls.__name__ for cls in CLASSES} | {"RequestHeader", "ResponseHeader"}
