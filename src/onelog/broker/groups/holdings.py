"""A group and its positions together: who may commit, what may be deleted, what there is.

A group may have members, positions, or both; outside the broker it is one thing.
"""

from collections.abc import Mapping, Sequence

from onelog.broker.catalog import Catalog, Statement
from onelog.broker.groups.group import CONSUMERS, Group
from onelog.broker.groups.service import GroupsService
from onelog.broker.groups.words import NOBODY, GroupDescribed, MemberDescribed, Membership, Phase
from onelog.broker.positions.service import PositionsService
from onelog.broker.values import Commit
from onelog.errors import GroupNotEmpty, GroupSubscribed, OnelogError, UnknownGroup
from onelog.model import TopicName
from onelog.ticket import Ticket

Outcomes = Ticket[list[OnelogError | None]]


class GroupHoldings:
    """What groups are and have. Keeps nothing of its own."""

    def __init__(self, *, groups: GroupsService, positions: PositionsService, catalog: Catalog) -> None:
        self._groups = groups
        self._positions = positions
        self._catalog = catalog

    def commit(self, group: str, commits: Sequence[Commit], *, by: Membership = NOBODY) -> Outcomes:
        """Positions, if whoever commits them may; each with its own outcome."""
        try:
            self._groups.check_commit(group, by, is_known=self._positions.is_known(group))
        except OnelogError as error:
            refusals: list[OnelogError | None] = [error] * len(commits)
            return self._catalog.barrier().then(lambda _: refusals)
        return self._positions.commit(group, commits)

    def delete_positions(self, group: str, partitions: Sequence[tuple[TopicName, int]]) -> Outcomes:
        """Forget these, but for those of topics that its members read; each with its own outcome."""
        members = self._groups.group(group)
        refusals: dict[int, OnelogError] = {}
        for index, (topic, _) in enumerate(partitions):
            if members is not None and members.reads(topic):
                is_known = members.protocol_type == CONSUMERS
                refusals[index] = GroupSubscribed(group, topic) if is_known else GroupNotEmpty(group)
        rest = [place for index, place in enumerate(partitions) if index not in refusals]
        return self._positions.delete(group, rest).then(
            lambda outcomes: _merged(refusals, outcomes, len(partitions))
        )

    def delete_groups(self, names: Sequence[str]) -> Outcomes:
        """Forget groups that have no members, with their positions; each with its own outcome."""
        outcomes: list[OnelogError | None] = []
        statements: list[Statement] = []
        for name in names:
            try:
                statements += self._forget(name)
            except OnelogError as error:
                outcomes.append(error)
            else:
                outcomes.append(None)
        durable = self._catalog.write(statements) if statements else self._catalog.barrier()
        return durable.then(lambda _: outcomes)

    def names(self) -> list[str]:
        """Every group that has members or positions, or had members not long ago."""
        return sorted({*self._positions.groups(), *(group.name for group in self._groups.groups())})

    def describe(self, name: str) -> GroupDescribed:
        """One group as it is now, or UnknownGroup."""
        group = self._groups.group(name)
        if group is None and not self._positions.is_known(name):
            raise UnknownGroup(group=name)
        return _described(group if group is not None else Group(name))

    def _forget(self, name: str) -> list[Statement]:
        if self._groups.group(name) is None and not self._positions.is_known(name):
            raise UnknownGroup(group=name)
        statements = self._groups.forget(name)
        return statements + self._positions.drop(name, list(self._positions.kept(name)))


def _merged(
    refusals: Mapping[int, OnelogError], outcomes: Sequence[OnelogError | None], count: int
) -> list[OnelogError | None]:
    rest = iter(outcomes)
    return [refusals[index] if index in refusals else next(rest) for index in range(count)]


def _described(group: Group) -> GroupDescribed:
    stands = group.phase is Phase.STABLE
    return GroupDescribed(
        name=group.name,
        phase=group.phase,
        protocol_type=group.protocol_type or "",
        protocol=(group.protocol or "") if stands else "",
        members=[
            MemberDescribed(
                member=member.id,
                instance=member.instance,
                client_id=member.client_id,
                client_host=member.client_host,
                metadata=member.said_for(group.protocol) if stands else b"",
                assignment=member.assignment if stands else b"",
            )
            for member in group.members.values()
        ],
    )
