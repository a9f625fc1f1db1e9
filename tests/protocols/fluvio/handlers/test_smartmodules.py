"""There is no engine: whatever asks for one is refused, by the name that it gave."""

import pytest

from onelog.protocols.fluvio.errors import FluvioRefusal
from onelog.protocols.fluvio.handlers.smartmodules import NO_ENGINE, refuse_programs, refuse_smartmodules
from onelog.protocols.fluvio.messages.error import (
    DerivedStreamNotFound,
    Fault,
    SmartModuleInvalid,
    SmartModuleNotFound,
)
from onelog.protocols.fluvio.messages.fetch import StreamFetchRequest
from onelog.protocols.fluvio.messages.smartmodules import (
    AdHoc,
    DerivedStream,
    Predefined,
    SmartModuleInvocation,
)

NAMED = SmartModuleInvocation(module=Predefined(name="dedup"))
BROUGHT = SmartModuleInvocation(module=AdHoc(program=b"\x1f\x8b"), name="mine")


def test_nothing_asked_for_is_nothing_refused() -> None:
    refuse_smartmodules([])
    refuse_programs(StreamFetchRequest())


@pytest.mark.parametrize(
    ("request_", "fault"),
    [
        (StreamFetchRequest(smartmodules=[NAMED, BROUGHT]), SmartModuleNotFound(name="dedup")),
        (StreamFetchRequest(smartmodules=[BROUGHT]), SmartModuleInvalid(text=NO_ENGINE, name="mine")),
        (StreamFetchRequest(smartmodule=NAMED), SmartModuleNotFound(name="dedup")),
        (StreamFetchRequest(program=b"\0asm"), SmartModuleInvalid(text=NO_ENGINE)),
        (StreamFetchRequest(derived_stream=DerivedStream(name="d")), DerivedStreamNotFound(name="d")),
    ],
)
def test_each_way_to_ask_is_refused_by_its_name(request_: StreamFetchRequest, fault: Fault) -> None:
    with pytest.raises(FluvioRefusal) as refused:
        refuse_programs(request_)
    assert refused.value.fault == fault
