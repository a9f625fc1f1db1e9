"""One group, decided about by hand: no loop, no disk, no clock but a number.

What would last is kept as rows of SQLite in memory, so that a room can be restarted at any
moment; what is asked gets a number, under which its outcome is found once it is there.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from onelog.broker.groups import rows
from onelog.broker.groups.group import Group, GroupLimits, Member
from onelog.broker.groups.state import GroupsState, apply, decide
from onelog.broker.groups.words import (
    NOBODY,
    Command,
    CommitAs,
    Forget,
    Heartbeat,
    Joined,
    JoinGroup,
    LeaveGroup,
    Leaving,
    MemberProtocol,
    Membership,
    Moment,
    Outcome,
    Phase,
    Resume,
    SyncGroup,
    TimePassed,
)
from onelog.broker.positions import rows as position_rows
from onelog.broker.positions import state as positions
from onelog.broker.positions.state import PositionsState
from onelog.broker.values import Position
from onelog.errors import OnelogError

GROUP = "billing"
TOPIC_ID = UUID(int=1)
WALL_MS = 1_800_000_000_000
SESSION_MS = 10_000
REBALANCE_MS = 60_000
DELAY_MS = 3_000
LIMITS = GroupLimits(
    session_timeout_min_ms=6_000,
    session_timeout_max_ms=1_800_000,
    initial_rebalance_delay_ms=DELAY_MS,
    members_max=10,
    member_bytes_max=1_000,
)


def protocols(
    *names: str, said: bytes = b"", topics: Sequence[str] | None = ()
) -> tuple[MemberProtocol, ...]:
    """Ways of sharing the work, the most wanted first."""
    read = None if topics is None else frozenset(topics)
    return tuple(MemberProtocol(name, said or name.encode(), read) for name in names)


class Room:
    """Where one group meets."""

    def __init__(self, **limits: Any) -> None:
        self.limits = replace(LIMITS, **limits)
        self.state = GroupsState()
        self.now_ms = 0
        self.outcomes: dict[int, Outcome] = {}
        self.last_ask = 0
        self.written: list[str] = []
        self._names = 0
        self._rows = sqlite3.connect(":memory:")
        self.positions = PositionsState()
        for statement in (*rows.TABLES, *position_rows.TABLES, *position_rows.TIMES):
            self._rows.execute(statement)

    @property
    def group(self) -> Group:
        return self.state.by_name[GROUP]

    @property
    def phase(self) -> Phase | None:
        """None: there is no such group."""
        group = self.state.by_name.get(GROUP)
        return group.phase if group is not None else None

    @property
    def names(self) -> list[str]:
        return list(self.group.members)

    def member(self, name: str) -> Member:
        return self.group.members[name]

    def do(self, command: Command) -> None:
        """Decide, keep, and make it true."""
        at = Moment(self.now_ms, WALL_MS + self.now_ms)
        changes, answers = decide(self.state, command, at=at, limits=self.limits)
        for change in changes:
            self._keep(rows.statements(change))
            apply(self.state, change)
        for ask, outcome in answers:
            assert ask not in self.outcomes, "answered twice"
            assert not isinstance(outcome, Joined) or outcome.generation == self.group.generation
            self.outcomes[ask] = outcome

    def ask(self, command: Any) -> int:
        """Ask, and go on; the number of the asking."""
        self.last_ask += 1
        self.do(replace(command, ask=self.last_ask))
        return self.last_ask

    def told(self, command: Any) -> Any:
        """Ask what is answered at once; a refusal is raised."""
        return self.outcome(self.ask(command))

    def outcome(self, ask: int) -> Any:
        """What an asking came to; a refusal is raised."""
        outcome = self.outcomes[ask]
        if isinstance(outcome, OnelogError):
            raise outcome
        return outcome

    def waits(self, ask: int) -> bool:
        return ask not in self.outcomes

    def _found(self, sql: str) -> list[tuple[Any, ...]]:
        return self._rows.execute(sql).fetchall()

    def _keep(self, statements: Sequence[tuple[str, tuple[Any, ...]]]) -> None:
        for sql, values in statements:
            self.written.append(sql.split(" VALUES")[0].split(" WHERE")[0])
            self._rows.execute(sql, values)

    # ---- positions, for who may commit

    def keep_position(self, partition: int, offset: int) -> None:
        """A commit that may be, and its answer."""
        change = positions.decide(
            GROUP, TOPIC_ID, partition, Position(offset), note_bytes_max=10, now_ms=WALL_MS + self.now_ms
        )
        self._keep(position_rows.statements(change))
        positions.apply(self.positions, change)

    def position(self, partition: int) -> int:
        kept = self.positions.by_group.get(GROUP, {}).get((TOPIC_ID, partition))
        return kept.position.offset if kept is not None else 0

    # ---- what members ask

    def joining(self, member: str = "", **options: Any) -> JoinGroup:
        """A request to join; the room thinks of the names of new members."""
        self._names += 1
        request = JoinGroup(
            group=GROUP,
            member=member,
            fresh_id=f"m{self._names}",
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            protocol_type="consumer",
            protocols=protocols("range"),
            needs_known_id=False,
        )
        return replace(request, **options)

    def join(self, member: str = "", **options: Any) -> int:
        return self.ask(self.joining(member, **options))

    def by(self, member: str, generation: int | None = None, instance: str | None = None) -> Membership:
        """A member as it speaks of itself, of this generation if no other is said."""
        return Membership(member, self.group.generation if generation is None else generation, instance)

    def sync(self, member: str, assignments: Mapping[str, bytes] | None = None, **options: Any) -> int:
        return self.ask(SyncGroup(GROUP, self.by(member), assignments or {}, **options))

    def heartbeat(self, member: str) -> Any:
        return self.told(Heartbeat(GROUP, self.by(member)))

    def commit(self, by: Membership = NOBODY, *, is_known: bool = True) -> Any:
        return self.told(CommitAs(GROUP, by, is_known))

    def leave(self, *members: str | Leaving) -> Any:
        leaving = [Leaving(member) if isinstance(member, str) else member for member in members]
        return self.told(LeaveGroup(GROUP, leaving))

    def forget(self) -> None:
        self.do(Forget(GROUP))

    # ---- whole stories

    def gather(self, *joining: Mapping[str, Any]) -> list[str]:
        """These join an empty group together; the names that they got, in their order."""
        asks = [self.join(**options) for options in joining]
        while any(self.waits(ask) for ask in asks):
            self.advance(DELAY_MS)
        return [self.outcome(ask).member for ask in asks]

    def settle(self) -> None:
        """The leader assigns to each its own name, and all hear it."""
        group = self.group
        assert group.leader is not None
        shares = {name: name.encode() for name in group.members}
        for name in group.members:
            if name != group.leader:
                self.sync(name)
        self.sync(group.leader, shares)
        assert self.phase is Phase.STABLE

    # ---- time and power

    def advance(self, ms: int) -> None:
        """Time passes, and everything that is due in it happens at its moment."""
        end_ms = self.now_ms + ms
        while True:
            group = self.state.by_name.get(GROUP)
            due_ms = group.next_deadline_ms() if group is not None else None
            if due_ms is None or due_ms > end_ms:
                break
            self.now_ms = max(due_ms, self.now_ms)
            self.do(TimePassed(GROUP))
        self.now_ms = end_ms

    def restart(self) -> None:
        """Only what lasts is left; nobody's asking is answered any more."""
        self.state = rows.load(self._found)
        self.positions = position_rows.load(self._found)
        self.now_ms += 1
        for name in list(self.state.by_name):
            self.do(Resume(name))
