"""Groups and their members: decided at once, answered when whoever asked may hear it.

An answer leaves when everything that it could have seen is durable. Whoever has to wait for
others is remembered by the number of his asking; a timer for each group says when something is
due that nobody asks for. Sessions are the clock's that never jumps.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final
from uuid import uuid4

from onelog import metrics as m
from onelog.broker.catalog import Catalog, Statement
from onelog.broker.groups import rows
from onelog.broker.groups.group import NAME_BYTES_MAX, Group, GroupLimits
from onelog.broker.groups.state import Change, Changed, GroupsState, apply, decide
from onelog.broker.groups.words import (
    Command,
    CommitAs,
    Forget,
    Heartbeat,
    Joined,
    JoinGroup,
    LeaveGroup,
    Leaving,
    Membership,
    Moment,
    Outcome,
    Phase,
    Resume,
    Synced,
    SyncGroup,
    TimePassed,
)
from onelog.clock import Clock
from onelog.errors import OnelogError, RebalanceInProgress
from onelog.metrics import Metrics
from onelog.ticket import Ticket

# What a new member's name has of the name of its client: for people, who tell members by it.
OWN_NAME_CHARS_MAX: Final = NAME_BYTES_MAX // 4


class GroupsService:
    """Owns the groups that have, or had, members. Lives in the loop's thread."""

    def __init__(
        self,
        loaded: GroupsState,
        *,
        catalog: Catalog,
        clock: Clock,
        metrics: Metrics,
        limits: GroupLimits,
    ) -> None:
        self._state = loaded
        self._catalog = catalog
        self._clock = clock
        self._limits = limits
        self._metrics = metrics
        self._generations = metrics.series(m.GENERATIONS)
        self._loop = asyncio.get_running_loop()
        self._asked: dict[int, tuple[str, Ticket[Any]]] = {}
        self._last_ask = 0
        self._is_ending = False
        self._timers: dict[str, tuple[int, asyncio.TimerHandle]] = {}

    def start(self) -> None:
        """Sessions begin, with as much time as after any sign of life."""
        for name in list(self._state.by_name):
            self._decide(Resume(name))

    def close(self) -> None:
        """Watch the clock no more. Whoever waits is told by the end of his connection."""
        for _, timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._asked.clear()

    def fail(self, error: OnelogError) -> None:
        """The end: nobody is to wait for what will not come."""
        asked, self._asked = self._asked, {}
        for _, ticket in asked.values():
            ticket.fail(error)

    def end_waits(self) -> None:
        """The broker is about to stop: who waits for others is to ask again, when it is back."""
        self._is_ending = True
        asked, self._asked = self._asked, {}
        for group, ticket in asked.values():
            ticket.fail(RebalanceInProgress(group=group))

    # ---- what members ask

    def join(self, request: JoinGroup) -> Ticket[Joined]:
        """A member of the next generation, answered when it has begun. The names of new ones are made here."""
        fresh_id = f"{(request.instance or request.client_id)[:OWN_NAME_CHARS_MAX]}-{uuid4()}"
        return self._ask(lambda ask: replace(request, fresh_id=fresh_id, ask=ask))

    def sync(self, request: SyncGroup) -> Ticket[Synced]:
        """What the member has, answered when the leader has said it."""
        return self._ask(lambda ask: replace(request, ask=ask))

    def heartbeat(self, group: str, by: Membership) -> Ticket[None]:
        """Done if it is a member that has nothing else to do."""
        return self._ask(lambda ask: Heartbeat(group, by, ask))

    def leave(self, group: str, leaving: Sequence[Leaving]) -> Ticket[Sequence[OnelogError | None]]:
        """These go; each with its own outcome."""
        return self._ask(lambda ask: LeaveGroup(group, leaving, ask))

    def check_commit(self, group: str, by: Membership, *, is_known: bool) -> None:
        """A refusal, unless this one may commit for the group now."""
        command = CommitAs(group, by, is_known)
        changes, answers = decide(self._state, command, at=self._now(), limits=self._limits)
        self._changed(changes)
        for _, outcome in answers:
            if isinstance(outcome, OnelogError):
                raise outcome

    # ---- what others want to know

    def groups(self) -> list[Group]:
        """All of them, by name. Nobody changes them."""
        return [self._state.by_name[name] for name in sorted(self._state.by_name)]

    def group(self, name: str) -> Group | None:
        """The group of that name as it is now."""
        return self._state.by_name.get(name)

    def count(self) -> None:
        """Set the gauges, for an export."""
        groups = self._state.by_name.values()
        for phase in Phase:
            self._metrics.series(m.GROUPS, phase.value).value = sum(group.phase is phase for group in groups)
        self._metrics.series(m.GROUP_MEMBERS).value = sum(len(group.members) for group in groups)

    def forget(self, name: str) -> list[Statement]:
        """It goes, in the transaction of whoever decided that; or GroupNotEmpty."""
        changes, _ = decide(self._state, Forget(name), at=self._now(), limits=self._limits)
        return self._changed(changes)

    # ---- deciding

    def _ask(self, command: Callable[[int], Command]) -> Ticket[Any]:
        self._last_ask += 1
        ticket: Ticket[Any] = Ticket()
        asking = command(self._last_ask)
        self._asked[self._last_ask] = (asking.group, ticket)
        self._decide(asking)
        if self._is_ending:
            self.end_waits()
        return ticket

    def _decide(self, command: Command) -> None:
        changes, answers = decide(self._state, command, at=self._now(), limits=self._limits)
        statements = self._changed(changes)
        durable = self._catalog.write(statements) if statements else self._catalog.barrier()
        if not isinstance(command, Heartbeat):  # it makes nothing due any sooner
            self._watch(command.group)
        for ask, outcome in answers:
            if ask in self._asked:  # unless it was ended already, with all others
                _, ticket = self._asked.pop(ask)
                durable.add_callback(partial(_tell, ticket, outcome))

    def _changed(self, changes: Sequence[Change]) -> list[Statement]:
        """Made true in memory; true on disk once these are."""
        statements: list[Statement] = []
        for change in changes:
            statements += rows.statements(change)
            if isinstance(change, Changed) and _begins_generation(change):
                self._generations.add()
            apply(self._state, change)
        return statements

    def _now(self) -> Moment:
        return Moment(round(self._clock.monotonic_s() * 1000), self._clock.wall_ms())

    # ---- time

    def _watch(self, name: str) -> None:
        """Have something happen when something is due. A timer that is too early does no harm."""
        group = self._state.by_name.get(name)
        due_ms = group.next_deadline_ms() if group is not None else None
        watched = self._timers.get(name)
        if watched is not None and (due_ms is None or due_ms < watched[0]):
            watched[1].cancel()
            del self._timers[name]
            watched = None
        if due_ms is not None and watched is None:
            wait_ms = max(due_ms - self._now().monotonic_ms, 0)
            timer = self._loop.call_later(wait_ms / 1000, self._alarm, name)
            self._timers[name] = (due_ms, timer)

    def _alarm(self, name: str) -> None:
        del self._timers[name]
        if name in self._state.by_name:
            self._decide(TimePassed(name))


def _begins_generation(change: Changed) -> bool:
    before = change.before.generation if change.before is not None else 0
    return change.after.generation > before and change.after.phase is not Phase.EMPTY


def _tell(ticket: Ticket[Any], outcome: Outcome, durable: Ticket[None]) -> None:
    if durable.error is not None:
        ticket.fail(durable.error)
    elif isinstance(outcome, OnelogError):
        ticket.fail(outcome)
    else:
        ticket.resolve(outcome)
