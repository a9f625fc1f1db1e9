"""Which producer ids were given out. Pure.

Ids are reserved in blocks, so that one durable row serves a thousand producers; what is left
of a block at a stop is never given out.
"""

from dataclasses import dataclass

from onelog.model import ProducerId

BLOCK_SIZE = 1000


@dataclass(frozen=True, slots=True)
class Reserved:
    """Ids below `end` may have been given out."""

    end: int


@dataclass(frozen=True, slots=True)
class Given:
    """One id is taken; lasts only as part of its block."""

    id: ProducerId


Change = Reserved | Given


@dataclass
class ProducersState:
    """The next id, and where the reserved ones end. Owned by the service; changed by apply alone."""

    next: int = 0
    reserved_end: int = 0


def decide(state: ProducersState) -> tuple[list[Change], ProducerId]:
    """A new id, and a new block where the old one is used up."""
    producer_id = ProducerId(state.next)
    if state.next < state.reserved_end:
        return [Given(producer_id)], producer_id
    return [Reserved(state.next + BLOCK_SIZE), Given(producer_id)], producer_id


def apply(state: ProducersState, change: Change) -> None:
    """Make the change true in memory."""
    match change:
        case Reserved(end):
            state.reserved_end = end
        case Given(producer_id):
            state.next = producer_id + 1
