"""A RustLog client written from the protocol's document alone, for tests. It imports nothing of ours.

Blocking, one socket, standard library only. A request is a dict, and so is its response.
"""

import base64
import json
import socket
import struct
from collections.abc import Sequence
from typing import Any, Self

MAX_FRAME_SIZE = 10_485_760

Message = dict[str, Any]


def encode_frame(payload: bytes) -> bytes:
    return struct.pack(">I", len(payload)) + payload


def encode_message(message: Message) -> bytes:
    return encode_frame(json.dumps(message).encode())


class RustLogRefusal(Exception):
    """An Error response."""

    def __init__(self, response: Message) -> None:
        super().__init__(f"{response['code']}: {response['message']}")
        self.code: int = response["code"]
        self.details: Any = response["details"]


class RustLogTestClient:
    """One connection."""

    def __init__(self, host: str, port: int, *, timeout_s: float = 30.0) -> None:
        self._socket = socket.create_connection((host, port), timeout=timeout_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def send(self, data: bytes) -> None:
        """Bytes as they are."""
        self._socket.sendall(data)

    def receive(self) -> Message | None:
        """The next response, or None when the server has closed."""
        header = self._exactly(4)
        if header is None:
            return None
        (size,) = struct.unpack(">I", header)
        assert 0 < size <= MAX_FRAME_SIZE
        payload = self._exactly(size)
        assert payload is not None
        response = json.loads(payload.decode("utf-8"))
        assert isinstance(response, dict)
        return response

    def exchange(self, message: Message) -> Message:
        """A request and its response, whatever it says."""
        self.send(encode_message(message))
        response = self.receive()
        assert response is not None
        return response

    def ask(self, kind: str, **fields: Any) -> Message:
        """A request that is granted; RustLogRefusal otherwise."""
        response = self.exchange({"type": kind, **fields})
        if response["type"] == "Error":
            raise RustLogRefusal(response)
        assert response["type"] == ("Pong" if kind == "Ping" else f"{kind}Response")
        return response

    def produce(self, topic: str, partition: int, records: Sequence[bytes]) -> int:
        encoded = [base64.b64encode(record).decode() for record in records]
        response = self.ask("Produce", topic=topic, partition=partition, records=encoded)
        assert response["record_count"] == len(records)
        return int(response["base_offset"])

    def fetch(
        self, topic: str, partition: int, offset: int, *, max_bytes: int = 1 << 20, group_id: str = "g"
    ) -> tuple[list[tuple[int, bytes]], int]:
        """Offsets and payloads, and where to go on."""
        response = self.ask(
            "Fetch", group_id=group_id, topic=topic, partition=partition, offset=offset, max_bytes=max_bytes
        )
        records = [(r["offset"], base64.b64decode(r["payload"])) for r in response["records"]]
        return records, int(response["next_offset"])

    def commit(self, group: str, topic: str, partition: int, offset: int) -> bool:
        response = self.ask("OffsetCommit", group=group, topic=topic, partition=partition, offset=offset)
        return bool(response["success"])

    def position(self, group: str, topic: str, partition: int) -> int | None:
        offset = self.ask("OffsetFetch", group=group, topic=topic, partition=partition)["offset"]
        return None if offset is None else int(offset)

    def create_topic(self, topic: str, partition_count: int) -> int:
        response = self.ask("CreateTopic", topic=topic, partition_count=partition_count)
        assert response["success"] is True
        return int(response["partitions_created"])

    def _exactly(self, size: int) -> bytes | None:
        parts = bytearray()
        while len(parts) < size:
            try:
                part = self._socket.recv(size - len(parts))
            except ConnectionResetError:
                return None
            if not part:
                assert not parts, "the server closed in the middle of a frame"
                return None
            parts += part
        return bytes(parts)
