from onelog.client.kafka.delivery import Delivery, Sent
from onelog.protocols.kafka.errors import Code
from onelog.protocols.kafka.messages.produce import PartitionProduceResponse
from onelog.records.batch import Batch
from onelog.records.record import Record


def delivery(*partitions: int) -> Delivery:
    return Delivery("orders", {p: Batch.build([Record(None, b"x", 1)] * 3) for p in partitions})


def answer(partition: int, code: Code = Code.NONE, offset: int = -1) -> PartitionProduceResponse:
    return PartitionProduceResponse(
        index=partition, error_code=code, base_offset=offset, log_append_time_ms=-1
    )


def test_an_acknowledged_batch_is_pending_no_more() -> None:
    one = delivery(0, 1)
    assert one.answered(answer(1, offset=40)) is None
    assert one.sent == [Sent(1, 40, 43)]
    assert list(one.pending) == [0]


def test_a_batch_that_the_log_had_already_is_sent_at_an_unknown_place() -> None:
    one = delivery(0)
    assert one.answered(answer(0, Code.DUPLICATE_SEQUENCE_NUMBER)) is None
    assert one.sent == [Sent(0, -1, -1)]


def test_a_refused_batch_stays_pending() -> None:
    one = delivery(0)
    refused = one.answered(answer(0, Code.NOT_LEADER_OR_FOLLOWER))
    assert refused is not None
    assert refused.where == "orders/0"
    assert 0 in one.pending
    assert not one.unsure


def test_a_new_producer_takes_over_once_and_only_while_nothing_may_be_in_the_log() -> None:
    one = delivery(0, 1)
    assert not one.may_renew(Code.NOT_LEADER_OR_FOLLOWER)
    assert one.may_renew(Code.UNKNOWN_PRODUCER_ID)
    one.lost([1])
    assert not one.may_renew(Code.UNKNOWN_PRODUCER_ID)
    one.answered(answer(1, offset=0))
    assert one.may_renew(Code.UNKNOWN_PRODUCER_ID)
    one.answered(answer(0, Code.REQUEST_TIMED_OUT))
    assert not one.may_renew(Code.UNKNOWN_PRODUCER_ID)
    one = delivery(0)
    one.renew()
    assert not one.may_renew(Code.UNKNOWN_PRODUCER_ID)
