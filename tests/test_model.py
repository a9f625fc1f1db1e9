import pytest
from hypothesis import given
from hypothesis import strategies as st

from onelog.errors import InvalidName
from onelog.model import topic_name


@given(st.text("abcXYZ019._-", min_size=1, max_size=249).filter(lambda t: t not in (".", "..")))
def test_a_name_of_the_alphabet_is_a_topics_name(text: str) -> None:
    assert topic_name(text) == text


@pytest.mark.parametrize("text", ["", ".", "..", "a" * 250, "a b", "ä", "a/b", "a\n", "a:b"])
def test_any_other_name_is_refused(text: str) -> None:
    with pytest.raises(InvalidName):
        topic_name(text)
