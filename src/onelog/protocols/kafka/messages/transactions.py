"""Producers with a number: InitProducerId (22)."""

from onelog.binary.fields import i16, i32, i64, text16
from onelog.binary.message import SIGNED, message


@message(flexible=2, lengths=SIGNED)
class InitProducerIdRequest:
    """A number for a producer, so that its repetitions can be told."""

    transactional_id: str | None = text16(nullable=True)
    transaction_timeout_ms: int = i32()
    producer_id: int = i64(since=3, default=-1)
    producer_epoch: int = i16(since=3, default=-1)


@message(flexible=2, lengths=SIGNED)
class InitProducerIdResponse:
    """The number, and its epoch."""

    throttle_time_ms: int = i32()
    error_code: int = i16()
    producer_id: int = i64(default=-1)
    producer_epoch: int = i16()
