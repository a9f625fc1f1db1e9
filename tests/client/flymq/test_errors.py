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
