import pytest

from onelog.client.kafka.errors import KafkaError, check


def test_success_is_no_error() -> None:
    check(0, where="orders/3")


def test_an_error_has_its_code_its_name_and_its_place() -> None:
    with pytest.raises(KafkaError) as caught:
        check(6, where="orders/3")
    assert (caught.value.code, caught.value.name) == (6, "NOT_LEADER_OR_FOLLOWER")
    assert caught.value.retriable
    assert str(caught.value) == "orders/3: NOT_LEADER_OR_FOLLOWER (6)."


def test_the_brokers_own_message_is_shown() -> None:
    assert (
        str(KafkaError(40, where="orders", message="bad value.")) == "orders: INVALID_CONFIG (40): bad value."
    )


def test_what_people_meet_says_what_helps() -> None:
    assert "onelog topics list" in str(KafkaError(3, where="orders"))


def test_a_code_that_is_not_known_is_shown_as_a_number() -> None:
    error = KafkaError(999, where="orders")
    assert str(error) == "orders: ERROR_999 (999)."
    assert not error.retriable
