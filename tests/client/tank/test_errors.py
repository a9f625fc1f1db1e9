from onelog.client.tank.errors import OutOfRange, TankError
from onelog.protocols.tank.errors import Code, CreateCode
from onelog.protocols.tank.messages.fetch import Outcome


def test_a_refusal_has_its_code_its_name_and_what_was_refused() -> None:
    error = TankError(0x0A, Code, doing="producing to orders/0")
    assert (error.code, error.name, error.retriable) == (10, "INVALID", False)
    assert str(error) == "INVALID (0x0a) while producing to orders/0."


def test_a_code_that_is_not_known_is_shown_as_a_number() -> None:
    assert TankError(99, Code, doing="producing").name == "CODE_99"


def test_what_may_be_done_later_may_be_asked_again() -> None:
    assert TankError(Code.NO_LEADER, Code, doing="producing").retriable
    assert TankError(Outcome.NO_LEADER, Outcome, doing="fetching").retriable
    assert not TankError(CreateCode.INVALID_CONFIG, CreateCode, doing="creating").retriable


def test_out_of_range_says_what_there_is() -> None:
    error = OutOfRange(first_available=3, last=9, doing="fetching from orders")
    assert (error.first_available, error.last) == (3, 9)
    assert str(error) == "OUT_OF_RANGE (0x01) while fetching from orders: the partition holds 3 to 9."


def test_a_topic_or_partition_that_is_not_there_is_known_by_whose_code_it_is() -> None:
    assert TankError(0xFF, Code, doing="producing").is_unknown_place
    assert TankError(0x01, Code, doing="producing").is_unknown_place
    assert TankError(0xFF, Outcome, doing="fetching").is_unknown_place
    assert not TankError(0x01, Outcome, doing="fetching").is_unknown_place
    assert not TankError(0x01, CreateCode, doing="creating").is_unknown_place
