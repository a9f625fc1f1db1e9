"""Which handler serves which request. One KafkaHandler a connection."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from onelog.protocols.contract import Outcome, Session
from onelog.protocols.kafka import versions
from onelog.protocols.kafka.connection import Request
from onelog.protocols.kafka.handlers import (
    admin,
    configs,
    fetch,
    group_admin,
    groups,
    membership,
    metadata,
    produce,
    topics,
    transactions,
)
from onelog.protocols.kafka.handlers.context import Context

if TYPE_CHECKING:
    from onelog.broker.broker import Broker

HANDLERS: Mapping[int, Callable[[Context, Request], Outcome]] = {
    versions.PRODUCE: produce.produce,
    versions.FETCH: fetch.fetch,
    versions.LIST_OFFSETS: fetch.list_offsets,
    versions.METADATA: metadata.metadata,
    versions.OFFSET_COMMIT: groups.offset_commit,
    versions.OFFSET_FETCH: groups.offset_fetch,
    versions.FIND_COORDINATOR: groups.find_coordinator,
    versions.JOIN_GROUP: membership.join_group,
    versions.HEARTBEAT: membership.heartbeat,
    versions.LEAVE_GROUP: membership.leave_group,
    versions.SYNC_GROUP: membership.sync_group,
    versions.DESCRIBE_GROUPS: group_admin.describe_groups,
    versions.LIST_GROUPS: group_admin.list_groups,
    versions.API_VERSIONS: admin.api_versions,
    versions.CREATE_TOPICS: topics.create_topics,
    versions.DELETE_TOPICS: topics.delete_topics,
    versions.DELETE_RECORDS: topics.delete_records,
    versions.INIT_PRODUCER_ID: transactions.init_producer_id,
    versions.OFFSET_FOR_LEADER_EPOCH: fetch.offset_for_leader_epoch,
    versions.DESCRIBE_CONFIGS: configs.describe_configs,
    versions.ALTER_CONFIGS: configs.alter_configs,
    versions.DESCRIBE_LOG_DIRS: admin.describe_log_dirs,
    versions.CREATE_PARTITIONS: topics.create_partitions,
    versions.DELETE_GROUPS: group_admin.delete_groups,
    versions.INCREMENTAL_ALTER_CONFIGS: configs.incremental_alter_configs,
    versions.OFFSET_DELETE: group_admin.offset_delete,
    versions.DESCRIBE_CLUSTER: admin.describe_cluster,
}


class KafkaHandler:
    """The meaning side of one connection. What it waits for is cancelled by the pump, with the answers."""

    def __init__(self, broker: "Broker", session: Session) -> None:
        self._context = Context(broker, session)

    def handle(self, message: Request) -> Outcome:
        """Returns when the order is fixed."""
        self._context.session.client_id = message.client_id
        return HANDLERS[message.key](self._context, message)

    def closed(self) -> None:
        """Nothing is kept for a connection."""
