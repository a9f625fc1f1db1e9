"""Who of a group reads which partition: pure functions that the leader of a group follows.

range                 each topic by itself, in even rows of neighbours. Every client has it, so it
                      is what members of different make can share. All give up what they hold first.
cooperative-sticky    everybody keeps what he holds as far as that is even. What moves is given up
                      by its owner in one round and handed out in the next, all else is read on.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from onelog.client.kafka.subscription import Place, Subscription

Members = Mapping[str, Subscription]
Assignment = dict[str, frozenset[Place]]


@dataclass(frozen=True)
class Assignor:
    """A way to share, under the name by which clients agree on it."""

    name: str
    is_cooperative: bool
    assign: Callable[[Members, Mapping[str, int]], Assignment]


def assign_range(members: Members, counts: Mapping[str, int]) -> Assignment:
    """Rows of neighbours; the first members get one more where it does not come out even."""
    found: dict[str, set[Place]] = {member: set() for member in members}
    for topic, count in counts.items():
        readers = sorted(member for member, wanted in members.items() if topic in wanted.topics)
        first = 0
        for index, member in enumerate(readers):
            size = count // len(readers) + (index < count % len(readers))
            found[member].update((topic, partition) for partition in range(first, first + size))
            first += size
    return {member: frozenset(places) for member, places in found.items()}


def assign_cooperative_sticky(members: Members, counts: Mapping[str, int]) -> Assignment:
    """Even, with as few moves as that takes. What has an owner still is handed to nobody else yet."""
    owners = _owners(members, counts)
    found: dict[str, set[Place]] = {member: set() for member in members}
    for place, owner in owners.items():
        found[owner].add(place)
    for topic, count in sorted(counts.items()):
        for partition in range(count):
            if (topic, partition) not in owners:
                _give((topic, partition), members, found)
    while _even_out(members, found):
        pass
    return {
        member: frozenset(place for place in places if owners.get(place, member) == member)
        for member, places in found.items()
    }


def _owners(members: Members, counts: Mapping[str, int]) -> dict[Place, str]:
    """Who holds what. Of two that claim a place, one of an older generation has lost it by now."""
    claims: dict[Place, list[tuple[int, str]]] = {}
    for member, wanted in members.items():
        for topic, partition in wanted.owned:
            if topic in wanted.topics and 0 <= partition < counts.get(topic, 0):
                claims.setdefault((topic, partition), []).append((wanted.generation, member))
    owners = {}
    for place, claimed in claims.items():
        (generation, member), *others = sorted(claimed, reverse=True)
        # Two of one generation: whom to believe is not known, so neither keeps it.
        if not any(other == generation for other, _ in others):
            owners[place] = member
    return owners


def _give(place: Place, members: Members, found: dict[str, set[Place]]) -> None:
    readers = [member for member, wanted in members.items() if place[0] in wanted.topics]
    if readers:
        found[min(readers, key=lambda member: (len(found[member]), member))].add(place)


def _even_out(members: Members, found: dict[str, set[Place]]) -> bool:
    """Move places from a member with more to one with at least two fewer; whether there was any."""
    share = sum(map(len, found.values())) // max(len(found), 1)
    by_load = sorted(found, key=lambda member: (len(found[member]), member))
    for full in reversed(by_load):
        for other in by_load:
            count = (len(found[full]) - len(found[other])) // 2
            if count < 1:
                break
            # No more than makes one of the two even, so that a third has to move nothing on.
            count = min(count, max(1, share - len(found[other])))
            wanted = members[other].topics
            moved = [place for place in sorted(found[full], reverse=True) if place[0] in wanted][:count]
            if moved:
                found[full].difference_update(moved)
                found[other].update(moved)
                return True
    return False


RANGE = Assignor("range", is_cooperative=False, assign=assign_range)
COOPERATIVE_STICKY = Assignor("cooperative-sticky", is_cooperative=True, assign=assign_cooperative_sticky)
