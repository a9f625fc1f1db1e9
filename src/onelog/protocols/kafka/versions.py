"""Which requests of Kafka exist for us, in which versions, and with which headers."""

from typing import Any, NamedTuple

from onelog.binary.layout import declaration_of
from onelog.protocols.kafka.messages.admin import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from onelog.protocols.kafka.messages.configs import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from onelog.protocols.kafka.messages.fetch import (
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from onelog.protocols.kafka.messages.group_admin import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
)
from onelog.protocols.kafka.messages.groups import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from onelog.protocols.kafka.messages.membership import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from onelog.protocols.kafka.messages.produce import ProduceRequest, ProduceResponse
from onelog.protocols.kafka.messages.topics import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    MetadataRequest,
    MetadataResponse,
)
from onelog.protocols.kafka.messages.transactions import InitProducerIdRequest, InitProducerIdResponse

PRODUCE = 0
FETCH = 1
LIST_OFFSETS = 2
METADATA = 3
OFFSET_COMMIT = 8
OFFSET_FETCH = 9
FIND_COORDINATOR = 10
JOIN_GROUP = 11
HEARTBEAT = 12
LEAVE_GROUP = 13
SYNC_GROUP = 14
DESCRIBE_GROUPS = 15
LIST_GROUPS = 16
API_VERSIONS = 18
CREATE_TOPICS = 19
DELETE_TOPICS = 20
DELETE_RECORDS = 21
INIT_PRODUCER_ID = 22
OFFSET_FOR_LEADER_EPOCH = 23
DESCRIBE_CONFIGS = 32
ALTER_CONFIGS = 33
DESCRIBE_LOG_DIRS = 35
CREATE_PARTITIONS = 37
DELETE_GROUPS = 42
INCREMENTAL_ALTER_CONFIGS = 44
OFFSET_DELETE = 47
DESCRIBE_CLUSTER = 60


class Api(NamedTuple):
    """One kind of request: its messages, and the versions that we serve and advertise."""

    key: int
    name: str
    request: type[Any]
    response: type[Any]
    advertised_min: int
    version_min: int
    version_max: int

    def serves(self, version: int) -> bool:
        """Whether a request in this version is answered."""
        return self.version_min <= version <= self.version_max

    def is_flexible(self, version: int) -> bool:
        """Whether this version has compact lengths and tagged fields, its header too."""
        flexible = declaration_of(self.request).flexible
        return flexible is not None and version >= flexible

    def request_header(self, version: int) -> int:
        """The version of the header before a request."""
        return 2 if self.is_flexible(version) else 1

    def response_header(self, version: int) -> int:
        """The version of the header before a response.

        ApiVersions is answered with the oldest: who asks does not know yet what we speak.
        """
        return 1 if self.is_flexible(version) and self.key != API_VERSIONS else 0


# librdkafka sends gzip, snappy and lz4 uncompressed to a broker that does not advertise
# Produce from version 0 on. Kafka says 0 as well, and serves from 3 on.
_PRODUCE_ADVERTISED_MIN = 0
# Version 2 exists, and sarama leaves out the tags of its settings. Nobody misses it: clients
# that know better use IncrementalAlterConfigs.
_ALTER_CONFIGS_MAX = 1

APIS: dict[int, Api] = {
    api.key: api
    for api in (
        Api(PRODUCE, "Produce", ProduceRequest, ProduceResponse, _PRODUCE_ADVERTISED_MIN, 3, 13),
        Api(FETCH, "Fetch", FetchRequest, FetchResponse, 4, 4, 18),
        Api(LIST_OFFSETS, "ListOffsets", ListOffsetsRequest, ListOffsetsResponse, 1, 1, 11),
        Api(METADATA, "Metadata", MetadataRequest, MetadataResponse, 0, 0, 13),
        Api(OFFSET_COMMIT, "OffsetCommit", OffsetCommitRequest, OffsetCommitResponse, 2, 2, 10),
        Api(OFFSET_FETCH, "OffsetFetch", OffsetFetchRequest, OffsetFetchResponse, 1, 1, 10),
        Api(FIND_COORDINATOR, "FindCoordinator", FindCoordinatorRequest, FindCoordinatorResponse, 0, 0, 6),
        Api(JOIN_GROUP, "JoinGroup", JoinGroupRequest, JoinGroupResponse, 0, 0, 9),
        Api(HEARTBEAT, "Heartbeat", HeartbeatRequest, HeartbeatResponse, 0, 0, 4),
        Api(LEAVE_GROUP, "LeaveGroup", LeaveGroupRequest, LeaveGroupResponse, 0, 0, 5),
        Api(SYNC_GROUP, "SyncGroup", SyncGroupRequest, SyncGroupResponse, 0, 0, 5),
        Api(DESCRIBE_GROUPS, "DescribeGroups", DescribeGroupsRequest, DescribeGroupsResponse, 0, 0, 6),
        Api(LIST_GROUPS, "ListGroups", ListGroupsRequest, ListGroupsResponse, 0, 0, 5),
        Api(API_VERSIONS, "ApiVersions", ApiVersionsRequest, ApiVersionsResponse, 0, 0, 4),
        Api(CREATE_TOPICS, "CreateTopics", CreateTopicsRequest, CreateTopicsResponse, 2, 2, 7),
        Api(DELETE_TOPICS, "DeleteTopics", DeleteTopicsRequest, DeleteTopicsResponse, 1, 1, 6),
        Api(DELETE_RECORDS, "DeleteRecords", DeleteRecordsRequest, DeleteRecordsResponse, 0, 0, 2),
        Api(INIT_PRODUCER_ID, "InitProducerId", InitProducerIdRequest, InitProducerIdResponse, 0, 0, 5),
        Api(
            OFFSET_FOR_LEADER_EPOCH,
            "OffsetForLeaderEpoch",
            OffsetForLeaderEpochRequest,
            OffsetForLeaderEpochResponse,
            2,
            2,
            4,
        ),
        Api(DESCRIBE_CONFIGS, "DescribeConfigs", DescribeConfigsRequest, DescribeConfigsResponse, 1, 1, 4),
        Api(
            ALTER_CONFIGS, "AlterConfigs", AlterConfigsRequest, AlterConfigsResponse, 0, 0, _ALTER_CONFIGS_MAX
        ),
        Api(DESCRIBE_LOG_DIRS, "DescribeLogDirs", DescribeLogDirsRequest, DescribeLogDirsResponse, 1, 1, 5),
        Api(
            CREATE_PARTITIONS, "CreatePartitions", CreatePartitionsRequest, CreatePartitionsResponse, 0, 0, 3
        ),
        Api(DELETE_GROUPS, "DeleteGroups", DeleteGroupsRequest, DeleteGroupsResponse, 0, 0, 2),
        Api(
            INCREMENTAL_ALTER_CONFIGS,
            "IncrementalAlterConfigs",
            IncrementalAlterConfigsRequest,
            IncrementalAlterConfigsResponse,
            0,
            0,
            1,
        ),
        Api(OFFSET_DELETE, "OffsetDelete", OffsetDeleteRequest, OffsetDeleteResponse, 0, 0, 0),
        Api(DESCRIBE_CLUSTER, "DescribeCluster", DescribeClusterRequest, DescribeClusterResponse, 0, 0, 2),
    )
}
