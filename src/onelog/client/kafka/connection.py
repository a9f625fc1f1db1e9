"""One connection to a Kafka broker: versions agreed at its start, one request at a time.

    request   length i32 | header (API key, version, correlation id, client id) | body
    answer    length i32 | correlation id i32 [| tagged fields] | body

Each request goes in the highest version that both sides speak. What an answer says, and
whether to ask again, is for others.
"""

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from onelog.binary.errors import BinaryError
from onelog.binary.message import codec
from onelog.client.errors import BadAnswer, UnsupportedByBroker
from onelog.client.kafka.errors import check
from onelog.client.retry import Deadline
from onelog.client.stream import Stream
from onelog.model import Address
from onelog.protocols.kafka.errors import Code
from onelog.protocols.kafka.framing import LENGTH_BYTES, framed
from onelog.protocols.kafka.messages.admin import ApiVersionsRequest, ApiVersionsResponse
from onelog.protocols.kafka.messages.header import RequestHeader, ResponseHeader
from onelog.protocols.kafka.versions import API_VERSIONS, APIS, Api

R = TypeVar("R")

# A length beyond this is a lie, or another protocol: no fetch of ours asks for so much.
ANSWER_BYTES_MAX = 1 << 30
SOFTWARE_NAME = "onelog"
SOFTWARE_VERSION = "1"
# Above every version there is: the highest that both sides speak is taken.
ANY_VERSION = 99
# What brokers since Kafka 2.4 understand; older ones say so, in the form of version 0.
OPENING_VERSION = 3

Ranges = Mapping[int, tuple[int, int]]

_BY_REQUEST: Mapping[type[Any], Api] = {api.request: api for api in APIS.values()}


class Connection:
    """Ready when it is made. One owner at a time; its pool hands it on."""

    def __init__(self, address: Address, deadline: Deadline, *, client_id: str) -> None:
        self._client_id = client_id
        self._correlation_id = 0
        self._stream = Stream(address, deadline)
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

    def ask(
        self, request: Any, answer: type[R], *, doing: str, deadline: Deadline, version_max: int = ANY_VERSION
    ) -> R:
        """The broker's answer to one request, decoded; its error codes are not looked at."""
        api = _BY_REQUEST[type(request)]
        version = self._version(api, version_max)
        view = self._exchange(api, version, request, doing=doing, deadline=deadline)
        return cast("R", self._decoded(api, version, view, doing=doing))

    def _version(self, api: Api, version_max: int) -> int:
        least, most = self._ranges.get(api.key, (0, -1))
        version = min(most, api.version_max, version_max)
        if version < max(least, api.version_min):
            raise UnsupportedByBroker(
                f"{self._stream.address}: {api.name} is served in versions {least} to {most}; "
                f"expected one of {api.version_min} to {min(api.version_max, version_max)}."
                if most >= 0
                else f"{self._stream.address}: {api.name} is not served by this broker."
            )
        return version

    def _agree(self, deadline: Deadline) -> Ranges:
        doing = "asking for its versions"
        api = APIS[API_VERSIONS]
        request = ApiVersionsRequest(
            client_software_name=SOFTWARE_NAME, client_software_version=SOFTWARE_VERSION
        )
        view = self._exchange(api, OPENING_VERSION, request, doing=doing, deadline=deadline)
        version = OPENING_VERSION
        if int.from_bytes(view[4:6], "big") == Code.UNSUPPORTED_VERSION:
            version = 0
            view = self._exchange(api, version, request, doing=doing, deadline=deadline)
        answer: ApiVersionsResponse = self._decoded(api, version, view, doing=doing)
        check(answer.error_code, where=str(self._stream.address))
        return {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}

    def _exchange(
        self, api: Api, version: int, request: Any, *, doing: str, deadline: Deadline
    ) -> memoryview:
        """The frame that answers, correlation id included."""
        self._correlation_id = (self._correlation_id + 1) & 0x7FFFFFFF
        header = RequestHeader(
            request_api_key=api.key,
            request_api_version=version,
            correlation_id=self._correlation_id,
            client_id=self._client_id,
        )
        buffers = [
            *codec(RequestHeader, api.request_header(version)).encode(header),
            *codec(api.request, version).encode(request),
        ]
        self._stream.send(framed(buffers), doing=doing, deadline=deadline)
        head = self._stream.receive(LENGTH_BYTES, doing=doing, deadline=deadline)
        length = int.from_bytes(head, "big", signed=True)
        if not 4 <= length <= ANSWER_BYTES_MAX:
            raise self._bad(doing, f"a frame of {length} bytes; expected 4 to {ANSWER_BYTES_MAX}")
        frame = memoryview(self._stream.receive(length, doing=doing, deadline=deadline))
        found = int.from_bytes(frame[:4], "big", signed=True)
        if found != self._correlation_id:
            raise self._bad(doing, f"correlation id {found}; expected {self._correlation_id}")
        self._stream.answered()
        return frame

    def _decoded(self, api: Api, version: int, frame: memoryview, *, doing: str) -> Any:
        try:
            _, pos = codec(ResponseHeader, api.response_header(version)).decode(frame)
            return codec(api.response, version).decode(frame, pos)[0]
        except BinaryError as error:
            raise self._bad(doing, f"{api.name} version {version}: {error}") from error

    def _bad(self, doing: str, found: str) -> BadAnswer:
        return BadAnswer(f"{self._stream.address}: bad answer while {doing}: {found}. Is it a Kafka broker?")
