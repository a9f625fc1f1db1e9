from onelog.client.rustlog.errors import RustLogError
from onelog.protocols.rustlog.messages import binary
from onelog.protocols.rustlog.messages.json import Error


def test_an_error_has_its_code_its_name_and_the_facts() -> None:
    error = RustLogError(Error(code=416, message="Offset 5 out of range", details={"high_watermark": 3}))
    assert (error.code, error.name, error.details) == (416, "OFFSET_OUT_OF_RANGE", {"high_watermark": 3})
    assert str(error) == "OFFSET_OUT_OF_RANGE (416): Offset 5 out of range."
    assert not error.retriable


def test_what_is_the_brokers_own_fault_may_be_asked_again() -> None:
    assert RustLogError(Error(code=503, message="disk")).retriable


def test_a_code_that_is_not_known_is_shown_as_a_number() -> None:
    assert RustLogError(Error(code=418, message="tea")).name == "ERROR_418"


def test_the_binary_form_has_codes_of_its_own_and_no_facts() -> None:
    error = RustLogError(binary.Error(code=11, message="Topic 'a' already exists"))
    assert (error.name, error.details, error.retriable) == ("TOPIC_EXISTS", {}, False)
    assert RustLogError(binary.Error(code=500, message="disk")).name == "STORAGE"


def test_the_binary_form_does_not_say_what_to_do_where_there_is_no_such_topic_or_partition() -> None:
    assert all(RustLogError(binary.Error(code=code, message="no")).is_unknown_place for code in (10, 13, 14))
    assert not RustLogError(binary.Error(code=11, message="no")).is_unknown_place
    assert not RustLogError(Error(code=404, message="its words say it")).is_unknown_place
