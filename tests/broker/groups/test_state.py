"""Every request in every phase of a group. A cell: the outcome, and the phase after it if that is another.

The group has a leader, a follower and an instance `static`. It is dead before anybody came,
empty when all have left, preparing when the leader is back and the others are not, completing
when all have joined, stable when all have heard what they have.
"""

from collections.abc import Callable
from typing import Any

import pytest

from onelog.broker.groups.group import Group
from onelog.broker.groups.state import Changed, Forgotten, GroupsState, apply
from onelog.broker.groups.words import (
    NOBODY,
    CommitAs,
    Forget,
    Heartbeat,
    Joined,
    LeaveGroup,
    Leaving,
    Membership,
    Phase,
    Resume,
    Synced,
    SyncGroup,
)
from onelog.errors import GroupNotEmpty, MemberIdRequired, OnelogError
from tests.support.group_room import GROUP, REBALANCE_MS, SESSION_MS, Room, protocols

PHASES = ("dead", "empty", "preparing", "completing", "stable")
BOTH = protocols("range", "sticky")


class Scene:
    """A room in one of the phases, and who is in it."""

    def __init__(self, phase: str) -> None:
        self.room = Room()
        self.leader, self.follower, self.static = "m1", "m2", "m3"
        if phase == "dead":
            return
        self.room.gather({"protocols": BOTH}, {"protocols": BOTH}, {"protocols": BOTH, "instance": "static"})
        assert self.room.names == [self.leader, self.follower, self.static]
        if phase == "completing":
            return
        self.room.settle()
        if phase == "preparing":
            self.again(self.leader)
        if phase == "empty":
            self.room.leave(*self.room.names)
        assert self.room.phase is Phase(phase)

    @property
    def generation(self) -> int:
        return self.room.group.generation if self.room.phase is not None else 1

    def by(self, name: str, instance: str | None = None, *, late: int = 0) -> Membership:
        return Membership(name, self.generation - late, instance)

    def anew(self, **options: Any) -> int:
        return self.room.join(**{"protocols": BOTH, **options})

    def again(self, name: str, **options: Any) -> int:
        return self.room.join(name, **{"protocols": BOTH, **options})

    def named(self, **options: Any) -> int:
        """Comes again with the name that it was given."""
        asked = self.anew(needs_known_id=True)
        refusal = self.room.outcomes[asked]
        assert isinstance(refusal, MemberIdRequired)
        return self.again(refusal.member, needs_known_id=True, **options)

    def sync(self, by: Membership, **options: Any) -> int:
        return self.room.ask(SyncGroup(GROUP, by, {self.follower: b"all"}, **options))

    def beat(self, by: Membership) -> int:
        return self.room.ask(Heartbeat(GROUP, by))

    def commit(self, by: Membership) -> int:
        return self.room.ask(CommitAs(GROUP, by, is_known=self.room.phase is not None))

    def leave(self, name: str, instance: str | None = None) -> int:
        return self.room.ask(LeaveGroup(GROUP, [Leaving(name, instance)]))

    def leave_pending(self) -> int:
        self.room.ask(self.room.joining(needs_known_id=True, fresh_id="given", protocols=BOTH))
        return self.leave("given")

    def delete(self) -> int:
        self.room.last_ask += 1
        try:
            self.room.do(Forget(GROUP))
        except GroupNotEmpty as error:
            self.room.outcomes[self.room.last_ask] = error
        else:
            self.room.outcomes[self.room.last_ask] = None
        return self.room.last_ask

    def pass_time(self, ms: int, *alive: str) -> int:
        """Time passes, in which these are heard of."""
        for _ in range(ms // 5000):
            for name in alive:
                if self.room.phase is not None and name in self.room.group.members:
                    self.beat(self.by(name, "static" if name == self.static else None))
            self.room.advance(5000)
        self.room.last_ask += 1
        self.room.outcomes[self.room.last_ask] = None
        return self.room.last_ask

    def resume(self) -> int:
        if self.room.phase is not None:
            self.room.do(Resume(GROUP))
        self.room.last_ask += 1
        self.room.outcomes[self.room.last_ask] = None
        return self.room.last_ask


REQUESTS: dict[str, tuple[Callable[[Scene], int], str]] = {
    # ---- JoinGroup of somebody new
    "join": (
        lambda s: s.anew(),
        "waits>preparing | waits>preparing | waits | waits>preparing | waits>preparing",
    ),
    "join, to be told a name": (
        lambda s: s.anew(needs_known_id=True),
        "member_id_required>empty | member_id_required | member_id_required | member_id_required | member_id_required",
    ),
    "join with the name that was told": (
        lambda s: s.named(),
        "waits>preparing | waits>preparing | waits | waits>preparing | waits>preparing",
    ),
    "join with the name that was told, as an instance": (
        lambda s: s.named(instance="other"),
        "unknown_member>empty | unknown_member | unknown_member | unknown_member | unknown_member",
    ),
    "join as an instance": (
        lambda s: s.anew(instance="other", needs_known_id=True),
        "waits>preparing | waits>preparing | waits | waits>preparing | waits>preparing",
    ),
    "join with a name that nobody has": (
        lambda s: s.again("nobody"),
        "unknown_member | unknown_member | unknown_member | unknown_member | unknown_member",
    ),
    "join with a protocol of another type": (
        lambda s: s.anew(protocol_type="connect"),
        "waits>preparing | waits>preparing | inconsistent_protocol | inconsistent_protocol | inconsistent_protocol",
    ),
    "join with no protocol in common": (
        lambda s: s.anew(protocols=protocols("mine")),
        "waits>preparing | waits>preparing | inconsistent_protocol | inconsistent_protocol | inconsistent_protocol",
    ),
    "join without any protocol": (
        lambda s: s.anew(protocols=()),
        "inconsistent_protocol | inconsistent_protocol | inconsistent_protocol | inconsistent_protocol | inconsistent_protocol",
    ),
    "join without a type": (
        lambda s: s.anew(protocol_type=""),
        "inconsistent_protocol | inconsistent_protocol | inconsistent_protocol | inconsistent_protocol | inconsistent_protocol",
    ),
    "join with too short a session": (
        lambda s: s.anew(session_timeout_ms=5999),
        "invalid_session_timeout | invalid_session_timeout | invalid_session_timeout | invalid_session_timeout | invalid_session_timeout",
    ),
    "join with too long a session": (
        lambda s: s.anew(session_timeout_ms=1_800_001),
        "invalid_session_timeout | invalid_session_timeout | invalid_session_timeout | invalid_session_timeout | invalid_session_timeout",
    ),
    "join a group without a name": (
        lambda s: s.anew(group=""),
        "invalid_group | invalid_group | invalid_group | invalid_group | invalid_group",
    ),
    "join with more to say than may be said": (
        lambda s: s.anew(protocols=protocols("range", said=bytes(1001))),
        "invalid_request | invalid_request | invalid_request | invalid_request | invalid_request",
    ),
    # ---- JoinGroup of members
    "the leader joins again": (
        lambda s: s.again(s.leader),
        "unknown_member | unknown_member | waits | joined | waits>preparing",
    ),
    "a follower joins again": (
        lambda s: s.again(s.follower),
        "unknown_member | unknown_member | waits | joined | joined",
    ),
    "a follower joins again with other words": (
        lambda s: s.again(s.follower, protocols=protocols("range", said=b"other")),
        "unknown_member | unknown_member | waits | waits>preparing | waits>preparing",
    ),
    "a follower joins again without what all have in common": (
        lambda s: s.again(s.follower, protocols=protocols("mine")),
        "unknown_member | unknown_member | inconsistent_protocol | inconsistent_protocol | inconsistent_protocol",
    ),
    "a follower claims to be an instance": (
        lambda s: s.again(s.follower, instance="static"),
        "unknown_member | unknown_member | fenced_instance | fenced_instance | fenced_instance",
    ),
    "an instance starts anew": (
        lambda s: s.anew(instance="static"),
        "waits>preparing | waits>preparing | waits | waits>preparing | joined",
    ),
    "an instance joins again": (
        lambda s: s.again(s.static, instance="static"),
        "unknown_member | unknown_member | waits | joined | joined",
    ),
    "an instance joins under a name that it had": (
        lambda s: s.again("m0", instance="static"),
        "unknown_member | unknown_member | fenced_instance | fenced_instance | fenced_instance",
    ),
    # ---- SyncGroup
    "the leader syncs": (
        lambda s: s.sync(s.by(s.leader)),
        "unknown_member | unknown_member | rebalance_in_progress | synced>stable | synced",
    ),
    "a follower syncs": (
        lambda s: s.sync(s.by(s.follower)),
        "unknown_member | unknown_member | rebalance_in_progress | waits | synced",
    ),
    "a follower syncs, of another generation": (
        lambda s: s.sync(s.by(s.follower, late=1)),
        "unknown_member | unknown_member | stale_generation | stale_generation | stale_generation",
    ),
    "a follower syncs, with another protocol": (
        lambda s: s.sync(s.by(s.follower), protocol="sticky"),
        "unknown_member | unknown_member | inconsistent_protocol | inconsistent_protocol | inconsistent_protocol",
    ),
    "a follower syncs, with another type": (
        lambda s: s.sync(s.by(s.follower), protocol_type="connect"),
        "unknown_member | unknown_member | inconsistent_protocol | inconsistent_protocol | inconsistent_protocol",
    ),
    "a follower syncs, with the right protocol": (
        lambda s: s.sync(s.by(s.follower), protocol_type="consumer", protocol="range"),
        "unknown_member | unknown_member | rebalance_in_progress | waits | synced",
    ),
    "an instance syncs under a name that it had": (
        lambda s: s.sync(s.by("m0", "static")),
        "unknown_member | unknown_member | fenced_instance | fenced_instance | fenced_instance",
    ),
    "a stranger syncs": (
        lambda s: s.sync(s.by("nobody")),
        "unknown_member | unknown_member | unknown_member | unknown_member | unknown_member",
    ),
    # ---- Heartbeat
    "a member is heard of": (
        lambda s: s.beat(s.by(s.follower)),
        "unknown_member | unknown_member | rebalance_in_progress | done | done",
    ),
    "a member of another generation is heard of": (
        lambda s: s.beat(s.by(s.follower, late=1)),
        "unknown_member | unknown_member | stale_generation | stale_generation | stale_generation",
    ),
    "an instance is heard of": (
        lambda s: s.beat(s.by(s.static, "static")),
        "unknown_member | unknown_member | rebalance_in_progress | done | done",
    ),
    "an instance is heard of under a name that it had": (
        lambda s: s.beat(s.by("m0", "static")),
        "unknown_member | unknown_member | fenced_instance | fenced_instance | fenced_instance",
    ),
    "a stranger is heard of": (
        lambda s: s.beat(s.by("nobody")),
        "unknown_member | unknown_member | unknown_member | unknown_member | unknown_member",
    ),
    # ---- LeaveGroup
    "a member leaves": (
        lambda s: s.leave(s.follower),
        "unknown_member | unknown_member | done | done>preparing | done>preparing",
    ),
    "an instance is sent away": (
        lambda s: s.leave("", "static"),
        "unknown_member | unknown_member | done | done>preparing | done>preparing",
    ),
    "an instance leaves": (
        lambda s: s.leave(s.static, "static"),
        "unknown_member | unknown_member | done | done>preparing | done>preparing",
    ),
    "an instance leaves under a name that it had": (
        lambda s: s.leave("m0", "static"),
        "unknown_member | unknown_member | fenced_instance | fenced_instance | fenced_instance",
    ),
    "nobody leaves": (
        lambda s: s.leave(""),
        "unknown_member | unknown_member | unknown_member | unknown_member | unknown_member",
    ),
    "one leaves that was told a name and did not come": (
        lambda s: s.leave_pending(),
        "done | done | done | done | done",
    ),
    # ---- OffsetCommit
    "a member commits": (
        lambda s: s.commit(s.by(s.follower)),
        "unknown_group | unknown_member | done | rebalance_in_progress | done",
    ),
    "a member of another generation commits": (
        lambda s: s.commit(s.by(s.follower, late=1)),
        "unknown_group | unknown_member | stale_generation | stale_generation | stale_generation",
    ),
    "a member that forgot its generation commits": (
        lambda s: s.commit(Membership(s.follower)),
        "done | done | stale_generation | stale_generation | stale_generation",
    ),
    "an instance commits under a name that it had": (
        lambda s: s.commit(s.by("m0", "static")),
        "unknown_group | unknown_member | fenced_instance | fenced_instance | fenced_instance",
    ),
    "a stranger commits": (
        lambda s: s.commit(s.by("nobody")),
        "unknown_group | unknown_member | unknown_member | unknown_member | unknown_member",
    ),
    "somebody without membership commits": (
        lambda s: s.commit(NOBODY),
        "done | done | group_not_empty | group_not_empty | group_not_empty",
    ),
    # ---- and what nobody of the group asks
    "the group is deleted": (
        lambda s: s.delete(),
        "done | done>dead | group_not_empty | group_not_empty | group_not_empty",
    ),
    "a session ends": (
        lambda s: s.pass_time(SESSION_MS, s.leader, s.static),
        "done | done | done | done>preparing | done>preparing",
    ),
    "the time to join is up": (
        lambda s: s.pass_time(REBALANCE_MS, s.leader, s.follower, s.static),
        "done | done | done>completing | done>empty | done",
    ),
    "the broker starts": (
        lambda s: s.resume(),
        "done | done | done | done>preparing | done",
    ),
}
CELLS = [
    pytest.param(request, phase, cell.strip(), id=f"{name}: {phase}")
    for name, (request, row) in REQUESTS.items()
    for phase, cell in zip(PHASES, row.split("|"), strict=True)
]


def spelled(room: Room, ask: int) -> str:
    """The outcome in one word."""
    if room.waits(ask):
        return "waits"
    outcome = room.outcomes[ask]
    match outcome:
        case None | [None]:
            return "done"
        case Joined():
            return "joined"
        case Synced():
            return "synced"
        case OnelogError() | [OnelogError()]:
            return (outcome if isinstance(outcome, OnelogError) else outcome[0]).code.value
    raise AssertionError(outcome)


@pytest.mark.parametrize(("request_of", "phase", "expected"), CELLS)
def test_a_request_in_a_phase(request_of: Callable[[Scene], int], phase: str, expected: str) -> None:
    scene = Scene(phase)
    ask = request_of(scene)
    outcome, _, after = expected.partition(">")
    assert spelled(scene.room, ask) == outcome
    assert (scene.room.phase.value if scene.room.phase is not None else "dead") == (after or phase)


def test_a_refusal_changes_nothing() -> None:
    for phase in PHASES[2:]:
        for request, row in REQUESTS.values():
            if row.split("|")[2].strip() in ("unknown_member", "fenced_instance", "inconsistent_protocol"):
                scene = Scene(phase)
                before = scene.room.group
                known = set(before.pending)
                request(scene)
                assert {**_shown(scene.room.group), "pending": known} == {**_shown(before), "pending": known}


def _shown(group: Group) -> dict[str, Any]:
    return {name: getattr(group, name) for name in Group.__dataclass_fields__}


def test_applying_a_change_puts_the_group_there_or_takes_it_away() -> None:
    state = GroupsState()
    apply(state, Changed(None, Group("g", generation=1)))
    assert state.by_name == {"g": Group("g", generation=1)}
    apply(state, Forgotten("g"))
    assert state.by_name == {}


def test_nothing_is_kept_of_a_group_that_nobody_came_to() -> None:
    room = Room()
    room.join(needs_known_id=True)
    assert room.phase is Phase.EMPTY
    room.advance(SESSION_MS)
    assert room.phase is None


def test_a_decision_leaves_the_group_that_was_as_it_was() -> None:
    scene = Scene("stable")
    before, shown = scene.room.group, _shown(scene.room.group.copy())
    scene.again(scene.leader)
    scene.leave(scene.follower)
    assert _shown(before) == shown
    assert scene.room.group is not before


def test_who_says_that_it_is_there_moves_its_own_session_and_copies_no_group() -> None:
    for phase in ("preparing", "completing", "stable"):
        scene = Scene(phase)
        room, before = scene.room, scene.room.group
        sessions, room.now_ms = dict(before.sessions), room.now_ms + 1
        room.do(Heartbeat(GROUP, room.by(scene.follower), ask=1_000))
        room.do(CommitAs(GROUP, room.by(scene.follower), is_known=True, ask=1_001))
        assert room.group is before
        moved = {name for name in sessions if before.sessions[name] != sessions[name]}
        assert moved <= {scene.follower}
        assert phase != "stable" or moved == {scene.follower}


def test_a_request_writes_the_rows_of_those_members_that_it_changes() -> None:
    scene = Scene("stable")
    room = scene.room
    room.written.clear()
    room.heartbeat(scene.follower)
    room.commit(scene.by(scene.follower))
    assert room.written == []
    scene.again(scene.leader)
    assert room.written == ["INSERT OR REPLACE INTO groups"]
    room.written.clear()
    scene.leave(scene.follower)
    assert room.written == ["DELETE FROM group_members"]
