"""Lengths, and what no frame may have."""

import pytest

from onelog.binary.errors import BinaryError
from onelog.protocols.rustlog.framing import FRAME_BYTES_MAX, HEADER_BYTES, framed, payload_size


def test_a_frame_is_its_length_in_big_endian_and_its_payload() -> None:
    assert framed(bytearray(HEADER_BYTES) + b"abc") == b"\x00\x00\x00\x03abc"


@pytest.mark.parametrize("size", [1, 74, 0x01020304 % FRAME_BYTES_MAX, FRAME_BYTES_MAX])
def test_every_length_up_to_the_bound_is_one(size: int) -> None:
    assert payload_size(size.to_bytes(4, "big")) == size


@pytest.mark.parametrize("size", [0, FRAME_BYTES_MAX + 1, 0xFFFFFFFF])
def test_no_frame_is_empty_or_longer_than_the_bound(size: int) -> None:
    with pytest.raises(BinaryError, match=f"frame length at byte 0: {size}; expected 1 to 10485760"):
        payload_size(size.to_bytes(4, "big"))
