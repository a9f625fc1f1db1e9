import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onelog.errors import InvalidName
from onelog.model import topic_name
from onelog.protocols.flymq.names import is_hidden, shown, spelled


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("orders", "orders"),
        ("a.b-c_D9", "a.b-c_D9"),
        ("orders/eu", "orders.-2Feu"),
        ("caf\u00e9", "caf.-C3.-A9"),
        (".-", ".-2E-"),
        ("a.-b", "a.-2E-b"),
        ("..-", "..-2E-"),
        (".", ".-2E"),
        ("..", ".-2E.-2E"),
        ("...", "..."),
        ("a b\0", "a.-20b.-00"),
        ("%2F", ".-252F"),
    ],
)
def test_a_name_is_spelled_in_the_products_alphabet_and_read_back(name: str, stored: str) -> None:
    assert spelled(name) == stored
    assert shown(stored) == name
    assert topic_name(stored) == stored


@pytest.mark.parametrize("stored", ["a.-", "a.-zz", "a.-2f", "a.-41", "a.-C3", "a.-2E-2F.-"])
def test_a_stored_name_that_is_no_spelling_is_shown_as_it_is(stored: str) -> None:
    assert shown(stored) == stored


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20))
def test_every_name_comes_back(name: str) -> None:
    stored = spelled(name)
    assert re.fullmatch(r"[a-zA-Z0-9._-]+", stored)
    assert stored not in (".", "..")
    assert shown(stored) == name


@given(st.text("abZ0._-2EF", min_size=1, max_size=12))
def test_what_is_shown_of_a_spelling_is_spelled_so_again(stored: str) -> None:
    assert shown(stored) == stored or spelled(shown(stored)) == stored


def test_what_the_product_cannot_store_is_refused_there() -> None:
    for name in ("", "/" * 63):
        with pytest.raises(InvalidName):
            topic_name(spelled(name))


def test_names_with_two_underscores_in_front_are_hidden() -> None:
    assert is_hidden("__audit")
    assert not is_hidden("_audit")
