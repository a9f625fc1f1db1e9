"""Fluvio's bytes, written by hand for tests: what a client sends, and a reader of what comes back."""

import struct

CONTROLLER_VERSION = 19


def text(value: str) -> bytes:
    data = value.encode()
    return struct.pack(">H", len(data)) + data


def frame(key: int, version: int, body: bytes, *, correlation_id: int = 1, client_id: str = "test") -> bytes:
    """A request."""
    said = struct.pack(">Hhi", key, version, correlation_id) + text(client_id) + body
    return struct.pack(">i", len(said)) + said


def api_versions(version: int = 2, *, client_version: str = "0.15.2", correlation_id: int = 1) -> bytes:
    body = text(client_version) + text("linux") + text("x86_64") if version >= 1 else b""
    return frame(18, version, body, correlation_id=correlation_id)


def frames(data: bytes) -> list[bytes]:
    """What came, frame by frame, without the lengths."""
    found = []
    while data:
        (size,) = struct.unpack_from(">i", data)
        assert len(data) >= 4 + size, "a frame that is not whole"
        found.append(data[4 : 4 + size])
        data = data[4 + size :]
    return found
