import pytest

from onelog.client.flymq.errors import FlyMQError


def test_an_error_is_its_text() -> None:
    error = FlyMQError("topic not found: a.")
    assert (str(error), error.text) == ("topic not found: a.", "topic not found: a.")
    assert not error.retriable


@pytest.mark.parametrize("text", ["not leader: no leader elected", "Not Leader"])
def test_a_cluster_without_a_leader_may_have_one_later(text: str) -> None:
    assert FlyMQError(text).retriable


def test_what_is_looked_for_is_found_in_the_text() -> None:
    assert FlyMQError("consumer group not found: t:g").is_unknown_group
    assert FlyMQError("unknown opcode: 4").is_unknown_opcode
    assert not FlyMQError("EOF").is_unknown_opcode


@pytest.mark.parametrize(
    ("text", "is_unknown"),
    [
        ("topic not found: a", True),
        ("partition 7 not found", True),
        ("partition 7 out of range", True),
        ("offset out of range: 7", False),
        ("consumer group not found: t:g", False),
    ],
)
def test_a_topic_or_partition_that_is_not_there_is_told_by_the_text(text: str, is_unknown: bool) -> None:
    assert FlyMQError(text).is_unknown_place == is_unknown
