"""SmartModules are refused by their names: to pass records on unfiltered would be a lie."""

from collections.abc import Sequence

from onelog.protocols.fluvio.errors import FluvioRefusal
from onelog.protocols.fluvio.messages.error import (
    DerivedStreamNotFound,
    Fault,
    SmartModuleInvalid,
    SmartModuleNotFound,
)
from onelog.protocols.fluvio.messages.fetch import StreamFetchRequest
from onelog.protocols.fluvio.messages.smartmodules import Predefined, SmartModuleInvocation

NO_ENGINE = "there is no engine here that runs SmartModules"


def refuse_smartmodules(wanted: Sequence[SmartModuleInvocation]) -> None:
    """A FluvioRefusal for the first of them, if there is one."""
    for each in wanted:
        raise FluvioRefusal(_fault(each), NO_ENGINE)


def refuse_programs(request: StreamFetchRequest) -> None:
    """The same for all the ways in which versions of a stream have asked for one."""
    refuse_smartmodules(request.smartmodules)
    if request.smartmodule is not None:
        raise FluvioRefusal(_fault(request.smartmodule), NO_ENGINE)
    if request.program:
        raise FluvioRefusal(SmartModuleInvalid(text=NO_ENGINE), NO_ENGINE)
    if request.derived_stream is not None:
        raise FluvioRefusal(DerivedStreamNotFound(name=request.derived_stream.name), NO_ENGINE)


def _fault(wanted: SmartModuleInvocation) -> Fault:
    if isinstance(wanted.module, Predefined):
        return SmartModuleNotFound(name=wanted.module.name)
    return SmartModuleInvalid(text=NO_ENGINE, name=wanted.name)
