"""A TANK broker's refusal: a number of one byte, and what it stands for where it was given."""

from collections.abc import Mapping, Sequence
from enum import IntEnum

from onelog.client.errors import ClientError
from onelog.protocols.tank.errors import Code, CreateCode
from onelog.protocols.tank.messages.fetch import Outcome

# Nothing was done, and soon it might be. (That a broker's disk failed leaves open what was done.)
_RETRIABLE = frozenset((Code.TOO_FEW_REPLICAS, Code.NO_LEADER, Outcome.NO_LEADER))
# By whose codes they are: numbers mean different things in different answers.
_UNKNOWN_PLACE: Mapping[type[IntEnum], Sequence[int]] = {
    Code: (Code.UNKNOWN_TOPIC, Code.UNKNOWN_PARTITION),
    Outcome: (Outcome.UNKNOWN_PARTITION,),
}


class TankError(ClientError):
    """What a broker said no to, and of what."""

    def __init__(self, code: int, kind: type[IntEnum], *, doing: str) -> None:
        self.code = code
        self.name = next((known.name for known in kind if known == code), f"CODE_{code}")
        again = kind is not CreateCode and code in _RETRIABLE
        super().__init__(f"{self.name} ({code:#04x}) while {doing}.", retriable=again)
        self.is_unknown_place = code in _UNKNOWN_PLACE.get(kind, ())


class OutOfRange(TankError):
    """A sequence that the partition does not have: what there is instead."""

    def __init__(self, *, first_available: int, last: int, doing: str) -> None:
        super().__init__(Outcome.OUT_OF_RANGE, Outcome, doing=doing)
        self.first_available = first_available
        self.last = last
        self.reason = f"{self.reason[:-1]}: the partition holds {first_available} to {last}."
