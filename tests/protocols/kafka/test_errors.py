import pytest

from onelog.errors import ErrorCode, OnelogError, UnknownTopic
from onelog.protocols.kafka.errors import CODES, RETRIABLE, Code, KafkaRefusal, code_name, code_of


def test_every_refusal_has_a_code_in_kafka() -> None:
    assert set(CODES) == set(ErrorCode)


def test_no_refusal_is_spelled_as_success_or_as_our_fault() -> None:
    assert all(code > 0 for code in CODES.values())


def test_what_may_be_tried_again_is_said_with_a_code_that_clients_try_again() -> None:
    for kind in OnelogError.__subclasses__():
        if kind.retriable:
            assert CODES[kind.code] in RETRIABLE, kind


def test_out_of_range_is_final_and_a_missing_replica_is_not() -> None:
    assert Code.OFFSET_OUT_OF_RANGE not in RETRIABLE
    assert Code.REPLICA_NOT_AVAILABLE in RETRIABLE


def test_the_codes_of_transactions_begin_at_47() -> None:
    names = [Code(number).name for number in range(47, 56)]
    assert names == [
        "INVALID_PRODUCER_EPOCH",
        "INVALID_TXN_STATE",
        "INVALID_PRODUCER_ID_MAPPING",
        "INVALID_TRANSACTION_TIMEOUT",
        "CONCURRENT_TRANSACTIONS",
        "TRANSACTION_COORDINATOR_FENCED",
        "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
        "SECURITY_DISABLED",
        "OPERATION_NOT_ATTEMPTED",
    ]


def test_our_own_faults_are_never_answers() -> None:
    with pytest.raises(AssertionError):
        code_of(AssertionError())
    assert code_of(UnknownTopic(topic="orders")) is Code.UNKNOWN_TOPIC_OR_PARTITION


def test_a_code_that_is_not_known_here_has_a_name_all_the_same() -> None:
    assert code_name(3) == "UNKNOWN_TOPIC_OR_PARTITION"
    assert code_name(999) == "ERROR_999"


def test_a_refusal_of_kafka_alone_carries_its_code() -> None:
    refusal = KafkaRefusal(Code.INVALID_REQUIRED_ACKS, "acks 2")
    assert code_of(refusal) is Code.INVALID_REQUIRED_ACKS
    assert str(refusal) == "acks 2"
