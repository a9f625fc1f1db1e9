import argparse

import pytest

from onelog.cli.arguments import (
    Start,
    Where,
    add_broker,
    add_dialect,
    bootstrap,
    bootstrap_of,
    pair,
    seconds,
    start,
    whole,
)


def test_a_broker_is_where_kafkas_clients_look_for_one_unless_told() -> None:
    parser = argparse.ArgumentParser()
    add_broker(parser)
    assert parser.parse_args([]).bootstrap == "127.0.0.1:9092"
    add_dialect(parser)
    args = parser.parse_args([])
    assert (bootstrap_of(args), args.timeout, args.dialect) == ("127.0.0.1:9092", 10.0, "kafka")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--dialect", "rustlog"], "127.0.0.1:9092"),
        (["--dialect", "tank"], "127.0.0.1:11011"),
        (["--dialect", "tank", "--bootstrap", "127.0.0.1:9092"], "127.0.0.1:9092"),
    ],
)
def test_a_dialect_with_a_port_of_its_own_is_looked_for_there(words: list[str], expected: str) -> None:
    parser = argparse.ArgumentParser()
    add_broker(parser)
    add_dialect(parser)
    assert bootstrap_of(parser.parse_args(words)) == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("earliest", Start(Where.EARLIEST)),
        ("latest", Start(Where.LATEST)),
        ("0", Start(Where.OFFSET, 0)),
        ("912", Start(Where.OFFSET, 912)),
        ("-5", Start(Where.FROM_END, 5)),
        ("@1700000000000", Start(Where.TIME, 1700000000000)),
        ("1970-01-01T00:00:01", Start(Where.TIME, 1000)),
        ("1970-01-01T01:00:01.5+01:00", Start(Where.TIME, 1500)),
        ("1970-01-02", Start(Where.TIME, 86_400_000)),
    ],
)
def test_a_start_is_a_word_a_number_or_a_time(text: str, value: Start) -> None:
    assert start(text) == value


@pytest.mark.parametrize("text", ["", "soon", "--5", "@now", "1.5", "2026-13-01"])
def test_what_is_no_start_is_refused_with_what_is(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="expected earliest, latest, an offset"):
        start(text)


@pytest.mark.parametrize("text", ["0", "-1", "x", "nan", "inf", "90000"])
def test_a_timeout_is_positive_and_at_most_a_day(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="expected seconds"):
        seconds(text)
    assert seconds("0.5") == 0.5


def test_a_number_below_the_least_is_refused() -> None:
    assert whole(1)("1") == 1
    for text in ("0", "-1", "x", ""):
        with pytest.raises(argparse.ArgumentTypeError, match="at least 1"):
            whole(1)(text)


def test_a_pair_may_have_an_empty_value_but_no_empty_name() -> None:
    assert pair("a=b=c") == ("a", "b=c")
    assert pair("a=") == ("a", "")
    for text in ("a", "=a", ""):
        with pytest.raises(argparse.ArgumentTypeError, match="NAME=VALUE"):
            pair(text)


def test_a_bootstrap_is_kept_as_it_was_typed() -> None:
    assert bootstrap("a:1,[::1]:2") == "a:1,[::1]:2"
    with pytest.raises(argparse.ArgumentTypeError, match="HOST:PORT"):
        bootstrap("a")
