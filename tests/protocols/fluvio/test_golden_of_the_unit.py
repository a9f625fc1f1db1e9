"""What was captured between real clients and a real unit: bytes to values and back."""

from typing import Any

import pytest

from onelog.protocols.contract import FrameLimits
from onelog.protocols.fluvio.connection import Request, Tag
from onelog.protocols.fluvio.endpoint import FluvioEndpoint
from onelog.protocols.fluvio.messages.error import Fault, OffsetEvicted, code_of
from onelog.protocols.fluvio.messages.fetch import (
    FetchedPartition,
    FetchOffsetsRequest,
    FetchOffsetsResponse,
    StreamFetchRequest,
    StreamFetchResponse,
)
from onelog.protocols.fluvio.messages.positions import (
    DeleteConsumerOffsetRequest,
    DeleteConsumerOffsetResponse,
    FetchConsumerOffsetsRequest,
    FetchConsumerOffsetsResponse,
    UpdateConsumerOffsetRequest,
    UpdateConsumerOffsetResponse,
    UpdateOffsetsRequest,
    UpdateOffsetsResponse,
)
from onelog.protocols.fluvio.messages.produce import ProduceRequest, ProduceResponse
from onelog.protocols.fluvio.recordset import HEADER_BYTES, Intake, RecordSet, batch_bytes
from onelog.protocols.fluvio.versions import UNIT_APIS
from onelog.records.batch import Batch
from tests.support.fluvio_golden import Frame, capture, names

OF_THE_CONTROLLER = {f"py-{number:02}" for number in (1, 3, 4, 5, 6, 7, 8, 9, 21, 22)} | {
    "cli-01",
    "cli-25",
    "cli-26",
}
NAMES = [name for name in names() if "-".join(name.split("-")[:2]) not in OF_THE_CONTROLLER]
# Its last batch is cut, as the real unit cuts, and as ours never does.
CUT = "raw-32-stream-cut-at-max-bytes"


def read(frame: Frame, versions: dict[int, tuple[int, int]]) -> tuple[Any, bytes]:
    """The message, and its body as it is written again."""
    if frame.is_request:
        connection = FluvioEndpoint(is_unit=True).connection(FrameLimits(100 << 20))
        room = connection.lend(len(frame.data))
        room[: len(frame.data)] = frame.data
        [call] = connection.received(len(frame.data))
        request = call.message
        assert isinstance(request, Request)
        versions[frame.correlation_id] = (request.key, request.version)
        assert (request.key, request.version) == (frame.values["key"], frame.values["version"])
        assert request.client_id == frame.values["client"]
        body = b"".join(UNIT_APIS[request.key].request.encode(request.body, request.version))
        return request.body, frame.data[: -len(body)] + body
    key, version = versions[frame.correlation_id]
    form = UNIT_APIS[key].response
    message, end = form.decode(memoryview(frame.data), 8, version)
    assert end == len(frame.data)
    connection = FluvioEndpoint(is_unit=True).connection(FrameLimits(100 << 20))
    return message, b"".join(connection.send(Tag(frame.correlation_id, form, version), message))


@pytest.mark.parametrize("name", NAMES)
def test_a_captured_frame_is_read_and_written_as_it_was(name: str) -> None:
    versions: dict[int, tuple[int, int]] = {}
    for frame in capture(name):
        _, again = read(frame, versions)
        assert again == frame.data


@pytest.mark.parametrize("name", [name for name in NAMES if "apiversions" not in name])
def test_a_captured_frame_says_what_was_noted(name: str) -> None:
    versions: dict[int, tuple[int, int]] = {}
    for frame in capture(name):
        message, _ = read(frame, versions)
        noted = frame.values
        for field, value in said(message).items():
            if field in noted:
                assert agrees(value, noted[field]), field


def said(message: Any) -> dict[str, Any]:
    """The values of a message, under the names of the notes."""
    match message:
        case ProduceRequest():
            return {
                "transactional_id": message.transactional_id or "none",
                "isolation": message.isolation,
                "timeout_ms": message.timeout_ms,
                "topics": [
                    {
                        "topic": topic.name,
                        "entries": [
                            {"partition": entry.partition, "batches": batches(entry.records)}
                            for entry in topic.entries
                        ],
                    }
                    for topic in message.topics
                ],
            }
        case ProduceResponse():
            return {
                "topics": [
                    {
                        "topic": topic.name,
                        "parts": [
                            {
                                "partition": entry.partition,
                                "error": error(entry.error),
                                "base_offset": entry.base_offset,
                                "append_ms": entry.append_time_ms,
                                "log_start": entry.log_start,
                            }
                            for entry in topic.entries
                        ],
                    }
                    for topic in message.topics
                ],
                "throttle": message.throttle_ms,
            }
        case FetchOffsetsRequest():
            return {"topics": [{"topic": t.name, "partitions": t.partitions} for t in message.topics]}
        case FetchOffsetsResponse():
            return {"topics": [offsets(topic) for topic in message.topics]}
        case StreamFetchRequest():
            return {
                "topic": message.topic,
                "partition": message.partition,
                "fetch_offset": message.fetch_offset,
                "max_bytes": message.bytes_max,
                "isolation": message.isolation,
                "smartmodules": len(message.smartmodules),
                "consumer_id": message.consumer_id or "none",
            }
        case StreamFetchResponse():
            return {"topic": message.topic, "stream_id": message.stream_id, **fetched(message.fetched)}
        case _:
            return said_of_positions(message)


