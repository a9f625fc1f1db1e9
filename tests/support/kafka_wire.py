"""Kafka's frames as a client writes and reads them, on the dialect's own codecs."""

import socket
import struct
from typing import Any, Self

from onelog.binary.message import codec
from onelog.protocols.kafka.messages.header import RequestHeader, ResponseHeader
from onelog.protocols.kafka.versions import APIS


def frame(payload: bytes) -> bytes:
    """The payload behind its length."""
    return struct.pack(">i", len(payload)) + payload


def request(
    key: int, version: int, body: Any, *, correlation_id: int = 1, client_id: str | None = "test"
) -> bytes:
    """A whole request."""
    header = RequestHeader(
        request_api_key=key, request_api_version=version, correlation_id=correlation_id, client_id=client_id
    )
    encoded = codec(RequestHeader, APIS[key].request_header(version)).encode_bytes(header)
    return frame(encoded + codec(type(body), version).encode_bytes(body))


def response(key: int, version: int, payload: bytes) -> tuple[int, Any]:
    """Correlation id and body of an answer without its length."""
    api = APIS[key]
    header, pos = codec(ResponseHeader, api.response_header(version)).decode(payload, 0)
    body, end = codec(api.response, version).decode(payload, pos)
    assert end == len(payload), "nothing stands behind an answer"
    return header.correlation_id, body


class Wire:
    """One connection of a client that says exactly what a test wants."""

    def __init__(self, host: str, port: int, *, timeout_s: float = 20.0) -> None:
        self.socket = socket.create_connection((host, port), timeout=timeout_s)

    def send(self, data: bytes) -> None:
        """As it is."""
        self.socket.sendall(data)

    def read_frame(self) -> bytes:
        """The next answer without its length; ConnectionError when it was closed instead."""
        (size,) = struct.unpack(">i", self._read(4))
        return self._read(size)

    def ask(self, key: int, version: int, body: Any, **options: Any) -> Any:
        """One request and its answer."""
        self.send(request(key, version, body, **options))
        return response(key, version, self.read_frame())[1]

    def is_closed(self) -> bool:
        """Whether the other side has closed without another word."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionError:
            return True

    def close(self) -> None:
        """Close."""
        self.socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            part = self.socket.recv(count - len(data))
            if not part:
                raise ConnectionError("closed")
            data += part
        return bytes(data)
