"""The cluster, which is one broker, and who the peer is, while nobody has to say."""

from collections.abc import Sequence
from typing import Final

from onelog.broker.broker import Topic
from onelog.errors import InvalidRequest
from onelog.protocols.contract import Outcome, Reply
from onelog.protocols.flymq.handlers.context import Context
from onelog.protocols.flymq.messages.admin import (
    Auth,
    Authenticated,
    ClusterJoin,
    ClusterLeave,
    ClusterMetadata,
    ClusterState,
    ClusterStatus,
    Identity,
    PartitionState,
    TopicState,
    WhoAmI,
)
from onelog.protocols.flymq.messages.topics import Done
from onelog.protocols.flymq.names import shown

# FlyMQ's own words for a broker that is alone, which programs show to people.
STANDALONE: Final = "standalone"
ONLINE: Final = "online"
EPOCH: Final = 1


def cluster_metadata(context: Context, request: ClusterMetadata) -> Outcome:
    """Who serves every partition, of the topic asked for or of all: this broker."""
    broker = context.broker
    topics = [context.topic(request.topic)] if request.topic else broker.topics()
    states = [_state(context, topic) for topic in topics]
    return context.later(broker.barrier(), lambda _: ClusterState(cluster_id=STANDALONE, topics=states))


def cluster_join(context: Context, request: ClusterJoin) -> Outcome:
    """Not with us. Clients do not look at the answer, so it is an error."""
    raise InvalidRequest(f"this broker is a cluster by itself and joins no other: {request.peer!r:.80}")


def cluster_leave(context: Context, request: ClusterLeave) -> Outcome:
    """True before it was asked."""
    return Reply(Done(success=True, text="this broker is in no cluster with others"))


def cluster_status(context: Context, request: ClusterStatus) -> Outcome:
    """One node, which is here."""
    text = f"{STANDALONE}: 1 node, {ONLINE}; node {context.broker.node_id} at {context.address}"
    return Reply(Done(success=True, text=text))


def auth(context: Context, request: Auth) -> Outcome:
    """Nobody has to, so whoever does may; it makes no difference to what is allowed."""
    return Reply(Authenticated(success=True, user=request.user))


def whoami(context: Context, request: WhoAmI) -> Outcome:
    """A name that nobody has checked is nobody's."""
    return Reply(Identity())


def _state(context: Context, topic: Topic) -> TopicState:
    node = str(context.broker.node_id)
    alone: Sequence[str] = [node]
    partitions = [
        PartitionState(
            partition=index,
            leader_id=node,
            leader_address=str(context.address),
            epoch=EPOCH,
            state=ONLINE,
            replicas=list(alone),
            in_sync=list(alone),
        )
        for index in range(topic.partition_count)
    ]
    return TopicState(topic=shown(topic.name), partitions=partitions)
