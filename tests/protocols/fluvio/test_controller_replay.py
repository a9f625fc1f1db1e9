"""Captured sessions with a controller, begun on an empty broker: our answers are theirs, but for what must differ.

The differences are those of docs/protocols/fluvio.md: the platform, epochs, the private port of the unit,
the steps on the way to a topic that is there, and marks of what is deleted.
"""

from typing import Any

import pytest

from onelog.protocols.fluvio.messages.admin import ApiVersionsResponse
from onelog.protocols.fluvio.messages.objects import PartitionResolution
from onelog.protocols.fluvio.messages.watch import WATCHED, ChangeKind, WatchResponse
from onelog.protocols.fluvio.versions import API_VERSIONS, CONTROLLER_APIS
from tests.support import fluvio_wire as wire
from tests.support.fluvio_golden import Frame, capture
from tests.support.fluvio_peer import FluvioPeer

WATCHES = ("py-03-watch-spu", "py-04-watch-partition", "py-05-watch-topic")


def answered(peer: FluvioPeer, request: bytes) -> list[bytes]:
    """All frames that come until the request is answered, the answer last."""
    number = request[8:12]
    peer.send(request)
    frames: list[bytes] = []
    while number not in (frame[:4] for frame in frames):
        peer.house.advance(1)
        frames += peer.frames()
    return sorted(frames, key=lambda frame: frame[:4] == number)


def watched(data: bytes) -> WatchResponse:
    found, end = WATCHED.decode(memoryview(data), 4, 19)
    assert end == len(data)
    assert isinstance(found, WatchResponse)
    return found


def pushed(frames: list[Frame]) -> list[WatchResponse]:
    """Of a capture."""
    return [watched(f.data[4:]) for f in frames if not f.is_request and f.values["answers_key"] == 1004]


def states(frames: list[WatchResponse]) -> dict[str, Any]:
    """What was said last of each name, and whether that was its end."""
    return {change.object.name: (change.kind, change.object) for frame in frames for change in frame.changes}


@pytest.fixture
def session(controller: FluvioPeer) -> FluvioPeer:
    """Connected, and watching, as the wheel does."""
    for name in WATCHES:
        controller.send(capture(name)[0].data)
    assert len(controller.frames()) == 3
    return controller


@pytest.mark.parametrize("name", ["py-01-apiversions-sc", "cli-01-apiversions-sc"])
def test_what_is_served_is_what_a_controller_serves(controller: FluvioPeer, name: str) -> None:
    asked, answer = capture(name)
    form = CONTROLLER_APIS[API_VERSIONS].response
    found, expected = [
        form.decode(memoryview(data), 4, 2)[0]
        for data in (answered(controller, asked.data)[0], answer.data[4:])
    ]
    assert isinstance(found, ApiVersionsResponse)
    assert (found.error, found.apis) == (expected.error, expected.apis)


def test_a_created_topic_comes_to_what_it_comes_to_there(session: FluvioPeer) -> None:
    frames = capture("py-06-create-topic-pushes")
    *pushes, status = answered(session, frames[0].data)
    assert status == frames[-1].data[4:]
    ours, theirs = states([watched(frame) for frame in pushes]), states(pushed(frames))
    assert set(ours) == set(theirs) == {"pya-three", "pya-three-0", "pya-three-1", "pya-three-2"}
    assert ours["pya-three"] == theirs["pya-three"]
    # The capture ends before the last of its partitions is online.
    online = {
        name
        for name, (_, found) in theirs.items()
        if name != "pya-three" and found.status.resolution == PartitionResolution.ONLINE
    }
    assert online == {"pya-three-1", "pya-three-2"}
    for name in online:
        assert ours[name] == theirs[name]


def test_a_deleted_topic_goes_as_it_goes_there(session: FluvioPeer) -> None:
    answered(session, wire.create("pya-one", correlation_id=6))
    frames = capture("py-22-delete-topic-pushes")
    *pushes, status = answered(session, frames[0].data)
    assert status == frames[-1].data[4:]
    ours, theirs = [watched(frame) for frame in pushes], pushed(frames)
    assert [frame.label for frame in ours] == [frame.label for frame in theirs] == ["Partition", "Topic"]
    assert ours[1].changes == theirs[1].changes
    [gone], [there] = ours[0].changes, theirs[0].changes
    assert gone.kind == there.kind == ChangeKind.DELETE
    assert (gone.object.name, gone.object.spec) == (there.object.name, there.object.spec)
