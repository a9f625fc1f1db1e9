"""Of the broker itself: its counts, and that it is alone."""

from typing import Final

from onelog.protocols.contract import Outcome, Reply
from onelog.protocols.tank.handlers.context import Context, later
from onelog.protocols.tank.messages.admin import (
    NO_CLUSTER,
    VERSION,
    DiscoverTopologyRequest,
    DiscoverTopologyResponse,
    StatusRequest,
    StatusResponse,
)

_U32_MAX: Final = (1 << 32) - 1


def status(context: Context, request: StatusRequest) -> Outcome:
    """How much there is. All partitions are open, and that took no time worth a number."""
    broker = context.broker
    topics = broker.topics()
    partition_count = sum(topic.partition_count for topic in topics)
    response = StatusResponse(
        request_id=request.request_id,
        topic_count=len(topics),
        partition_count=partition_count,
        open_partition_count=partition_count,
        started_s=min(broker.opened_ms // 1000, _U32_MAX),
        version=VERSION,
    )
    return later(broker.barrier(), lambda _: response)


def discover_topology(context: Context, request: DiscoverTopologyRequest) -> Outcome:
    """No cluster."""
    return Reply(DiscoverTopologyResponse(request_id=request.request_id, node_count=NO_CLUSTER))
