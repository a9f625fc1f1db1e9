import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onelog.binary.errors import BinaryError
from onelog.binary.varint import (
    UVARINT_MAX,
    read_uvarint,
    read_varint,
    read_varlong,
    uvarint_size,
    varint_size,
    write_uvarint,
    write_varint,
    write_varlong,
)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, UVARINT_MAX))
def test_an_unsigned_number_survives_and_has_the_size_that_was_said(value: int) -> None:
    out = bytearray(b"ahead")
    write_uvarint(out, value)
    assert read_uvarint(memoryview(out), 5) == (value, 5 + uvarint_size(value))
    assert len(out) == 5 + uvarint_size(value)


@settings(max_examples=100, deadline=None)
@given(st.integers(-(1 << 31), (1 << 31) - 1))
def test_a_signed_number_of_32_bits_survives(value: int) -> None:
    out = bytearray()
    write_varint(out, value)
    assert read_varint(bytes(out), 0) == (value, len(out))
    assert len(out) == varint_size(value)


@settings(max_examples=100, deadline=None)
@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_a_signed_number_of_64_bits_survives(value: int) -> None:
    out = bytearray()
    write_varlong(out, value)
    assert read_varlong(out, 0) == (value, len(out))
    assert len(out) == varint_size(value)


@pytest.mark.parametrize(
    ("value", "found"), [(0, "00"), (127, "7f"), (128, "8001"), (1500, "dc0b"), (70000, "f0a204")]
)
def test_unsigned_numbers_look_like_tanks(value: int, found: str) -> None:
    out = bytearray()
    write_uvarint(out, value)
    assert out.hex() == found


@pytest.mark.parametrize(
    ("value", "found"),
    [(0, "00"), (-1, "01"), (1, "02"), (63, "7e"), (8191, "fe7f"), (-134217729, "8180808001")],
)
def test_signed_numbers_look_like_fluvios(value: int, found: str) -> None:
    out = bytearray()
    write_varint(out, value)
    assert out.hex() == found


@pytest.mark.parametrize("found", ["", "80", "ffffffff"])
def test_a_number_that_is_cut_off_is_refused(found: str) -> None:
    with pytest.raises(BinaryError, match=r"expected \d bytes"):
        read_uvarint(bytes.fromhex(found), 0)


def test_a_number_that_never_ends_is_refused() -> None:
    with pytest.raises(BinaryError, match="more than 5 bytes"):
        read_varint(b"\x80" * 20, 0)
    with pytest.raises(BinaryError, match="more than 10 bytes"):
        read_varlong(b"\x80" * 20, 0)


def test_a_number_of_33_bits_is_refused() -> None:
    with pytest.raises(BinaryError, match="the number 4294967296"):
        read_uvarint(bytes.fromhex("8080808010"), 0)


def test_what_does_not_fit_is_not_written() -> None:
    out = bytearray()
    for write, value in (
        (write_uvarint, -1),
        (write_uvarint, 1 << 32),
        (write_varint, 1 << 31),
        (write_varlong, 1 << 63),
    ):
        with pytest.raises(ValueError, match=r"is no (un)?signed number"):
            write(out, value)
    assert out == b""
