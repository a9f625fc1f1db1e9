import pytest

from onelog.binary.errors import BinaryError
from onelog.protocols.tank.framing import FRAME_BYTES_MAX, PING_FRAME, Kind, header, read_header
from tests.support import tank_wire as wire


def test_a_frame_is_its_kind_its_length_in_little_endian_and_its_payload() -> None:
    assert header(Kind.FETCH, 0x0102) + b"" == wire.frame(2, bytes(0x0102))[:5]
    assert read_header(wire.frame(2, bytes(0x0102))) == (Kind.FETCH, 0x0102)


def test_a_ping_has_no_payload() -> None:
    assert PING_FRAME == wire.PING


@pytest.mark.parametrize("size", [0, 1, FRAME_BYTES_MAX])
def test_every_length_up_to_the_bound_is_one(size: int) -> None:
    assert read_header(header(Kind.PRODUCE, size)) == (Kind.PRODUCE, size)


@pytest.mark.parametrize("size", [FRAME_BYTES_MAX + 1, (256 << 20) + 1, 0xFFFFFFFF])
def test_no_frame_is_longer_than_the_bound(size: int) -> None:
    with pytest.raises(BinaryError, match="frame length"):
        read_header(header(Kind.PRODUCE, size))


def test_a_kind_that_nobody_knows_is_told_as_it_is() -> None:
    assert read_header(wire.frame(0x63, b"")) == (0x63, 0)
