import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onelog.spark.offsets import (
    EARLIEST,
    LATEST,
    OffsetsError,
    Place,
    from_dict,
    parse,
    parse_assignment,
    to_dict,
)

PLACES = st.builds(Place, st.sampled_from(["a", "b", "c.d"]), st.integers(0, 20))
OFFSETS = st.dictionaries(PLACES, st.integers(0, 2**62))


@given(OFFSETS)
def test_offsets_survive_the_checkpoint(offsets: dict[Place, int]) -> None:
    assert from_dict(json.loads(json.dumps(to_dict(offsets)))) == offsets


@given(OFFSETS, st.randoms())
def test_equal_offsets_have_equal_text(offsets: dict[Place, int], random: object) -> None:
    shuffled = dict(reversed(list(offsets.items())))
    assert json.dumps(to_dict(shuffled)) == json.dumps(to_dict(offsets))


def test_partitions_are_in_the_order_of_their_numbers() -> None:
    assert list(to_dict({Place("t", 10): 1, Place("t", 2): 1})["t"]) == ["2", "10"]


def test_a_person_may_name_the_ends_of_the_log() -> None:
    found = parse('{"t": {"0": 23, "1": -2}}', what="startingOffsets", allowed=(EARLIEST, LATEST))
    assert found == {Place("t", 0): 23, Place("t", 1): EARLIEST}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("nonsense", "is not JSON"),
        ("[]", "expected an object"),
        ("{}", "expected an object"),
        ('{"t": 5}', "expected {"),
        ('{"t": {"x": 5}}', "expected a whole number"),
        ('{"t": {"0": "5"}}', "expected a whole number"),
        ('{"t": {"0": true}}', "expected a whole number"),
        ('{"t": {"0": -2}}', "one of [-1]"),
    ],
)
def test_offsets_that_cannot_be_are_refused_with_what_was_found(text: str, complaint: str) -> None:
    with pytest.raises(OffsetsError) as refusal:
        parse(text, what="endingOffsets", allowed=(LATEST,))
    assert complaint in str(refusal.value)
    assert "endingOffsets" in str(refusal.value)


def test_an_assignment_names_partitions_once_and_in_order() -> None:
    found = parse_assignment('{"b": [1, 0, 1], "a": [2]}', what="assign")
    assert found == [Place("a", 2), Place("b", 0), Place("b", 1)]


@pytest.mark.parametrize("text", ['{"t": 1}', '{"t": ["0"]}', '{"t": [-1]}', '{"t": [true]}'])
def test_an_assignment_that_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(OffsetsError):
        parse_assignment(text, what="assign")
