"""A decision in the making: a copy of the group, what it was asked at, and the answers so far."""

from dataclasses import dataclass, field, replace

from onelog.broker.groups.group import Group, GroupLimits, Member
from onelog.broker.groups.words import Answer, Joined, Membership, Moment, Outcome, Phase
from onelog.errors import FencedInstance, OnelogError, StaleGeneration, UnknownMember


@dataclass
class Decision:
    """What becomes of a group. Whoever decides changes this copy, and nothing else."""

    group: Group
    at: Moment
    limits: GroupLimits
    answers: list[Answer] = field(default_factory=list)

    def answer(self, ask: int, outcome: Outcome) -> None:
        """An asking has its answer."""
        self.answers.append(Answer(ask, outcome))

    def enter(self, phase: Phase) -> None:
        """The group goes on to another phase."""
        self.group.phase = phase
        self.group.since_ms = self.at.wall_ms

    def known(self, by: Membership) -> Member:
        """The member that speaks; or a refusal."""
        group = self.group
        if by.instance is not None:
            current = group.instances.get(by.instance)
            if current is None:
                raise UnknownMember(group=group.name, member=by.member)
            if current != by.member:
                raise FencedInstance(group=group.name, instance=by.instance)
        member = group.members.get(by.member)
        if member is None:
            raise UnknownMember(group=group.name, member=by.member)
        return member

    def current(self, by: Membership) -> Member:
        """The member that speaks, of this generation; or a refusal."""
        member = self.known(by)
        if by.generation != self.group.generation:
            raise StaleGeneration(group=self.group.name, found=by.generation, expected=self.group.generation)
        return member

    def heard(self, member: Member) -> None:
        """It was heard of; its session begins anew."""
        self.group.sessions[member.id] = self.at.monotonic_ms + member.session_timeout_ms

    def heard_meanwhile(self, member: Member) -> None:
        """The same, unless it waits for an answer: then nothing is expected of it anyway."""
        if member.join_ask is None and member.sync_ask is None:
            self.heard(member)

    def put(self, member: Member) -> None:
        """The member as it is from now on."""
        group = self.group
        group.members[member.id] = member
        if member.instance is not None:
            group.instances[member.instance] = member.id

    def remove(self, member: Member, error: OnelogError | None = None) -> None:
        """It is no member any more; what it waits for comes to nothing."""
        group = self.group
        refusal = error or UnknownMember(group=group.name, member=member.id)
        for ask in (member.join_ask, member.sync_ask):
            if ask is not None:
                self.answer(ask, refusal)
        del group.members[member.id]
        if member.instance is not None and group.instances.get(member.instance) == member.id:
            del group.instances[member.instance]
        group.sessions.pop(member.id, None)
        group.unsynced.discard(member.id)
        if group.leader == member.id:
            group.leader = next(iter(group.members), None)

    def answer_join(self, member: Member, outcome: Joined | OnelogError) -> Member:
        """Whoever waits to join as this member has its answer, and a session again."""
        if member.join_ask is not None:
            self.answer(member.join_ask, outcome)
        member = replace(member, join_ask=None, is_new=False)
        self.put(member)
        self.heard(member)
        return member

    def joined(self, member: Member) -> Joined:
        """The generation as this member hears of it."""
        group = self.group
        return Joined(
            member=member.id,
            generation=group.generation,
            protocol_type=group.protocol_type,
            protocol=group.protocol,
            leader=group.leader or "",
            members=group.for_leader() if group.leader == member.id else (),
        )
