"""A refusal of Fluvio's: its code, and what the code carries in words."""

from onelog.client.errors import ClientError
from onelog.errors import counted
from onelog.protocols.fluvio.messages.error import Code, Fault, OffsetEvicted, code_of

# Asked again, with fresh metadata, it may be granted.
_RETRIABLE = frozenset(
    (
        Code.NOT_LEADER_FOR_PARTITION,
        Code.PARTITION_NOT_LEADER,
        Code.PARTITION_PENDING_INITIALIZATION,
        Code.TOPIC_PENDING_INITIALIZATION,
        Code.SPU_OFFLINE,
    )
)


class FluvioError(ClientError):
    """What a controller or a unit said no to."""

    def __init__(self, fault: Fault, *, doing: str, text: str | None = None) -> None:
        self.code = code_of(fault)
        self.fault = fault
        said = text or getattr(fault, "text", "") or getattr(fault, "name", "")
        words = f": {said}" if said and not isinstance(fault, Code) else f": {text}" if text else ""
        super().__init__(
            f"{self.code.name} ({self.code.value}) while {doing}{words}.", retriable=self.code in _RETRIABLE
        )
        self.is_unknown_place = self.code is Code.TOPIC_NOT_FOUND


class Evicted(FluvioError):
    """An offset whose record is no more: where to go on."""

    def __init__(self, fault: OffsetEvicted, *, doing: str) -> None:
        text = f"offset {fault.offset} is gone; the first there is is {fault.next_available}"
        super().__init__(fault, doing=doing, text=text)
        self.next_available = fault.next_available


class NoSuchPartition(FluvioError):
    """A partition that its topic does not have. Fluvio has no code for that alone."""

    def __init__(self, topic: str, partition: int, partition_count: int) -> None:
        super().__init__(Code.TOPIC_NOT_FOUND, doing=f"looking for {topic}/{partition}")
        count = counted(partition_count, "partition")
        self.reason = f"{topic}/{partition}: the topic has {count}, counted from 0."


def check(fault: Fault, *, doing: str, text: str | None = None) -> None:
    """Raise what the fault says, unless it says that all is well."""
    if isinstance(fault, OffsetEvicted):
        raise Evicted(fault, doing=doing)
    if fault != 0:
        raise FluvioError(fault, doing=doing, text=text)
