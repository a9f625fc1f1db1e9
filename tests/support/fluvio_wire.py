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


def wrapped(label: str, inner: bytes) -> bytes:
    """An object in what goes around it at the controller."""
    return text(label) + struct.pack(">I", len(inner)) + inner


def create(name: str, *, partitions: int = 1, correlation_id: int = 1) -> bytes:
    spec = b"\x01" + struct.pack(">II", partitions, 1) + b"\x01" + b"\x00\x00\x04\x00\x00"
    inner = text(name) + b"\x00\x00" + spec
    return frame(1001, CONTROLLER_VERSION, wrapped("Topic", inner), correlation_id=correlation_id)


def list_objects(label: str, *filters: str, is_system: bool = False, correlation_id: int = 1) -> bytes:
    inner = struct.pack(">i", len(filters)) + b"".join(map(text, filters)) + bytes([0, is_system])
    return frame(1003, CONTROLLER_VERSION, wrapped(label, inner), correlation_id=correlation_id)


def watch(label: str, *, correlation_id: int = 1) -> bytes:
    return frame(1004, CONTROLLER_VERSION, wrapped(label, bytes(9)), correlation_id=correlation_id)


def delete(name: str, *, correlation_id: int = 1) -> bytes:
    inner = wrapped("Topic", text(name) + b"\x00")
    return frame(1002, CONTROLLER_VERSION, inner, correlation_id=correlation_id)
