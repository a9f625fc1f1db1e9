"""One connection to a controller or a unit: versions agreed at its start, answers by their numbers.

Each request goes in the highest version that both sides speak. A unit tells nobody of consumer
offsets and serves them all the same, in the version of its other requests. Frames that a stream
pushes between answers are kept for its owner.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from onelog.binary.errors import BinaryError
from onelog.binary.message import codec
from onelog.client.errors import BadAnswer, UnsupportedByBroker
from onelog.client.fluvio.errors import check
from onelog.client.retry import Deadline
from onelog.client.stream import Stream, readable
from onelog.model import Address
from onelog.protocols.fluvio.framing import LENGTH_BYTES, frame_length, request_head
from onelog.protocols.fluvio.messages.admin import ApiVersionsRequest, ApiVersionsResponse
from onelog.protocols.fluvio.messages.header import RequestHeader
from onelog.protocols.fluvio.versions import API_VERSIONS, FETCH_OFFSETS, PRODUCE, Api

CLIENT_ID = "onelog"
# That of the part of Fluvio's own client that speaks; clusters want one that is a semantic version.
CLIENT_VERSION = "0.15.2"
OPENING_VERSION = 2
# A length beyond this is a lie, or another protocol.
FRAME_BYTES_MAX = 1 << 30

Ranges = Mapping[int, tuple[int, int]]


class Connection:
    """Ready when it is made. One owner at a time."""

    def __init__(self, address: Address, deadline: Deadline, *, apis: Mapping[int, Api]) -> None:
        self.address = address
        self._apis = apis
        self._correlation_id = 0
        self._pushed: deque[tuple[int, memoryview]] = deque()
        self._stream = Stream(address, deadline)
        self._ranges: Ranges = {API_VERSIONS: (OPENING_VERSION, OPENING_VERSION)}
        agreed = False
        try:
            self._ranges = self._agree(deadline)
            agreed = True
        finally:
            if not agreed:
                self._stream.close()

    def is_stale(self) -> bool:
        """Whether it must not be used again."""
        return self._stream.is_stale()

    def close(self) -> None:
        """No more of it."""
        self._stream.close()

    def ask(self, key: int, request: Any, *, doing: str, deadline: Deadline) -> Any:
        """The answer to one request, decoded; its error codes are not looked at."""
        number = self.begin(key, request, doing=doing, deadline=deadline)
        while True:
            found, body = self._frame(doing, deadline)
            if found == number:
                break
            self._pushed.append((found, body))
        self._stream.answered()
        return self.decoded(key, body, doing=doing)

    def begin(self, key: int, request: Any, *, doing: str, deadline: Deadline) -> int:
        """Send a request; its number, which its answers will have."""
        api = self._apis[key]
        version = self._version(api)
        self._correlation_id = (self._correlation_id + 1) & 0x7FFFFFFF
        header = RequestHeader(
            key=key, version=version, correlation_id=self._correlation_id, client_id=CLIENT_ID
        )
        parts = [*codec(RequestHeader).encode(header), *api.request.encode(request, version)]
        self._stream.send([request_head(sum(map(len, parts))), *parts], doing=doing, deadline=deadline)
        return self._correlation_id

    def next(self, *, doing: str, deadline: Deadline) -> tuple[int, memoryview]:
        """The next frame that comes: its number and its body."""
        return self._pushed.popleft() if self._pushed else self._frame(doing, deadline)

    def decoded(self, key: int, body: memoryview, *, doing: str) -> Any:
        """A body as an answer to this kind of request."""
        api = self._apis[key]
        version = self._version(api)
        try:
            return api.response.decode(body, 0, version)[0]
        except BinaryError as error:
            raise self._bad(doing, f"{api.name} version {version}: {error}") from error

    def _version(self, api: Api) -> int:
        is_untold = api.advertised is None and api.key not in self._ranges
        least, most = self._ranges.get(FETCH_OFFSETS if is_untold else api.key, (0, -1))
        version = min(most, api.version_max)
        if version < max(least, api.version_min):
            raise UnsupportedByBroker(
                f"{self.address}: {api.name} is served in versions {least} to {most}; "
                f"expected one of {api.version_min} to {api.version_max}."
                if most >= 0
                else f"{self.address}: {api.name} is not served there."
            )
        return version

    def _agree(self, deadline: Deadline) -> Ranges:
        doing = "asking for its versions"
        request = ApiVersionsRequest(client_version=CLIENT_VERSION, client_os="linux", client_arch="x86_64")
        answer: ApiVersionsResponse = self.ask(API_VERSIONS, request, doing=doing, deadline=deadline)
        check(answer.error, doing=f"{doing} at {self.address}")
        served = {each.key: (each.version_min, each.version_max) for each in answer.apis}
        # A unit, or a Kafka broker: what a controller calls List has the number of another request there.
        if PRODUCE in served and PRODUCE not in self._apis:
            raise UnsupportedByBroker(f"{self.address}: found who serves records; expected a controller.")
        return {**served, API_VERSIONS: (OPENING_VERSION, OPENING_VERSION)}

    def _frame(self, doing: str, deadline: Deadline) -> tuple[int, memoryview]:
        length = frame_length(self._stream.receive(LENGTH_BYTES, doing=doing, deadline=deadline))
        if not 4 <= length <= FRAME_BYTES_MAX:
            raise self._bad(doing, f"a frame of {length} bytes; expected 4 to {FRAME_BYTES_MAX}")
        frame = memoryview(self._stream.receive(length, doing=doing, deadline=deadline))
        return int.from_bytes(frame[:4], "big", signed=True), frame[4:]

    def _bad(self, doing: str, found: str) -> BadAnswer:
        return BadAnswer(f"{self.address}: bad answer while {doing}: {found}. Is it a Fluvio cluster?")


def with_frames(connections: Sequence[Connection], wait_s: float) -> list[Connection]:
    """Those that have something to read, at the latest when the time is over; mostly none then."""
    kept = [connection for connection in connections if connection._pushed]
    if kept:
        return kept
    streams = {connection._stream: connection for connection in connections}
    return [streams[stream] for stream in readable(list(streams), wait_s)]
