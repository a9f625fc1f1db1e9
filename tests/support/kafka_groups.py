"""Members of groups who speak Kafka, byte for byte, in whatever version a test wants."""

from collections.abc import Mapping, Sequence
from typing import Any

from onelog.binary.message import codec
from onelog.protocols.kafka.errors import Code
from onelog.protocols.kafka.messages.consumer_protocol import ConsumerProtocolSubscription
from onelog.protocols.kafka.messages.membership import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    LeaveGroupRequest,
    MemberIdentity,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from onelog.protocols.kafka.versions import HEARTBEAT, JOIN_GROUP, LEAVE_GROUP, SYNC_GROUP
from tests.support.kafka_peer import Answer, KafkaPeer

JOIN_NEWEST, SYNC_NEWEST, HEARTBEAT_NEWEST, LEAVE_NEWEST = 9, 5, 4, 5


def subscription(*topics: str, version: int = 0) -> bytes:
    """What a consumer says of itself."""
    body = codec(ConsumerProtocolSubscription, version).encode_bytes(
        ConsumerProtocolSubscription(topics=list(topics))
    )
    return version.to_bytes(2, "big") + body


class KafkaMember:
    """One member on a connection of its own."""

    def __init__(
        self,
        peer: KafkaPeer,
        *,
        group: str = "g",
        instance: str | None = None,
        topics: Sequence[str] = ("orders",),
    ) -> None:
        self.peer, self.group, self.instance = peer, group, instance
        self.said = subscription(*topics)
        self.member = ""
        self.generation = -1

    def begin_join(
        self, version: int = JOIN_NEWEST, *, protocols: Mapping[str, bytes] | None = None, **options: Any
    ) -> Answer:
        """One JoinGroup, as it is."""
        said = protocols if protocols is not None else {"range": self.said}
        body: dict[str, Any] = {
            "group_id": self.group,
            "session_timeout_ms": 10_000,
            "rebalance_timeout_ms": 60_000 if version >= 1 else -1,
            "member_id": self.member,
            "group_instance_id": self.instance if version >= 5 else None,
            "protocol_type": "consumer",
            "protocols": [JoinGroupRequestProtocol(name=name, metadata=data) for name, data in said.items()],
        }
        return self.peer.begin(JOIN_GROUP, version, JoinGroupRequest(**{**body, **options}))

    def come(self, version: int = JOIN_NEWEST, **options: Any) -> Answer:
        """Join with the name that was told, if one has to have it."""
        answer = self.begin_join(version, **options)
        if answer.is_there():
            body = answer.body()
            assert body.error_code == Code.MEMBER_ID_REQUIRED
            self.member = body.member_id
            answer = self.begin_join(version, **options)
        return answer

    def joined(self, answer: Answer) -> Any:
        """The answer when it is there; this member is what it says."""
        body = answer.body()
        assert body.error_code == 0, Code(body.error_code)
        self.member, self.generation = body.member_id, body.generation_id
        return body

    def join_alone(self, version: int = JOIN_NEWEST, **options: Any) -> Any:
        """Join a group in which nobody is."""
        answer = self.come(version, **options)
        self.peer.house.advance(3000)
        return self.joined(answer)

    def begin_sync(
        self, version: int = SYNC_NEWEST, assignments: Mapping[str, bytes] | None = None, **options: Any
    ) -> Answer:
        """One SyncGroup."""
        shares = [
            SyncGroupRequestAssignment(member_id=member, assignment=share)
            for member, share in (assignments or {}).items()
        ]
        body: dict[str, Any] = {
            "group_id": self.group,
            "generation_id": self.generation,
            "member_id": self.member,
            "group_instance_id": self.instance if version >= 3 else None,
            "assignments": shares,
        }
        return self.peer.begin(SYNC_GROUP, version, SyncGroupRequest(**{**body, **options}))

    def sync(
        self, version: int = SYNC_NEWEST, assignments: Mapping[str, bytes] | None = None, **options: Any
    ) -> Any:
        return self.begin_sync(version, assignments, **options).body()

    def heartbeat(self, version: int = HEARTBEAT_NEWEST, **options: Any) -> Code:
        body: dict[str, Any] = {
            "group_id": self.group,
            "generation_id": self.generation,
            "member_id": self.member,
            "group_instance_id": self.instance if version >= 3 else None,
        }
        return Code(self.peer.ask(HEARTBEAT, version, HeartbeatRequest(**{**body, **options})).error_code)

    def leave(self, version: int = LEAVE_NEWEST) -> Code:
        """Go, and nobody else."""
        if version < 3:
            body = LeaveGroupRequest(group_id=self.group, member_id=self.member)
            return Code(self.peer.ask(LEAVE_GROUP, version, body).error_code)
        members = [MemberIdentity(member_id=self.member, group_instance_id=self.instance)]
        answer = self.peer.ask(LEAVE_GROUP, version, LeaveGroupRequest(group_id=self.group, members=members))
        (one,) = answer.members
        assert (answer.error_code, one.member_id) == (0, self.member)
        return Code(one.error_code)

    def settle_alone(self) -> None:
        """Be the only member of a generation that stands."""
        self.join_alone()
        assert self.sync(assignments={self.member: b"all"}).assignment == b"all"
