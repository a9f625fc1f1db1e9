import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onelog.binary.errors import BinaryError
from onelog.protocols.kafka.framing import frame_size, framed, frames


@settings(max_examples=50, deadline=None)
@given(st.lists(st.binary(max_size=40), max_size=5), st.binary(max_size=3))
def test_whole_frames_are_found_and_the_rest_is_left(contents: list[bytes], rest: bytes) -> None:
    stream = b"".join(b"".join(framed([content[:7], content[7:]])) for content in contents)
    found, size = frames(stream + rest)
    assert [bytes(frame) for frame in found] == contents
    assert size == len(stream)


def test_a_frame_that_comes_byte_by_byte_is_there_with_its_last_byte() -> None:
    whole = b"".join(framed([b"hello"]))
    for end in range(len(whole)):
        assert not any(frames(whole[:end]))
        assert frame_size(whole[:end]) == (0 if end < 4 else 9)
    found, size = frames(whole)
    assert (list(map(bytes, found)), size) == ([b"hello"], 9)


@pytest.mark.parametrize("length", ["ffffffff", "80000000", "00000065", "7fffffff"])
def test_a_length_that_lies_is_refused_before_its_bytes_come(length: str) -> None:
    with pytest.raises(BinaryError, match=r"frame at byte 0: a length of -?[0-9]+; expected 0 to 100"):
        frame_size(bytes.fromhex(length), bytes_max=100)


def test_large_buffers_stay_what_they_are() -> None:
    large = b"x" * 1000
    assert framed([b"head", large]) == [b"\x00\x00\x03\xec", b"head", large]
    assert framed([b"head", large])[2] is large
