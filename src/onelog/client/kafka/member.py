"""One member of a group: joins, holds its share of the partitions, stays, goes.

There is no thread: a member lives as long as keep() is called more often than its session
lasts, and everything happens inside of these calls. What it holds, gives up and has lost is
told to its listener, who reads and commits. How a round of joining goes: joining.py.
"""

from collections.abc import Iterable, Mapping, Set
from typing import Protocol

from onelog.client.errors import ClientError
from onelog.client.kafka.assignors import RANGE, Assignor
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.errors import KafkaError, check
from onelog.client.kafka.joining import Joined, Joining, MemberTimes, Wish
from onelog.client.kafka.positions import Membership, Position, Positions
from onelog.client.kafka.subscription import NO_GENERATION, Place
from onelog.client.retry import Deadline
from onelog.protocols.kafka.errors import Code
from onelog.protocols.kafka.messages.membership import (
    HeartbeatRequest,
    HeartbeatResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)

# The group does not know the member any more, or not in this generation: others have its places.
LOST = frozenset({Code.UNKNOWN_MEMBER_ID, Code.ILLEGAL_GENERATION})
# And this one only says that it is time to join again.
JOIN_AGAIN = LOST | {Code.REBALANCE_IN_PROGRESS}
NOTHING: frozenset[Place] = frozenset()


class Listener(Protocol):
    """Who reads what a member holds."""

    def assigned(self, places: Set[Place]) -> None:
        """These are to be read from now on."""
        ...

    def revoked(self, places: Set[Place]) -> None:
        """These go to others; what was read of them may still be committed."""
        ...

    def lost(self, places: Set[Place]) -> None:
        """Others may have had these for a while; nothing of them may be committed."""
        ...


class Member:
    """A member of one group, from its first keep() to leave(). One thread at a time."""

    def __init__(
        self,
        client: KafkaClient,
        group: str,
        topics: Iterable[str],
        listener: Listener,
        *,
        assignor: Assignor = RANGE,
        times: MemberTimes | None = None,
        instance_id: str | None = None,
    ) -> None:
        self.times = times or MemberTimes()
        self._client = client
        self._wish = Wish(group, frozenset(topics), assignor, self.times, instance_id)
        self._joining = Joining(client, self._wish)
        self._listener = listener
        self._positions = Positions(client)
        self._generation = NO_GENERATION
        self._places = NOTHING
        self._shared: Mapping[str, int] | None = None
        self._has_to_join = True
        self._heard_s = 0.0

    @property
    def places(self) -> frozenset[Place]:
        """What it holds."""
        return self._places

    @property
    def membership(self) -> Membership:
        """What a commit of it is made under."""
        return Membership(self._generation, self._joining.member_id, self._wish.instance_id)

    def keep(self) -> frozenset[Place]:
        """Stay a member: join where need be, say that it is there where it is time. What it holds then."""
        now_s = self._client.clock.monotonic_s()
        if not self._has_to_join and now_s - self._heard_s >= self.times.heartbeat_s:
            self._heartbeat()
            self._look_at_topics()
        while self._has_to_join:
            self._rebalance()
        return self._places

    def commit(self, positions: Mapping[Place, Position | int]) -> bool:
        """Keep where the group is. False: it is being shared anew, and nothing was kept."""
        try:
            self._positions.commit(self._wish.group, positions, membership=self.membership)
        except KafkaError as error:
            if error.code not in JOIN_AGAIN:
                raise
            self._told(error.code)
            return False
        return True

    def leave(self) -> None:
        """Go, so that others have its places at once. A static member only stops: it is awaited back."""
        member_id, self._joining.member_id = self._joining.member_id, ""
        self._generation, self._places, self._has_to_join = NO_GENERATION, NOTHING, True
        if not member_id or self._wish.instance_id is not None:
            return
        request = LeaveGroupRequest(
            group_id=self._wish.group,
            member_id=member_id,
            members=[MemberIdentity(member_id=member_id, reason="the consumer is closed")],
        )

        def attempt(deadline: Deadline) -> None:
            doing = f"leaving {self._wish.where}"
            self._client.ask_coordinator(
                self._wish.group, request, LeaveGroupResponse, doing=doing, deadline=deadline
            )

        try:
            self._client.run(attempt)
        except ClientError:
            return  # the group notices when the session is over

    def _heartbeat(self) -> None:
        request = HeartbeatRequest(
            group_id=self._wish.group,
            generation_id=self._generation,
            member_id=self._joining.member_id,
            group_instance_id=self._wish.instance_id,
        )

        def attempt(deadline: Deadline) -> None:
            doing = f"staying in {self._wish.where}"
            answer = self._client.ask_coordinator(
                self._wish.group, request, HeartbeatResponse, doing=doing, deadline=deadline
            )
            if answer.error_code in JOIN_AGAIN:
                self._told(answer.error_code)
            else:
                check(answer.error_code, where=self._wish.where)

        self._client.run(attempt)
        self._heard_s = self._client.clock.monotonic_s()

    def _look_at_topics(self) -> None:
        """Who shared the partitions out shares them anew when there are more."""
        shared = self._shared
        if shared is not None and self._client.run(lambda d: self._joining.counts(shared, d)) != shared:
            self._has_to_join = True

    def _rebalance(self) -> None:
        if not self._wish.assignor.is_cooperative and self._places:
            places, self._places = self._places, NOTHING
            self._listener.revoked(places)
        # Nobody goes on before all have joined, for which the group waits so long.
        joined = self._client.run(self._joined, longer_s=self.times.rebalance_s)
        self._generation, self._shared = joined.generation, joined.shared
        self._heard_s = self._client.clock.monotonic_s()
        self._take(joined.places)

    def _joined(self, deadline: Deadline) -> Joined:
        try:
            return self._joining.attempt(self._places, self._generation, deadline)
        except KafkaError as error:
            if error.code in JOIN_AGAIN:
                self._told(error.code)
                error.retriable = True
            raise

    def _take(self, given: frozenset[Place]) -> None:
        """The listener may fail on the way: then the next keep() joins again, with what was kept.

        What it was never told of would else be held, and read by nobody.
        """
        gone, new = self._places - given, given - self._places
        self._places &= given
        if gone:
            self._listener.revoked(gone)
            if self._generation == NO_GENERATION:  # lost, says the answer to its last commit
                return
        if new:
            self._listener.assigned(new)
        self._places = given
        # Others get what is gone only when this member has joined without it.
        self._has_to_join = bool(gone)

    def _told(self, code: int) -> None:
        """The group says that there is to be a new generation."""
        self._has_to_join = True
        if code == Code.UNKNOWN_MEMBER_ID:
            self._joining.member_id = ""
        if code in LOST:
            self._generation = NO_GENERATION
            lost, self._places = self._places, NOTHING
            if lost:
                self._listener.lost(lost)
