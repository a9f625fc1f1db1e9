"""Of the broker itself: what it has, which nodes there are, and what followers say of themselves.

status     request_id u32 | flags u8 = 0 | cluster u8 = 0 | topics u32 | partitions u32
           | open_partitions u32 | open_time_ms u32 | started_s u32 | version u32
topology   request_id u32 | 0xffff u16 where there is no cluster

Both are those of a single broker. A cluster's have more, and no client of ours asks one.
"""

from typing import Final

from onelog.binary.fields import u8, u16, u32
from onelog.binary.message import LITTLE, message

VERSION: Final = 400
"""Of the protocol that we speak: 100 times the major number, and the minor one."""
NO_CLUSTER: Final = 0xFFFF


@message(byte_order=LITTLE)
class PingRequest:
    """Still there. It has no payload, and no answer."""


@message(byte_order=LITTLE)
class RegisterReplicaRequest:
    """A follower says which one it is."""

    replica_id: int = u16()


@message(byte_order=LITTLE)
class StatusRequest:
    """How much there is."""

    request_id: int = u32()


@message(byte_order=LITTLE)
class StatusResponse:
    """Counts, and since when the broker runs, in seconds since 1970."""

    request_id: int = u32()
    flags: int = u8()
    cluster: int = u8()
    topic_count: int = u32()
    partition_count: int = u32()
    open_partition_count: int = u32()
    open_time_ms: int = u32()
    started_s: int = u32()
    version: int = u32()


@message(byte_order=LITTLE)
class DiscoverTopologyRequest:
    """Which nodes there are."""

    request_id: int = u32()
    flags: int = u8()


@message(byte_order=LITTLE)
class DiscoverTopologyResponse:
    """How many nodes; NO_CLUSTER: this broker is alone."""

    request_id: int = u32()
    node_count: int = u16()
