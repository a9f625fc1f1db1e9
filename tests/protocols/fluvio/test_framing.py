"""The lengths and numbers around a message."""

import pytest

from onelog.protocols.fluvio.framing import answer_head, frame_length, request_head
from tests.support.fluvio_golden import capture, names


@pytest.mark.parametrize("name", names())
def test_a_captured_frame_has_the_length_that_it_says(name: str) -> None:
    for frame in capture(name):
        assert frame_length(frame.data) == len(frame.data) - 4


@pytest.mark.parametrize("name", names())
def test_a_captured_answer_begins_as_ours_would(name: str) -> None:
    for frame in capture(name):
        if not frame.is_request:
            assert frame.data[:8] == answer_head(frame.correlation_id, len(frame.data) - 8)


@pytest.mark.parametrize("name", names())
def test_a_captured_request_begins_as_ours_would(name: str) -> None:
    for frame in capture(name):
        if frame.is_request:
            assert frame.data[:4] == request_head(len(frame.data) - 4)


def test_a_length_may_be_anything() -> None:
    assert frame_length(b"\xff\xff\xff\xff") == -1
