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


def test_who_took_the_connection_and_gave_no_right_answer_is_not_said_to_be_absent() -> None:
    stranger = ConnectionLost(
        address="h:1", doing="asking for its versions", found="no answer in time", sent=True, is_stranger=True
    )
    error = stranger.given_up(attempts=1, waited_s=0.04)
    assert (error.is_stranger, OutcomeUnknown(stranger).is_stranger) == (True, True)
    assert str(error).startswith("what listens at h:1 gave no right answer: no answer in time while asking")
    assert "Is it running there?" not in str(error)
    assert not lost().given_up(attempts=1, waited_s=0.04).is_stranger


def test_an_error_of_a_single_attempt_does_not_speak_of_attempts() -> None:
    assert str(ClientError("no.").given_up(attempts=1, waited_s=1)) == "no."


def test_an_unknown_outcome_says_that_it_may_have_been_done() -> None:
    assert "may have done it" in str(OutcomeUnknown(lost()))
    assert not OutcomeUnknown(lost()).retriable
