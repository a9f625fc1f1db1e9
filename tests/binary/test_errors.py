import pickle

from onelog.binary.errors import BinaryError, missing


def test_the_message_names_field_position_finding_and_expectation() -> None:
    assert str(missing("Ping.id", 7, needed=4, there=1)) == "Ping.id at byte 7: 1 bytes; expected 4 bytes"


def test_an_error_survives_pickling() -> None:
    error = BinaryError("a", 1, "b", "c")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert again.position == 1
