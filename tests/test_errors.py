import pickle
from pathlib import Path

import pytest

from onelog.errors import InvalidConfig, OnelogError, TopicExists, UnknownPartition, counted

KINDS = OnelogError.__subclasses__()
GOLDEN = Path(__file__).parent / "golden" / "refusals.txt"


def _sample(kind: type[OnelogError]) -> OnelogError:
    samples = {"int": 7, "int | None": 7, "str": "orders", "str | None": "orders"}
    return kind(
        **{name: samples[str(t)] if str(t) in samples else samples[t.__name__] for name, t in _facts(kind)}
    )


def _facts(kind: type[OnelogError]) -> list[tuple[str, type]]:
    return [(n, t) for n, t in kind.__annotations__.items() if n not in ("code", "retriable", "template")]


def test_the_wording_of_every_refusal_is_reviewed() -> None:
    """A change of words is seen in the diff of the golden file."""
    text = "".join(f"{kind.code.value}: {_sample(kind)}\n" for kind in KINDS)
    assert text == GOLDEN.read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
def test_a_refusal_survives_the_way_to_another_process(kind: type[OnelogError]) -> None:
    error = _sample(kind)
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is kind
    assert back.facts() == error.facts()
    assert str(back) == str(error)


def test_one_is_counted_without_an_s() -> None:
    assert [counted(n, "partition") for n in (0, 1, 2)] == ["0 partitions", "1 partition", "2 partitions"]
    assert str(TopicExists("a", 1)) == "topic 'a' exists already, with 1 partition."
    assert str(UnknownPartition("a", 1, 1)) == "a/1: the topic has 1 partition, counted from 0."


def test_a_setting_that_was_to_be_taken_away_is_shown_without_a_value() -> None:
    assert str(InvalidConfig("nope", None, "a name")) == "setting nope: expected a name."
    assert str(InvalidConfig("nope", "", "a name")) == "setting nope = '': expected a name."
