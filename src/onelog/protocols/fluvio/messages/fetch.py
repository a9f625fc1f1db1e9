"""Where records begin and end, one look at them, and streams of them.

Isolation is a byte here, 0 for what is in the log and 1 for what is committed; in Produce it is
1 and -1, of 16 bits.
"""

from typing import Any

from onelog.binary.fields import array32, bytes32, i32, i64, option, records32, struct, text16, u8, u32
from onelog.binary.message import LENIENT, message
from onelog.protocols.fluvio.messages.error import Fault, error_code
from onelog.protocols.fluvio.messages.smartmodules import DerivedStream, SmartModuleInvocation

# ---- FetchOffsets


@message(lengths=LENIENT)
class OffsetsTopic:
    """Partitions of a topic."""

    name: str = text16()
    partitions: list[int] = array32(u32())


@message(lengths=LENIENT)
class FetchOffsetsRequest:
    """Where partitions begin and end; in one version also for a consumer, which begins behind its offset."""

    topics: list[OffsetsTopic] = array32(OffsetsTopic)
    consumer_id: str | None = option(text16(), since=23, until=23)


@message()
class PartitionOffsets:
    """The first offset that there is, and the one behind the last that is committed."""

    error: Fault = error_code()
    partition: int = u32()
    start: int = i64()
    last_stable: int = i64()


@message(lengths=LENIENT)
class FetchedOffsetsTopic:
    """The partitions of a topic."""

    name: str = text16()
    partitions: list[PartitionOffsets] = array32(PartitionOffsets)


@message()
class FetchOffsetsResponse:
    """The answer of all topics."""

    topics: list[FetchedOffsetsTopic] = array32(FetchedOffsetsTopic)


# ---- StreamFetch


@message(lengths=LENIENT)
class StreamFetchRequest:
    """Records from an offset on, for as long as they are acknowledged."""

    topic: str = text16()
    partition: int = u32()
    fetch_offset: int = i64()
    bytes_max: int = i32()
    isolation: int = u8()
    program: bytes = bytes32(since=11, until=18)
    smartmodule: SmartModuleInvocation | None = option(SmartModuleInvocation, since=16, until=18)
    derived_stream: DerivedStream | None = option(DerivedStream, since=16, until=18)
    smartmodules: list[SmartModuleInvocation] = array32(SmartModuleInvocation, since=18)
    consumer_id: str | None = option(text16(), since=23)


@message()
class AbortedTransaction:
    """Never there: what is undone is not sent."""

    producer_id: int = i64()
    first_offset: int = i64()


@message()
class FetchedPartition:
    """Whole batches of a partition. next_filter_offset: where to go on, if that is not behind them; or 0."""

    partition: int = u32()
    error: Fault = error_code()
    high_watermark: int = i64()
    next_filter_offset: int = i64(since=11)
    log_start: int = i64()
    aborted: list[AbortedTransaction] | None = option(array32(AbortedTransaction))
    records: Any = records32(default=b"")


@message(lengths=LENIENT)
class StreamFetchResponse:
    """One frame of a stream. stream_id is what acknowledgements name; 0: there is no stream."""

    topic: str = text16()
    stream_id: int = u32()
    fetched: FetchedPartition = struct(FetchedPartition)


# ---- Fetch


@message()
class FetchPartition:
    """From where, and how much."""

    partition: int = u32()
    leader_epoch: int = i32(since=9)
    fetch_offset: int = i64()
    log_start: int = i64(since=5)
    bytes_max: int = i32()


@message(lengths=LENIENT)
class FetchTopic:
    """Partitions of a topic."""

    name: str = text16()
    partitions: list[FetchPartition] = array32(FetchPartition)


@message(lengths=LENIENT)
class ForgottenTopic:
    """Of sessions, which there are none of."""

    name: str = text16()
    partitions: list[int] = array32(i32())


@message(lengths=LENIENT)
class FetchRequest:
    """Records of many partitions, once."""

    wait_ms: int = i32()
    bytes_min: int = i32()
    bytes_max: int = i32(since=3)
    isolation: int = u8(since=4)
    topics: list[FetchTopic] = array32(FetchTopic)
    forgotten: list[ForgottenTopic] = array32(ForgottenTopic, since=7)


@message(lengths=LENIENT)
class FetchedTopic:
    """The partitions of a topic."""

    name: str = text16()
    partitions: list[FetchedPartition] = array32(FetchedPartition)


@message()
class FetchResponse:
    """The answer of all topics."""

    throttle_ms: int = i32()
    error: Fault = error_code()
    session_id: int = i32()
    topics: list[FetchedTopic] = array32(FetchedTopic)
