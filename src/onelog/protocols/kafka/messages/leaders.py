"""Where a partition has gone, as Produce and Fetch answers tell it: tagged, from versions 10, 12 and 16."""

from onelog.binary.fields import i32, text16
from onelog.binary.message import message


@message()
class LeaderIdAndEpoch:
    leader_id: int = i32(default=-1)
    leader_epoch: int = i32(default=-1)


@message()
class NodeEndpoint:
    node_id: int = i32()
    host: str = text16()
    port: int = i32()
    rack: str | None = text16(nullable=True)
