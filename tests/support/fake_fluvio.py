"""A cluster of one controller and one unit on loopback, of other versions than ours, that answers as told.

Its bytes are those of the message tables, which captures hold true.
"""

import socket
from collections.abc import Callable
from typing import Any, Self

from onelog.binary.message import codec
from onelog.protocols.fluvio.messages.admin import ApiVersionsResponse, ServedApi
from onelog.protocols.fluvio.messages.header import RequestHeader
from onelog.protocols.fluvio.messages.objects import (
    Label,
    PartitionObject,
    PartitionSpec,
    PartitionStatus,
    ReplicaStatus,
)
from onelog.protocols.fluvio.messages.topics import ListRequest, ListResponse
from onelog.protocols.fluvio.messages.units import Ingress, PublicEndpoint, UnitObject, UnitSpec
from onelog.protocols.fluvio.versions import API_VERSIONS, CONTROLLER_APIS, LIST, STREAM_FETCH, UNIT_APIS
from tests.support.scripted_server import HANG_UP, Script, ScriptedServer, exactly

Answer = Callable[[Any], Any]
# The wheel's unit: a version less than ours.
UNIT_VERSION = 24
CONTROLLER_VERSION = 19
UNIT_ID = 5001

__all__ = ["HANG_UP", "FakeFluvio"]


class PushingServer(ScriptedServer):
    """Sends what is pushed behind its next answer."""

    def __init__(self, script: Script) -> None:
        self.pushed: list[bytes] = []
        super().__init__(script)

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            while (head := exactly(connection, 4)) is not None:
                frame = exactly(connection, int.from_bytes(head, "big"))
                if frame is None:
                    return
                self.frames.append(frame)
                answer = self._script(frame)
                if answer is HANG_UP:
                    return
                frames, self.pushed = ([answer] if isinstance(answer, bytes) else []) + self.pushed, []
                connection.sendall(b"".join(len(each).to_bytes(4, "big") + each for each in frames))


class FakeFluvio:
    """answers: by key, of the unit (and of the controller, under its name) what to say to a body.

    An answer is a message, HANG_UP, or None for silence. push() is for what streams send later.
    """

    def __init__(self, *, partitions: list[str], versions: dict[int, tuple[int, int]] | None = None) -> None:
        self.partitions = partitions
        self.versions = versions or dict.fromkeys((0, 1, 1002, 1003), (0, UNIT_VERSION)) | {1005: (0, 0)}
        self.unit_answers: dict[int, Answer] = {}
        self.controller_answers: dict[int, Answer] = {LIST: self._listed}
        self.asked: list[tuple[int, int, Any]] = []
        self.unit = PushingServer(lambda frame: self._answer(frame, is_unit=True))
        self.streams: dict[int, tuple[int, int]] = {}
        self.controller = ScriptedServer(lambda frame: self._answer(frame, is_unit=False))
        self.address = self.controller.address

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.controller.close()
        self.unit.close()

    def push(self, stream_id: int, message: Any) -> None:
        """Behind the next answer: one more frame of the stream that was opened as the first, second ..."""
        number, version = self.streams[stream_id]
        form = UNIT_APIS[STREAM_FETCH].response
        self.unit.pushed.append(number.to_bytes(4, "big") + encoded(form, message, version))

    def keys(self) -> list[int]:
        """What was asked of the unit."""
        return [key for key, _, _ in self.asked]

    def _answer(self, frame: bytes, *, is_unit: bool) -> object:
        header, at = codec(RequestHeader).decode(memoryview(frame))
        apis = UNIT_APIS if is_unit else CONTROLLER_APIS
        number = header.correlation_id.to_bytes(4, "big")
        if header.key == API_VERSIONS:
            return number + encoded(apis[API_VERSIONS].response, self._versions(is_unit=is_unit), 2)
        body, _ = apis[header.key].request.decode(memoryview(frame), at, header.version)
        if is_unit:
            self.asked.append((header.key, header.version, body))
            if header.key == STREAM_FETCH:
                self.streams[len(self.streams) + 1] = (header.correlation_id, header.version)
        said = (self.unit_answers if is_unit else self.controller_answers)[header.key](body)
        if said is HANG_UP or said is None:
            return said
        return number + encoded(apis[header.key].response, said, header.version)

    def _versions(self, *, is_unit: bool) -> ApiVersionsResponse:
        served = self.versions if is_unit else dict.fromkeys(range(1001, 1007), (1, CONTROLLER_VERSION))
        return ApiVersionsResponse(
            apis=[ServedApi(key=k, version_min=low, version_max=high) for k, (low, high) in served.items()],
            platform_version="0.17.3",
        )

    def _listed(self, request: ListRequest) -> ListResponse:
        if request.label == Label.UNIT:
            public = PublicEndpoint(port=self.unit.port, ingress=[Ingress(ip="127.0.0.1")])
            return ListResponse(
                request.label, [UnitObject(name="main", spec=UnitSpec(id=UNIT_ID, public=public))]
            )
        names = ["consumer-offset-0"] if request.is_system else self.partitions
        return ListResponse(request.label, [_partition(name) for name in names])


def _partition(name: str) -> PartitionObject:
    spec = PartitionSpec(leader=UNIT_ID, replicas=[UNIT_ID])
    return PartitionObject(name=name, spec=spec, status=PartitionStatus(leader=ReplicaStatus(unit=UNIT_ID)))


def encoded(form: Any, message: Any, version: int) -> bytes:
    return b"".join(form.encode(message, version))
