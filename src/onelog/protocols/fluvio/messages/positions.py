"""Acknowledgements of streams, and the offsets that consumers left behind.

A consumer's offset is that of the last record it has done with.
"""

from onelog.binary.fields import array32, i64, option, text16, u32, u64
from onelog.binary.message import LENIENT, message
from onelog.protocols.fluvio.messages.error import Fault, error_code


@message()
class StreamOffset:
    """The next offset that a stream's reader wants."""

    offset: int = i64()
    stream_id: int = u32()


@message(lengths=LENIENT)
class UpdateOffsetsRequest:
    """What was taken from streams of this connection."""

    offsets: list[StreamOffset] = array32(StreamOffset)


@message()
class UpdatedOffset:
    """Whether the stream is there."""

    stream_id: int = u32()
    error: Fault = error_code()


@message()
class UpdateOffsetsResponse:
    """One for each."""

    offsets: list[UpdatedOffset] = array32(UpdatedOffset)


@message()
class UpdateConsumerOffsetRequest:
    """The last record that the consumer of a stream of this connection has done with."""

    offset: int = i64()
    stream_id: int = u32()


@message()
class UpdateConsumerOffsetResponse:
    """The offset that is kept."""

    offset: int = i64()
    error: Fault = error_code()


@message(lengths=LENIENT)
class DeleteConsumerOffsetRequest:
    """Forget one."""

    topic: str = text16()
    partition: int = u32()
    consumer_id: str = text16()


@message()
class DeleteConsumerOffsetResponse:
    """Whether it is gone."""

    error: Fault = error_code()


@message(lengths=LENIENT)
class Replica:
    """A partition of a topic."""

    topic: str = text16()
    partition: int = u32()


@message(lengths=LENIENT)
class ConsumerOffsetFilter:
    """Which are wanted; None: all."""

    replica: Replica | None = option(Replica)
    consumer_id: str | None = option(text16())


@message()
class FetchConsumerOffsetsRequest:
    """All of them, or those that are wanted."""

    filter: ConsumerOffsetFilter | None = option(ConsumerOffsetFilter, since=24)


@message(lengths=LENIENT)
class ConsumerOffset:
    """One of them; modified_s is in seconds since 1970."""

    consumer_id: str = text16()
    topic: str = text16()
    partition: int = u32()
    offset: int = i64()
    modified_s: int = u64()


@message()
class FetchConsumerOffsetsResponse:
    """Those that were found."""

    error: Fault = error_code()
    offsets: list[ConsumerOffset] = array32(ConsumerOffset)
