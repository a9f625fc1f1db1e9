"""Groups as rows.

    groups          group_id, phase, since_ms, generation, protocol_type, protocol, leader
    group_members   group_id, member_id, instance_id, client_id, client_host,
                    session_timeout_ms, rebalance_timeout_ms, protocols, assignment

A group lasts from its first generation on, a member from its first one. Who waits, and for how
long still, does not last: after a start everybody has a whole session to be heard of again.
protocols is JSON: [[name, base64 of what is said, topics]].
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec

from onelog.broker.groups.group import Group, Member
from onelog.broker.groups.state import Change, Changed, Forgotten, GroupsState, Heard
from onelog.broker.groups.words import MemberProtocol, Phase

Statement = tuple[str, tuple[Any, ...]]

TABLES = (
    """
    CREATE TABLE groups (
        group_id TEXT PRIMARY KEY, phase TEXT NOT NULL, since_ms INTEGER NOT NULL,
        generation INTEGER NOT NULL, protocol_type TEXT, protocol TEXT, leader TEXT
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE group_members (
        group_id TEXT NOT NULL, member_id TEXT NOT NULL, instance_id TEXT,
        client_id TEXT NOT NULL, client_host TEXT NOT NULL,
        session_timeout_ms INTEGER NOT NULL, rebalance_timeout_ms INTEGER NOT NULL,
        protocols TEXT NOT NULL, assignment BLOB NOT NULL,
        PRIMARY KEY (group_id, member_id)
    ) WITHOUT ROWID
    """,
)

_PROTOCOLS = msgspec.json.Decoder(list[tuple[str, bytes, list[str] | None]])

Row = tuple[Any, ...]


def statements(change: Change) -> list[Statement]:
    """The change as rows: those that are not what they were."""
    match change:
        case Changed(before, after):
            return _changed(before, after)
        case Forgotten(name):
            return [
                ("DELETE FROM groups WHERE group_id = ?", (name,)),
                ("DELETE FROM group_members WHERE group_id = ?", (name,)),
            ]
        case Heard():
            return []


def load(rows: Callable[[str], list[Row]]) -> GroupsState:
    """The groups that the rows say, every member unheard of."""
    state = GroupsState()
    for name, phase, since_ms, generation, kind, protocol, leader in rows(
        "SELECT group_id, phase, since_ms, generation, protocol_type, protocol, leader FROM groups"
    ):
        state.by_name[name] = Group(
            name,
            phase=Phase(phase),
            since_ms=since_ms,
            generation=generation,
            protocol_type=kind,
            protocol=protocol,
            leader=leader,
        )
    for row in rows(
        "SELECT group_id, member_id, instance_id, client_id, client_host, session_timeout_ms, "
        "rebalance_timeout_ms, protocols, assignment FROM group_members"
    ):
        member = _member(row)
        group = state.by_name[row[0]]
        group.members[member.id] = member
        if member.instance is not None:
            group.instances[member.instance] = member.id
    return state


def _changed(before: Group | None, after: Group) -> list[Statement]:
    if after.generation == 0:
        return []
    found: list[Statement] = []
    if before is None or _group_row(before) != _group_row(after):
        sql = "INSERT OR REPLACE INTO groups VALUES (?, ?, ?, ?, ?, ?, ?)"
        found.append((sql, _group_row(after)))
    were = before.members if before is not None and before.generation > 0 else {}
    for name, member in were.items():
        if name not in after.members and not member.is_new:
            sql = "DELETE FROM group_members WHERE group_id = ? AND member_id = ?"
            found.append((sql, (after.name, name)))
    for name, member in after.members.items():
        if not member.is_new and not _is_same(were.get(name), member):
            sql = "INSERT OR REPLACE INTO group_members VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
            found.append((sql, _member_row(after.name, member)))
    return found


def _is_same(before: Member | None, after: Member) -> bool:
    """Whether they differ in nothing that lasts."""
    if before is after:
        return True
    if before is None or before.is_new:
        return False
    return replace(before, join_ask=None, sync_ask=None) == replace(after, join_ask=None, sync_ask=None)


def _group_row(group: Group) -> Row:
    return (
        group.name,
        group.phase.value,
        group.since_ms,
        group.generation,
        group.protocol_type,
        group.protocol,
        group.leader,
    )


def _member_row(group: str, member: Member) -> Row:
    protocols = [
        (p.name, p.metadata, None if p.topics is None else sorted(p.topics)) for p in member.protocols
    ]
    return (
        group,
        member.id,
        member.instance,
        member.client_id,
        member.client_host,
        member.session_timeout_ms,
        member.rebalance_timeout_ms,
        msgspec.json.encode(protocols).decode(),
        member.assignment,
    )


def _member(row: Row) -> Member:
    _, name, instance, client_id, client_host, session_ms, rebalance_ms, protocols, assignment = row
    return Member(
        id=name,
        instance=instance,
        client_id=client_id,
        client_host=client_host,
        session_timeout_ms=session_ms,
        rebalance_timeout_ms=rebalance_ms,
        protocols=tuple(
            MemberProtocol(said, metadata, None if topics is None else frozenset(topics))
            for said, metadata, topics in _PROTOCOLS.decode(protocols)
        ),
        assignment=assignment,
    )
