"""Reading topics as a member of a group: the others read the other partitions.

    with GroupConsumer(client, "billing", ["orders"]) as consumer:
        while True:
            for fetched in consumer.poll():
                ...                          every record of fetched.records()
            consumer.commit()

Every record comes at least once. What poll() handed out counts as read when poll() is called
again: it is committed when its partition goes to another member. It begins where the group
stands, or where it never committed, at the beginning or the end. One thread at a time.
"""

from collections.abc import Iterable, Mapping, Set

from onelog.client.closing import Closing
from onelog.client.kafka.assignors import RANGE, Assignor
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.consumer import FETCH_BYTES_MAX, WAIT_MS, Consumer, Fetched
from onelog.client.kafka.errors import KafkaError
from onelog.client.kafka.joining import MemberTimes
from onelog.client.kafka.member import Member
from onelog.client.kafka.offsets import OffsetAt, Offsets, Spot
from onelog.client.kafka.positions import Positions
from onelog.client.kafka.subscription import Place
from onelog.model import Isolation
from onelog.protocols.kafka.errors import Code


class GroupConsumer(Closing):
    """A member of a group that reads. Close it, and others have its partitions at once."""

    def __init__(
        self,
        client: KafkaClient,
        group: str,
        topics: Iterable[str],
        *,
        start: Spot = Spot.EARLIEST,
        isolation: Isolation = Isolation.READ_UNCOMMITTED,
        assignor: Assignor = RANGE,
        times: MemberTimes | None = None,
        instance_id: str | None = None,
    ) -> None:
        self._client = client
        self._group = group
        self._start = start
        self._isolation = isolation
        self._consumer = Consumer(client, isolation=isolation)
        self._offsets = Offsets(client)
        self._positions = Positions(client)
        self._next: dict[Place, int] = {}
        self._committed: dict[Place, int] = {}
        self._member = Member(
            client, group, topics, self, assignor=assignor, times=times, instance_id=instance_id
        )

    @property
    def places(self) -> frozenset[Place]:
        """The partitions that are this member's to read, as of the last poll."""
        return self._member.places

    @property
    def positions(self) -> Mapping[Place, int]:
        """The next offset of each, behind all that was handed out."""
        return dict(self._next)

    def poll(self, *, wait_ms: int = WAIT_MS, bytes_max: int = FETCH_BYTES_MAX) -> list[Fetched]:
        """What comes next; nothing after wait_ms if there is nothing. Joins and stays on the way."""
        self._member.keep()
        wait_ms = min(wait_ms, int(self._member.times.heartbeat_s * 1000))
        by_topic: dict[str, dict[int, int]] = {}
        for (topic, partition), offset in sorted(self._next.items()):
            by_topic.setdefault(topic, {})[partition] = offset
        if not by_topic:
            self._client.pause(wait_ms / 1000)
        found: list[Fetched] = []
        for topic, offsets in by_topic.items():
            patience_ms = 0 if found else wait_ms // len(by_topic)
            found += self._fetched(topic, offsets, bytes_max=bytes_max, wait_ms=patience_ms)
        for fetched in found:
            self._next[fetched.topic, fetched.partition] = fetched.next_offset
        return found

    def seek(self, place: Place, offset: int) -> None:
        """Go on from there, where the place is this member's; what lies before counts as read."""
        if place in self._next:
            self._next[place] = offset

    def commit(self, positions: Mapping[Place, int] | None = None) -> bool:
        """Keep where the group is: behind all that was handed out, unless told otherwise.

        False: the group is being shared anew, nothing was kept, and those records come again.
        """
        wanted = {
            place: offset
            for place, offset in (self._next if positions is None else positions).items()
            if place in self._next and self._committed.get(place) != offset
        }
        if not wanted:
            return True
        if not self._member.commit(wanted):
            return False
        self._committed.update(wanted)
        return True

    def close(self) -> None:
        """Leave the group. What was not committed comes again, to others."""
        self._next.clear()
        self._committed.clear()
        self._member.leave()

    # What the member tells.

    def assigned(self, places: Set[Place]) -> None:
        """Begin where the group stands, or where there is nothing known, where this one begins."""
        found = self._positions.of(self._group, places)
        known = {place: position.offset for place, position in found.items()}
        self._committed.update(known)
        self._next |= known | self._first(places - known.keys())

    def revoked(self, places: Set[Place]) -> None:
        """The next one goes on behind what was read."""
        try:
            self.commit({place: self._next[place] for place in places if place in self._next})
        finally:  # whatever became of the commit: they are another's to read, and to commit
            self.lost(places)

    def lost(self, places: Set[Place]) -> None:
        """Read no more of it."""
        for place in places:
            self._next.pop(place, None)
            self._committed.pop(place, None)

    def _first(self, places: Set[Place]) -> dict[Place, int]:
        by_topic: dict[str, list[int]] = {}
        for topic, partition in sorted(places):
            by_topic.setdefault(topic, []).append(partition)
        return {
            (topic, partition): at.offset
            for topic, partitions in by_topic.items()
            for partition, at in self._ends(topic, partitions, self._start).items()
        }

    def _ends(self, topic: str, partitions: Iterable[int], spot: Spot) -> dict[int, OffsetAt]:
        return self._offsets.list(topic, spot, partitions=partitions, isolation=self._isolation)

    def _fetched(
        self, topic: str, offsets: Mapping[int, int], *, bytes_max: int, wait_ms: int
    ) -> list[Fetched]:
        try:
            fetched = self._consumer.fetch_many(topic, offsets, bytes_max=bytes_max, wait_ms=wait_ms)
        except KafkaError as error:
            if error.code != Code.OFFSET_OUT_OF_RANGE:
                raise
            self._bring_back(topic, offsets)
            return []
        return [each for each in fetched.values() if each.batches]

    def _bring_back(self, topic: str, offsets: Mapping[int, int]) -> None:
        """What retention has taken cannot be waited for; one that lies outside begins anew."""
        starts = self._ends(topic, offsets, Spot.EARLIEST)
        ends = self._ends(topic, offsets, Spot.LATEST)
        for partition, offset in offsets.items():
            start, end = starts[partition].offset, ends[partition].offset
            if not start <= offset <= end:
                self._next[topic, partition] = start if self._start is Spot.EARLIEST else end
