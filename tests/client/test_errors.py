from onelog.client.errors import BrokerUnavailable, ClientError, ConnectionLost, OutcomeUnknown


def lost() -> ConnectionLost:
    return ConnectionLost(address="h:1", doing="producing to orders/3", found="no answer in time", sent=True)


def test_a_lost_connection_names_the_address_what_was_done_and_what_happened() -> None:
    assert str(lost()) == "h:1: no answer in time while producing to orders/3."
    assert lost().retriable


def test_at_the_end_of_a_row_a_lost_connection_is_an_unavailable_broker() -> None:
    error = lost().given_up(attempts=1, waited_s=0.04)
    assert isinstance(error, BrokerUnavailable)
    assert not error.retriable
    assert "Gave up after 1 attempt in 0.0 s. Is it running there?" in str(error)


def test_an_error_of_a_single_attempt_does_not_speak_of_attempts() -> None:
    assert str(ClientError("no.").given_up(attempts=1, waited_s=1)) == "no."


def test_an_unknown_outcome_says_that_it_may_have_been_done() -> None:
    assert "may have done it" in str(OutcomeUnknown(lost()))
    assert not OutcomeUnknown(lost()).retriable