def said_of_positions(message: Any) -> dict[str, Any]:
    match message:
        case UpdateOffsetsRequest():
            return {"acks": [{"offset": o.offset, "session": o.stream_id} for o in message.offsets]}
        case UpdateOffsetsResponse():
            return {"acks": [{"session": o.stream_id, "error": error(o.error)} for o in message.offsets]}
        case UpdateConsumerOffsetRequest():
            return {"offset": message.offset, "session": message.stream_id}
        case UpdateConsumerOffsetResponse():
            return {"offset": message.offset, "error": error(message.error)}
        case DeleteConsumerOffsetRequest():
            return {
                "topic": message.topic,
                "partition": message.partition,
                "consumer_id": message.consumer_id,
            }
        case DeleteConsumerOffsetResponse():
            return {"error": error(message.error)}
        case FetchConsumerOffsetsRequest():
            assert message.filter is not None
            assert message.filter.replica is not None
            replica = message.filter.replica
            return {
                "filter": {
                    "replica": {"topic": replica.topic, "partition": replica.partition},
                    "consumer_id": message.filter.consumer_id,
                }
            }
        case FetchConsumerOffsetsResponse():
            return {
                "error": error(message.error),
                "offsets": [
                    {
                        "consumer_id": offset.consumer_id,
                        "topic": offset.topic,
                        "partition": offset.partition,
                        "offset": offset.offset,
                        "modified_time": offset.modified_s,
                    }
                    for offset in message.offsets
                ],
            }
        case _:
            raise AssertionError(f"no notes for {message}")


def offsets(topic: Any) -> dict[str, Any]:
    return {
        "topic": topic.name,
        "parts": [
            {
                "error": error(part.error),
                "partition": part.partition,
                "start": part.start,
                "last_stable": part.last_stable,
            }
            for part in topic.partitions
        ],
    }


def fetched(part: FetchedPartition) -> dict[str, Any]:
    return {
        "partition": part.partition,
        "error": error(part.error),
        "hw": part.high_watermark,
        "next_filter_offset": part.next_filter_offset,
        "log_start": part.log_start,
        "aborted": "none" if part.aborted is None else part.aborted,
        "records_len": len(part.records),
        "batches": batches(part.records),
    }


def error(fault: Fault) -> dict[str, Any]:
    said: dict[str, Any] = {"code": code_of(fault).value}
    if isinstance(fault, OffsetEvicted):
        said |= {"offset": fault.offset, "next": fault.next_available}
    elif not isinstance(fault, int):
        said["text"] = getattr(fault, "text", "") or fault.name
    return said


def batches(records: memoryview) -> list[dict[str, Any]]:
    """What the log gets of them; only whole ones."""
    found = []
    at = 0
    while len(records) - at >= HEADER_BYTES and at + batch_bytes(records[at:]) <= len(records):
        view = records[at : at + batch_bytes(records[at:])]
        base = int.from_bytes(view[:8], "big")
        batch = Intake().batch(view, where="golden", base_offset=base)
        found.append(noted(batch, at, len(view)))
        at += len(view)
    return found


def noted(batch: Batch, at: int, size: int) -> dict[str, Any]:
    return {
        "at": at,
        "base_offset": batch.base_offset,
        "batch_len": size - 12,
        "attributes": batch.attributes,
        "last_offset_delta": batch.last_offset_delta,
        "first_timestamp": batch.base_timestamp_ms,
        "max_time_stamp": batch.max_timestamp_ms,
        "producer_id": batch.producer_id,
        "count": batch.record_count,
        "records": [
            {
                "ts_delta": record.timestamp_ms - batch.base_timestamp_ms,
                "offset_delta": offset - batch.base_offset,
                "key": "none" if record.key is None else record.key.decode(),
                "value": (record.value or b"").decode(),
            }
            for offset, record in batch.numbered()
        ],
    }


def agrees(found: Any, noted: Any) -> bool:
    """Notes hold the first records of a batch only, and none of those that their reader could not unpack."""
    if isinstance(noted, dict) and isinstance(found, dict):
        return all(
            found[k][: len(v)] == v if k == "records" else agrees(found[k], v)
            for k, v in noted.items()
            if k in found
        )
    if isinstance(noted, list) and isinstance(found, list):
        whole = [each for each in noted if not is_torn(each)]
        return len(found) == len(whole) and all(map(agrees, found, whole))
    return bool(found == noted)


def is_torn(each: Any) -> bool:
    return isinstance(each, dict) and ("truncated" in each or "trailing_bytes" in each)


@pytest.mark.parametrize("name", [name for name in NAMES if "produce" in name or "consume" in name])
def test_captured_batches_leave_as_they_came(name: str) -> None:
    """Compressed ones of other compressors differ in their bytes, and in nothing else."""
    versions: dict[int, tuple[int, int]] = {}
    for frame in capture(name):
        message, _ = read(frame, versions)
        records = []
        if isinstance(message, ProduceRequest):
            records = [entry.records for topic in message.topics for entry in topic.entries]
        elif isinstance(message, StreamFetchResponse):
            records = [message.fetched.records]
        for view in records:
            check(view)


def check(view: memoryview) -> None:
    at = 0
    while at < len(view):
        whole = view[at : at + batch_bytes(view[at:])]
        batch = Intake().batch(whole, where="golden", base_offset=int.from_bytes(whole[:8], "big"))
        again = RecordSet()
        again.add(batch)
        [back] = again.buffers
        if batch.attributes:
            taken = Intake().batch(memoryview(back), where="golden", base_offset=batch.base_offset)
            assert (list(taken.numbered()), taken.codec) == (list(batch.numbered()), batch.codec)
        else:
            assert back == whole
        at += len(whole)
