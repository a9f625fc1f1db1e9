import pickle
from pathlib import Path

import pytest

from onelog.errors import OnelogError

KINDS = OnelogError.__subclasses__()
GOLDEN = Path(__file__).parent / "golden" / "refusals.txt"


def _sample(kind: type[OnelogError]) -> OnelogError:
    samples = {"int": 7, "int | None": 7, "str": "orders"}
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
