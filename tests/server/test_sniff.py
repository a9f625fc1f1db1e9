"""Who claims a connection, and with how many bytes."""

import pytest

from onelog.server.sniff import PREFIX_BYTES_MAX, Sniffer, Unclaimed
from tests.support.toy_dialect import ToyEndpoint


def fed(sniffer: Sniffer, data: bytes) -> object:
    lent = sniffer.lend()
    lent[: len(data)] = data
    return sniffer.received(len(data))


def test_the_endpoint_that_says_yes_gets_the_connection() -> None:
    a, b = ToyEndpoint("a", first=b"A"), ToyEndpoint("b", first=b"B")
    assert fed(Sniffer([a, b]), b"Bxx") is b


def test_undecided_bytes_are_kept_for_the_one_that_wins() -> None:
    short, long = ToyEndpoint("short", first=b"AB"), ToyEndpoint("long", first=b"ABCDE"[::-1])
    sniffer = Sniffer([long, short])
    assert fed(sniffer, b"A") is None
    assert fed(sniffer, b"Brest") is short
    assert sniffer.prefix == b"ABrest"


def test_of_two_that_say_yes_the_first_one_wins() -> None:
    a, b = ToyEndpoint("a"), ToyEndpoint("b")
    assert fed(Sniffer([a, b]), b"x") is a


def test_bytes_that_nobody_wants_are_refused() -> None:
    with pytest.raises(Unclaimed, match="no dialect of this port begins with 7a 7a"):
        fed(Sniffer([ToyEndpoint(first=b"A")]), b"zz")


@pytest.mark.parametrize(
    ("data", "guess"),
    [(b"GET / HTTP/1.1\r\n", "looks like HTTP"), (b"\x16\x03\x01\x02\x00", "looks like TLS")],
)
def test_a_refusal_guesses_what_it_was(data: bytes, guess: str) -> None:
    with pytest.raises(Unclaimed, match=guess):
        fed(Sniffer([ToyEndpoint(first=b"A")]), data)


def test_no_more_than_a_prefix_is_ever_held() -> None:
    sniffer = Sniffer([ToyEndpoint(first=b"A" * 1000)])
    assert len(sniffer.lend()) == PREFIX_BYTES_MAX
    with pytest.raises(Unclaimed):
        fed(sniffer, b"A" * PREFIX_BYTES_MAX)
