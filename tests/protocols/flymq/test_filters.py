import pytest

from onelog.protocols.flymq.filters import wanted


def keeps(filter: str, value: bytes, key: bytes = b"") -> bool:
    judge = wanted(filter)
    assert judge is not None
    return judge(key, value)


def test_no_filter_is_none() -> None:
    assert wanted("") is None


@pytest.mark.parametrize(
    ("filter", "value", "key"),
    [
        ("ZIP", b"a zipped one", b""),
        ("zip", b"", b"A ZIP"),
        ("\u00c9TUDE", "une \u00e9tude".encode(), b""),
        ("B", b"\xff\xfeb\xff", b""),
        ("(", b"f(x)", b""),
    ],
)
def test_a_part_of_value_or_key_is_found_in_any_case(filter: str, value: bytes, key: bytes) -> None:
    assert keeps(filter, value, key)
    assert not keeps(filter, b"other", b"one")


def test_a_pattern_is_found_in_value_or_key() -> None:
    assert keeps("^ord-[0-9]+$", b"ord-17")
    assert keeps("^ord-[0-9]+$", b"", b"ord-17")
    assert not keeps("^ord-[0-9]+$", b"ord-x")


@pytest.mark.parametrize("pattern", ["[a", "*", "(?<=a)b", r"(a)\1", "(((x{100}){100}){100})"])
def test_a_pattern_that_is_none_finds_nothing(pattern: str) -> None:
    assert not keeps(pattern, b"aa xx")


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "a*a*a*a*a*b", "(.*)*x"])
def test_a_pattern_that_others_never_come_back_from_takes_no_time(pattern: str) -> None:
    assert not keeps(pattern, b"a" * 200_000 + b"!")


@pytest.mark.parametrize(
    ("path", "value", "found"),
    [
        ("$.a", b'{"a":1}', True),
        ("$.a.b", b'{"a":{"b":null}}', True),
        ("$.a.b", b'{"a":{"c":1}}', False),
        ("$.a.b", b'{"a":[1]}', False),
        ("$.a", b'{"a":', False),
        ("$.a", b'[{"a":1}]', False),
        ("$.a", b'{"x":' + b'{"x":' * 100_000, False),
        ("$.a", b"costs $.a", True),
    ],
)
def test_a_path_is_a_member_that_the_value_has(path: str, value: bytes, found: bool) -> None:
    assert keeps(path, value) is found
