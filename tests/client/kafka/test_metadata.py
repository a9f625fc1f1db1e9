import pytest

from onelog.client.kafka.errors import KafkaError
from onelog.client.kafka.metadata import NO_NODE, Cluster, UnknownPartition
from onelog.model import Address
from onelog.protocols.kafka.errors import Code
from onelog.protocols.kafka.messages.topics import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)


def answer(*topics: MetadataResponseTopic) -> MetadataResponse:
    broker = MetadataResponseBroker(node_id=4, host="h", port=9)
    return MetadataResponse(brokers=[broker], cluster_id="c", controller_id=4, topics=list(topics))


def topic(name: str, *leaders: int) -> MetadataResponseTopic:
    partitions = [
        MetadataResponsePartition(partition_index=i, leader_id=leader, leader_epoch=3, replica_nodes=[4])
        for i, leader in enumerate(leaders)
    ]
    return MetadataResponseTopic(name=name, partitions=partitions)


def test_an_answer_tells_of_brokers_and_of_the_topics_asked_for() -> None:
    cluster = Cluster().with_answer(answer(topic("a", 4))).with_answer(answer(topic("b", 4, 4)))
    assert cluster.nodes == {4: Address("h", 9)}
    assert (cluster.controller, cluster.cluster_id) == (4, "c")
    assert {name: view.partition_count for name, view in cluster.topics.items()} == {"a": 1, "b": 2}
    assert cluster.topics["a"].partition(0).leader_epoch == 3


def test_a_topic_that_is_answered_with_an_error_is_forgotten() -> None:
    gone = MetadataResponseTopic(error_code=Code.UNKNOWN_TOPIC_OR_PARTITION, name="a")
    assert not Cluster().with_answer(answer(topic("a", 4))).with_answer(answer(gone)).topics


def test_a_partition_that_is_not_there_is_not_waited_for() -> None:
    view = Cluster().with_answer(answer(topic("a", 4))).topics["a"]
    with pytest.raises(UnknownPartition, match=r"a/1.*the topic has 1 partition, counted from 0") as caught:
        view.partition(1)
    assert not caught.value.retriable


def test_a_partition_without_a_leader_is_waited_for() -> None:
    view = Cluster().with_answer(answer(topic("a", NO_NODE))).topics["a"]
    with pytest.raises(KafkaError, match="LEADER_NOT_AVAILABLE") as caught:
        view.partition(0)
    assert caught.value.retriable
