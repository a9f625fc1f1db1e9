import struct
import threading

import pytest

from onelog.broker.work import Act, Done, LoopWork
from onelog.errors import DiskFailed
from onelog.protocols.contract import Reply
from onelog.protocols.kafka.errors import Code
from onelog.protocols.kafka.handlers.context import CLUSTER_OPERATIONS
from onelog.protocols.kafka.handlers.handler import HANDLERS
from onelog.protocols.kafka.messages.admin import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    DescribableLogDirTopic,
    DescribeClusterRequest,
    DescribeLogDirsRequest,
    DescribeLogDirsResult,
)
from onelog.protocols.kafka.versions import (
    API_VERSIONS,
    APIS,
    DESCRIBE_CLUSTER,
    DESCRIBE_LOG_DIRS,
    PRODUCE,
)
from tests.support.kafka_peer import KafkaPeer
from tests.support.kafka_talk import batch, create_topic, produce_request
from tests.support.kafka_wire import frame


def ask(peer: KafkaPeer, version: int, *, name: str = "test", software: str = "1.0") -> ApiVersionsResponse:
    body = ApiVersionsRequest(client_software_name=name, client_software_version=software)
    answer = peer.ask(API_VERSIONS, version, body)
    assert isinstance(answer, ApiVersionsResponse)
    return answer


@pytest.mark.parametrize("version", range(5))
def test_what_is_served_is_told_in_every_version(peer: KafkaPeer, version: int) -> None:
    answer = ask(peer, version)
    told = {key.api_key: (key.min_version, key.max_version) for key in answer.api_keys}
    assert told == {api.key: (api.advertised_min, api.version_max) for api in APIS.values()}
    assert answer.error_code == 0


def test_exactly_these_are_advertised(peer: KafkaPeer) -> None:
    told = [(key.api_key, key.min_version, key.max_version) for key in ask(peer, 3).api_keys]
    assert told == [
        (0, 0, 13),
        (1, 4, 18),
        (2, 1, 11),
        (3, 0, 13),
        (8, 2, 10),
        (9, 1, 10),
        (10, 0, 6),
        (11, 0, 9),
        (12, 0, 4),
        (13, 0, 5),
        (14, 0, 5),
        (15, 0, 6),
        (16, 0, 5),
        (18, 0, 4),
        (19, 2, 7),
        (20, 1, 6),
        (21, 0, 2),
        (22, 0, 5),
        (23, 2, 4),
        (32, 1, 4),
        (33, 0, 1),
        (35, 1, 5),
        (37, 0, 3),
        (42, 0, 2),
        (44, 0, 1),
        (47, 0, 0),
        (60, 0, 2),
    ]


def test_no_feature_is_told_that_is_not_there(peer: KafkaPeer) -> None:
    for version in (3, 4):
        answer = ask(peer, version)
        assert (answer.supported_features, answer.finalized_features, answer.zk_migration_ready) == (
            [],
            [],
            False,
        )


@pytest.mark.parametrize("version", [5, 9, 1000])
def test_a_version_that_is_too_new_hears_which_are_not(peer: KafkaPeer, version: int) -> None:
    (call,) = peer.received(frame(struct.pack(">hhih", API_VERSIONS, version, 3, -1) + b"\0" * 9))
    outcome = peer.handler.handle(call.message)
    assert isinstance(outcome, Reply)
    sent = b"".join(peer.connection.send(call.tag, outcome.message))
    assert sent == frame(struct.pack(">ihihhh", 3, Code.UNSUPPORTED_VERSION, 1, API_VERSIONS, 0, 4))


@pytest.mark.parametrize("name", ["bad name!", "", "-a", "a-", "ä", "a\n"])
def test_a_client_whose_name_cannot_be_one_is_an_invalid_request(peer: KafkaPeer, name: str) -> None:
    for answer in (ask(peer, 3, name=name), ask(peer, 4, software=name)):
        assert (answer.error_code, answer.api_keys) == (Code.INVALID_REQUEST, [])


@pytest.mark.parametrize("name", ["a", "librdkafka", "apache-kafka-java", "confluent.kafka-2"])
def test_a_client_may_have_one_of_many_names(peer: KafkaPeer, name: str) -> None:
    assert ask(peer, 3, name=name).error_code == 0


def test_every_request_that_is_served_has_a_handler() -> None:
    assert set(HANDLERS) == set(APIS)


# DescribeCluster


