import pytest

from onelog.client.fluvio.errors import Evicted, FluvioError, check
from onelog.protocols.fluvio.messages.error import Code, OffsetEvicted, Other, SmartModuleNotFound


def test_no_error_is_none() -> None:
    check(0, doing="asking")
    check(Code.NONE, doing="asking")


@pytest.mark.parametrize(
    ("fault", "text", "said"),
    [
        (2001, None, "TOPIC_NOT_FOUND (2001) while asking."),
        (2004, "too short", "TOPIC_INVALID_CONFIGURATION (2004) while asking: too short."),
        (Other(text="why"), None, "OTHER (2) while asking: why."),
        (SmartModuleNotFound(name="nope"), None, "SMART_MODULE_NOT_FOUND (6001) while asking: nope."),
        (4242, None, "UNKNOWN_SERVER_ERROR (-1) while asking."),
    ],
)
def test_a_refusal_says_its_code_and_what_it_carries(fault: object, text: str | None, said: str) -> None:
    with pytest.raises(FluvioError) as found:
        check(fault, doing="asking", text=text)
    assert (str(found.value), found.value.fault) == (said, fault)


def test_only_what_may_change_soon_is_asked_again() -> None:
    again = {code for code in Code if code and FluvioError(code, doing="x").retriable}
    assert again == {
        Code.NOT_LEADER_FOR_PARTITION,
        Code.PARTITION_NOT_LEADER,
        Code.PARTITION_PENDING_INITIALIZATION,
        Code.TOPIC_PENDING_INITIALIZATION,
        Code.SPU_OFFLINE,
    }


def test_an_offset_that_is_gone_tells_where_to_go_on() -> None:
    with pytest.raises(Evicted, match="offset 3 is gone; the first there is is 9") as found:
        check(OffsetEvicted(offset=3, next_available=9), doing="reading")
    assert found.value.next_available == 9
