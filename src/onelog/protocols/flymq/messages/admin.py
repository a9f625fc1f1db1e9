"""The cluster, and who somebody is."""

from onelog.binary.fields import array32, boolean, i32, text8, text16, u64
from onelog.binary.message import BIG, message
from onelog.protocols.flymq.messages.versions import PROGRAMS


@message(byte_order=BIG)
class ClusterJoin:
    """Become part of another cluster."""

    peer: str = text16()


@message(byte_order=BIG)
class ClusterLeave:
    """Be part of it no longer."""


@message(byte_order=BIG)
class ClusterStatus:
    """How the cluster is. No layout is written down anywhere."""


@message(byte_order=BIG)
class ClusterMetadata:
    """Who serves which partition, of one topic or of all; none named at all means all, too."""

    topic: str = text16(since=PROGRAMS)


@message(byte_order=BIG)
class Auth:
    """Who I am."""

    user: str = text16()
    password: str = text16()


@message(byte_order=BIG)
class WhoAmI:
    """Who do you think I am."""


@message(byte_order=BIG)
class PartitionState:
    """Who serves one partition."""

    partition: int = i32()
    leader_id: str = text16()
    leader_address: str = text16()
    epoch: int = u64()
    state: str = text16()
    replicas: list[str] = array32(text16())
    in_sync: list[str] = array32(text16())


@message(byte_order=BIG)
class TopicState:
    """The partitions of one topic."""

    topic: str = text16()
    partitions: list[PartitionState] = array32(PartitionState)


@message(byte_order=BIG)
class ClusterState:
    """A cluster, by topics."""

    cluster_id: str = text16()
    topics: list[TopicState] = array32(TopicState)


@message(byte_order=BIG)
class Authenticated:
    """Whether that is believed, and what it allows."""

    success: bool = boolean()
    user: str = text16()
    roles: list[str] = array32(text8())
    error: str = text16()


@message(byte_order=BIG)
class Identity:
    """Who the peer is believed to be; with nothing in it, nobody, in eleven bytes that all clients read."""

    authenticated: bool = boolean()
    user: str = text16()
    roles: list[str] = array32(text16())
    permissions: list[str] = array32(text16())
