"""Clients of one group as real ones behave: told to join, they join; told what they have, they read it.

A client goes on from the committed position of what it gets, and commits as it reads. It may
stop being heard of at any moment, and still commit later, as a process does that was held up.
"""

from dataclasses import dataclass, field

from onelog.broker.groups.words import (
    CommitAs,
    Heartbeat,
    Joined,
    LeaveGroup,
    Leaving,
    Membership,
    Synced,
    SyncGroup,
)
from onelog.errors import (
    FencedInstance,
    GroupFull,
    MemberIdRequired,
    OnelogError,
    RebalanceInProgress,
    StaleGeneration,
    UnknownGroup,
    UnknownMember,
)
from tests.support.group_room import GROUP, Room

PARTITIONS = range(4)


@dataclass
class Book:
    """What was promised to clients: who had what in which generation, and how far each partition was read."""

    owners: dict[tuple[int, int], str] = field(default_factory=dict)
    positions: dict[int, int] = field(default_factory=dict)
    generation: int = 0

    def saw(self, generation: int) -> None:
        assert generation >= self.generation, "a generation came after a later one"
        self.generation = generation

    def owns(self, generation: int, partition: int, owner: str) -> None:
        known = self.owners.setdefault((generation, partition), owner)
        assert known == owner, f"partition {partition} of generation {generation} has two owners"

    def committed(self, partition: int, offset: int) -> None:
        assert offset >= self.positions.get(partition, 0), "a position was turned back"
        self.positions[partition] = offset


class Client:
    """One process that reads for the group."""

    def __init__(self, room: Room, book: Book, name: str, *, instance: str | None, is_modern: bool) -> None:
        self._room, self._book = room, book
        self.name, self.instance, self._is_modern = name, instance, is_modern
        self.member = ""
        self.generation = -1
        self.is_alive = True
        self.reads: dict[int, int] = {}
        self.has_work = False
        self._join_ask: int | None = None
        self._sync_ask: int | None = None
        self._joined: Joined | None = None

    @property
    def is_settled(self) -> bool:
        return self.has_work

    def lose_connection(self) -> None:
        """The broker has started anew: whatever was asked is asked again."""
        if self._join_ask is not None or self._sync_ask is not None:
            self._join_ask = self._sync_ask = self._joined = None

    def act(self) -> None:
        """Do what is next: take an answer, join, sync, or say that one is there."""
        if self._join_ask is not None:
            self._take_join()
        elif self._sync_ask is not None:
            self._take_sync()
        elif self.has_work:
            self._tell(self._room.ask(Heartbeat(GROUP, self._by())))
        elif self._joined is not None:
            self._sync(self._joined)
        else:
            self._join()

    def commit(self) -> None:
        """Read on, and commit what is read; also by one who is not heard of any more."""
        if not self.reads:
            return
        offsets = {partition: offset + 1 for partition, offset in self.reads.items()}
        outcome = self._room.outcomes[self._room.ask(CommitAs(GROUP, self._by(), is_known=True))]
        if outcome is None:
            self.reads = offsets
            for partition, offset in offsets.items():
                self._room.keep_position(partition, offset)
                self._book.committed(partition, offset)
        else:
            self._refused(outcome)

    def leave(self) -> None:
        """Go in an orderly way; an instance says nothing, it means to come back."""
        self.is_alive = False
        if self.instance is None and self.member:
            self._room.ask(LeaveGroup(GROUP, [Leaving(self.member)]))
            self.reads = {}

    def _by(self) -> Membership:
        return Membership(self.member, self.generation, self.instance)

    def _join(self) -> None:
        self._join_ask = self._room.join(
            self.member,
            instance=self.instance,
            client_id=self.name,
            needs_known_id=self._is_modern,
            may_skip_assignment=self._is_modern,
        )
        self._take_join()

    def _take_join(self) -> None:
        assert self._join_ask is not None
        if self._room.waits(self._join_ask):
            return
        outcome = self._room.outcomes[self._join_ask]
        self._join_ask = None
        if isinstance(outcome, MemberIdRequired):
            self.member = outcome.member
        elif isinstance(outcome, Joined):
            self.member, self.generation, self._joined = outcome.member, outcome.generation, outcome
            self.reads = {}
        else:
            self._refused(outcome)

    def _sync(self, joined: Joined) -> None:
        shares = {}
        if joined.leader == self.member and not joined.skips_assignment:
            names = [member.member for member in joined.members]
            shares = {name: bytes(PARTITIONS[place :: len(names)]) for place, name in enumerate(names)}
        self._sync_ask = self._room.ask(SyncGroup(GROUP, self._by(), shares))
        self._joined = None
        self._take_sync()

    def _take_sync(self) -> None:
        assert self._sync_ask is not None
        if self._room.waits(self._sync_ask):
            return
        outcome = self._room.outcomes[self._sync_ask]
        self._sync_ask = None
        if not isinstance(outcome, Synced):
            self._refused(outcome)
            return
        self.has_work = True
        for partition in outcome.assignment:
            self._book.owns(self.generation, partition, self.instance or self.member)
            self.reads[partition] = self._room.position(partition)

    def _tell(self, ask: int) -> None:
        outcome = self._room.outcomes[ask]
        if outcome is not None:
            self._refused(outcome)

    def _refused(self, error: object) -> None:
        assert isinstance(
            error,
            RebalanceInProgress | UnknownMember | StaleGeneration | UnknownGroup | FencedInstance | GroupFull,
        ), error
        assert isinstance(error, OnelogError)
        if isinstance(error, FencedInstance):
            self.is_alive = False
        if not isinstance(error, RebalanceInProgress):
            # Its partitions may be somebody else's by now.
            self.reads = {}
        if isinstance(error, UnknownMember | UnknownGroup):
            self.member = ""
        self.has_work = False