@pytest.mark.parametrize("version", range(3))
def test_the_cluster_is_one_broker_under_the_address_of_the_listener_in_every_version(
    peer: KafkaPeer, version: int
) -> None:
    answer = peer.ask(DESCRIBE_CLUSTER, version, DescribeClusterRequest())
    assert (answer.error_code, answer.controller_id) == (0, 1)
    assert answer.cluster_id == peer.house.broker.cluster_id
    (broker,) = answer.brokers
    assert (broker.broker_id, broker.host, broker.port, broker.rack) == (1, "shared.example", 9092, None)
    assert answer.cluster_authorized_operations == -(1 << 31)


def test_what_may_be_done_to_the_cluster_is_told_when_asked(peer: KafkaPeer) -> None:
    body = DescribeClusterRequest(include_cluster_authorized_operations=True)
    assert peer.ask(DESCRIBE_CLUSTER, 2, body).cluster_authorized_operations == CLUSTER_OPERATIONS


@pytest.mark.parametrize(
    ("kind", "code"), [(2, Code.MISMATCHED_ENDPOINT_TYPE), (3, Code.UNSUPPORTED_ENDPOINT_TYPE)]
)
def test_there_are_no_controllers_to_describe(peer: KafkaPeer, kind: int, code: Code) -> None:
    answer = peer.ask(DESCRIBE_CLUSTER, 1, DescribeClusterRequest(endpoint_type=kind))
    assert (answer.error_code, answer.brokers) == (code, [])
    assert answer.error_message


# DescribeLogDirs


def log_dir(
    peer: KafkaPeer, topics: list[DescribableLogDirTopic] | None = None, *, version: int = 5
) -> DescribeLogDirsResult:
    answer = peer.ask(DESCRIBE_LOG_DIRS, version, DescribeLogDirsRequest(topics=topics))
    assert answer.error_code == 0
    (result,) = answer.results
    assert isinstance(result, DescribeLogDirsResult)
    return result


def sizes(result: DescribeLogDirsResult) -> dict[tuple[str, int], int]:
    return {
        (topic.name, part.partition_index): part.partition_size
        for topic in result.topics
        for part in topic.partitions
    }


@pytest.mark.parametrize("version", range(1, 6))
def test_the_directory_is_told_with_what_is_in_it_in_every_version(peer: KafkaPeer, version: int) -> None:
    create_topic(peer, "orders", partitions=2)
    data = batch(b"a" * 100)
    peer.ask(PRODUCE, 9, produce_request(data, partition=1))
    result = log_dir(peer, version=version)
    assert (result.error_code, result.log_dir) == (0, str(peer.house.path))
    assert sizes(result) == {("orders", 0): 0, ("orders", 1): len(data)}
    if version >= 4:
        assert result.usable_bytes > 0


def test_the_size_counts_what_is_not_written_yet(peer: KafkaPeer, monkeypatch: pytest.MonkeyPatch) -> None:
    create_topic(peer, "orders")
    data = batch(b"a" * 100)
    gate = threading.Event()
    real = LoopWork.sync

    def held(self: LoopWork, job: Act, done: Done) -> None:
        def behind_the_gate() -> None:
            assert gate.wait(30)
            job()

        real(self, behind_the_gate, done)

    monkeypatch.setattr(LoopWork, "sync", held)
    produced = peer.begin(PRODUCE, 9, produce_request(data))
    assert not produced.is_there()
    assert sizes(log_dir(peer)) == {("orders", 0): len(data)}
    gate.set()
    assert produced.body() is not None


def test_only_what_is_asked_for_and_there_is_told(peer: KafkaPeer) -> None:
    create_topic(peer, "orders", partitions=3)
    create_topic(peer, "sales")
    asked = [
        DescribableLogDirTopic(topic="orders", partitions=[2, 7]),
        DescribableLogDirTopic(topic="nowhere", partitions=[0]),
    ]
    assert sizes(log_dir(peer, asked)) == {("orders", 2): 0}
    assert sizes(log_dir(peer, [])) == {}


def test_a_partition_that_is_closed_is_left_out(peer: KafkaPeer) -> None:
    create_topic(peer, "orders", partitions=2)
    for partition in range(2):
        peer.ask(PRODUCE, 9, produce_request(batch(), partition=partition))
    peer.house.settle()
    segment = peer.house.path / "orders-0" / f"{0:020}.log"
    segment.unlink()
    segment.mkdir()
    peer.house.restart()
    assert list(sizes(log_dir(peer.house.peer()))) == [("orders", 1)]


def test_a_directory_that_cannot_be_asked_is_a_storage_error(
    peer: KafkaPeer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: str) -> int:
        raise DiskFailed(path=path, found="Input/output error", doing="asking for free space")

    monkeypatch.setattr(peer.house.store.disk, "free_bytes", fail)
    assert log_dir(peer).error_code == Code.KAFKA_STORAGE_ERROR
