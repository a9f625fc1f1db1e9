import pytest

from onelog.client.address import parse_address, parse_bootstrap
from onelog.client.errors import ClientError
from onelog.model import Address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:9092", Address("127.0.0.1", 9092)),
        ("broker.example.org:1", Address("broker.example.org", 1)),
        ("[::1]:9092", Address("::1", 9092)),
    ],
)
def test_an_address_is_read_as_it_is_written(text: str, address: Address) -> None:
    assert parse_address(text) == address
    assert str(address) == text


@pytest.mark.parametrize(
    "text", ["", ":", "host", "host:", ":9092", "host:x", "host:0", "host:65536", "::1:9092", "h:٣"]
)
def test_what_is_no_address_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ClientError, match=r"expected HOST:PORT, like 127\.0\.0\.1:9092"):
        parse_address(text)


def test_several_addresses_are_separated_by_commas() -> None:
    assert parse_bootstrap("a:1, b:2") == [Address("a", 1), Address("b", 2)]
