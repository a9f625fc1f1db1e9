"""ApiVersions, DescribeCluster and DescribeLogDirs: what is served, by whom, and how much it holds."""

import re
from collections.abc import Sequence
from functools import cache

from onelog.errors import OnelogError, PartitionClosed, UnknownPartition, UnknownTopic
from onelog.protocols.contract import Outcome, Reply
from onelog.protocols.kafka.connection import Request
from onelog.protocols.kafka.errors import Code, KafkaRefusal
from onelog.protocols.kafka.handlers.context import CLUSTER_OPERATIONS, NOT_ASKED, Context
from onelog.protocols.kafka.messages.admin import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from onelog.protocols.kafka.versions import API_VERSIONS, APIS, Api

NAMES_ITSELF_SINCE = 3
ENDPOINT_BROKERS = 1
ENDPOINT_CONTROLLERS = 2
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def api_versions(context: Context, request: Request) -> Outcome:
    """A version that we do not know is answered as well, or a newer client could never begin."""
    if request.body is None:
        return Reply(_too_new())
    body: ApiVersionsRequest = request.body
    if request.version >= NAMES_ITSELF_SINCE:
        names = (body.client_software_name, body.client_software_version)
        if not all(_SOFTWARE.fullmatch(name) for name in names):
            return Reply(ApiVersionsResponse(error_code=Code.INVALID_REQUEST, api_keys=[]))
        context.session.facts["software"] = " ".join(names)
    return Reply(_served())


@cache
def _served() -> ApiVersionsResponse:
    return ApiVersionsResponse(api_keys=[_advertised(APIS[key]) for key in sorted(APIS)])


@cache
def _too_new() -> ApiVersionsResponse:
    return ApiVersionsResponse(
        error_code=Code.UNSUPPORTED_VERSION, api_keys=[_advertised(APIS[API_VERSIONS])]
    )


def _advertised(api: Api) -> ApiVersion:
    return ApiVersion(api_key=api.key, min_version=api.advertised_min, max_version=api.version_max)


def describe_cluster(context: Context, request: Request) -> Outcome:
    """One broker, under the address of the listener that the client came through."""
    body: DescribeClusterRequest = request.body
    broker, address = context.broker, context.address
    if body.endpoint_type != ENDPOINT_BROKERS:
        refusal = _other_endpoint(body.endpoint_type)
        return Reply(DescribeClusterResponse(error_code=context.refuse(refusal), error_message=str(refusal)))
    return Reply(
        DescribeClusterResponse(
            cluster_id=broker.cluster_id,
            controller_id=broker.node_id,
            brokers=[DescribeClusterBroker(broker_id=broker.node_id, host=address.host, port=address.port)],
            cluster_authorized_operations=(
                CLUSTER_OPERATIONS if body.include_cluster_authorized_operations else NOT_ASKED
            ),
        )
    )


def _other_endpoint(endpoint_type: int) -> KafkaRefusal:
    if endpoint_type == ENDPOINT_CONTROLLERS:
        return KafkaRefusal(
            Code.MISMATCHED_ENDPOINT_TYPE, "controllers were asked for; expected brokers, this is one"
        )
    return KafkaRefusal(
        Code.UNSUPPORTED_ENDPOINT_TYPE, f"endpoint type {endpoint_type}; expected {ENDPOINT_BROKERS}, brokers"
    )


def describe_log_dirs(context: Context, request: Request) -> Outcome:
    """The one directory. Sizes count what is appended and not written yet; what is not here is left out."""
    body: DescribeLogDirsRequest = request.body
    try:
        directory = context.broker.describe_directory()
    except OnelogError as error:
        # Its path is not told: nothing more can be said of what is in it.
        failed = DescribeLogDirsResult(error_code=context.refuse(error), log_dir="", topics=[])
        return Reply(DescribeLogDirsResponse(results=[failed]))
    if body.topics is None:
        asked = [(topic.name, range(topic.partition_count)) for topic in context.broker.topics()]
        topics = [_sizes(context, name, indexes) for name, indexes in asked]
    else:
        topics = [_sizes(context, one.topic, one.partitions) for one in body.topics]
    result = DescribeLogDirsResult(
        error_code=Code.NONE,
        log_dir=directory.path,
        topics=[topic for topic in topics if topic.partitions],
        usable_bytes=directory.free_bytes,
    )
    return Reply(DescribeLogDirsResponse(results=[result]))


def _sizes(context: Context, name: str, indexes: Sequence[int]) -> DescribeLogDirsTopic:
    partitions = []
    for index in indexes:
        try:
            info = context.broker.describe_partition(name, index)
        except (UnknownTopic, UnknownPartition, PartitionClosed):
            continue  # as Kafka does it: a directory tells what it serves
        partitions.append(
            DescribeLogDirsPartition(
                partition_index=index, partition_size=info.size_bytes, offset_lag=0, is_future_key=False
            )
        )
    return DescribeLogDirsTopic(name=name, partitions=partitions)
