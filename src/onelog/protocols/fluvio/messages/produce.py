"""Produce: record sets for partitions, and where each of them went.

    programs   partition u32 | length i32 | batches
    document   partition u32 | batch, which says its own length

The document's form is that of version 7, with the list of SmartModules that programs send from
version 8 on. Below that, both forms of records are read, each with the list or without it,
whichever is the whole of the frame. An error never carries anything there.
"""

from collections.abc import Callable
from typing import Any, Final

from onelog.binary.cursor import Reader
from onelog.binary.errors import BinaryError
from onelog.binary.fields import array32, i16, i32, i64, option, records32, text16, u32
from onelog.binary.message import LENIENT, codec, message
from onelog.protocols.fluvio.messages.error import Fault, code_of, error_code
from onelog.protocols.fluvio.messages.form import Form
from onelog.protocols.fluvio.messages.smartmodules import SmartModuleInvocation

Buffer = bytes | bytearray | memoryview

# From here on there is one form, and errors carry what they have to say.
PROGRAMS_SINCE: Final = 8
# A negative one asks that the records be committed.
READ_UNCOMMITTED: Final = 1
READ_COMMITTED: Final = -1

_SIZE_BYTES: Final = 12
_BATCH_BYTES_MIN: Final = 57
_MAGIC_AT: Final = 16
_MAGIC: Final = 2


@message(lengths=LENIENT)
class ProduceEntry:
    """Batches for one partition, back to back. One request may have many entries for it."""

    partition: int = u32()
    records: Any = records32()


@message(lengths=LENIENT)
class ProduceTopic:
    """The entries of a topic; a flush sends none."""

    name: str = text16()
    entries: list[ProduceEntry] = array32(ProduceEntry)


@message(lengths=LENIENT)
class ProduceRequest:
    """Records to append. The list of SmartModules is the document's in its own version, too."""

    transactional_id: str | None = option(text16())
    isolation: int = i16(default=READ_UNCOMMITTED)
    timeout_ms: int = i32()
    topics: list[ProduceTopic] = array32(ProduceTopic)
    smartmodules: list[SmartModuleInvocation] = array32(SmartModuleInvocation, since=PROGRAMS_SINCE)


@message()
class ProducedEntry:
    """What became of an entry; they stand in the order of the request."""

    partition: int = u32()
    code: int = i16(until=PROGRAMS_SINCE - 1)
    error: Fault = error_code(since=PROGRAMS_SINCE)
    base_offset: int = i64()
    append_time_ms: int = i64(since=2)
    log_start: int = i64(since=5)

    @property
    def fault(self) -> Fault:
        """The error, in the version that this was said in."""
        return self.error or self.code


@message(lengths=LENIENT)
class ProducedTopic:
    """The entries of a topic."""

    name: str = text16()
    entries: list[ProducedEntry] = array32(ProducedEntry)


@message()
class ProduceResponse:
    """The answer of all topics."""

    topics: list[ProducedTopic] = array32(ProducedTopic)
    throttle_ms: int = i32(since=1)


def produced(
    partition: int, error: Fault = 0, *, base_offset: int = 0, append_time_ms: int = 0, log_start: int = 0
) -> ProducedEntry:
    """What is said of an entry, in every version."""
    return ProducedEntry(
        partition=partition,
        code=code_of(error),
        error=error,
        base_offset=base_offset,
        append_time_ms=append_time_ms,
        log_start=log_start,
    )


def decode_request(view: memoryview, pos: int, version: int) -> tuple[ProduceRequest, int]:
    """The request, in the form that it has; BinaryError where it has none."""
    if version >= PROGRAMS_SINCE:
        request, end = codec(ProduceRequest, version).decode(view, pos)
    else:
        request, end = _decode_either(view, pos, version)
    if request.timeout_ms < 0:
        raise BinaryError("timeout_ms", pos, str(request.timeout_ms), "0 or more")
    return request, end


def encode_request(request: ProduceRequest, version: int) -> list[Buffer]:
    """As programs send it."""
    return codec(ProduceRequest, version).encode(request)


FORM: Final = Form(decode_request, encode_request)
RESPONSE_FORM: Final = Form(
    lambda view, pos, version: codec(ProduceResponse, version).decode(view, pos),
    lambda response, version: codec(ProduceResponse, version).encode(response),
)


def _decode_either(view: memoryview, pos: int, version: int) -> tuple[ProduceRequest, int]:
    first: BinaryError | None = None
    for records in (_sized, _batch):
        for has_list in (True, False):
            try:
                return _request(view, pos, version, records=records, has_list=has_list), len(view)
            except BinaryError as error:
                first = first or error
    assert first is not None
    raise first


def _request(
    view: memoryview, pos: int, version: int, *, records: Callable[[Reader], memoryview], has_list: bool
) -> ProduceRequest:
    """The request, if it is the whole of what is there in this form."""
    reader = Reader(view, pos=pos)
    request = ProduceRequest(transactional_id=_option(reader), isolation=reader.i16("isolation"))
    request.timeout_ms = reader.i32("timeout_ms")
    for _ in range(_count(reader, "topics", least_bytes=6)):
        topic = ProduceTopic(name=_text(reader, "topic"))
        for _ in range(_count(reader, "entries", least_bytes=8)):
            partition = reader.u32("partition")
            topic.entries.append(ProduceEntry(partition=partition, records=records(reader)))
        request.topics.append(topic)
    if has_list:
        for _ in range(_count(reader, "smartmodules", least_bytes=4)):
            module, reader.pos = codec(SmartModuleInvocation, version).decode(view, reader.pos)
            request.smartmodules.append(module)
    if reader.left:
        raise BinaryError("request", reader.pos, f"{reader.left} bytes more", "its end")
    return request


def _sized(reader: Reader) -> memoryview:
    return reader.take(max(reader.i32("records"), 0), "records")


def _batch(reader: Reader) -> memoryview:
    """A batch that says its own length; one of another magic is something else, read in the wrong form."""
    start = reader.pos
    head = reader.take(_BATCH_BYTES_MIN, "batch")
    size = _SIZE_BYTES + int.from_bytes(head[8:_SIZE_BYTES], "big", signed=True)
    if size < _BATCH_BYTES_MIN or head[_MAGIC_AT] != _MAGIC:
        raise BinaryError("batch", start, f"{size} bytes of magic {head[_MAGIC_AT]}", "a batch of magic 2")
    reader.pos = start
    return reader.take(size, "batch")


def _count(reader: Reader, field: str, *, least_bytes: int) -> int:
    return reader.count(max(reader.i32(field), 0), field, least_bytes=least_bytes)


def _text(reader: Reader, field: str) -> str:
    return reader.text(max(reader.i16(field), 0), field)


def _option(reader: Reader) -> str | None:
    tag = reader.u8("transactional_id")
    if tag > 1:
        raise BinaryError("transactional_id", reader.pos - 1, f"the byte {tag}", "0 or 1")
    return _text(reader, "transactional_id") if tag else None
