"""RustLog's frames, written from the protocol's document alone, for tests. It imports nothing of ours."""

import json
import struct
from typing import Any

MAX_FRAME_SIZE = 10_485_760

Message = dict[str, Any]


def encode_frame(payload: bytes) -> bytes:
    return struct.pack(">I", len(payload)) + payload


def encode_message(message: Message) -> bytes:
    return encode_frame(json.dumps(message).encode())
