import pytest

from onelog.client.errors import BrokerUnavailable, ClientError, ConnectionLost
from onelog.client.kafka.client import METADATA_AGE_S_MAX, KafkaClient
from onelog.client.kafka.errors import KafkaError
from onelog.client.kafka.metadata import TopicView
from onelog.client.retry import Retrier, RetryPolicy
from onelog.protocols.kafka.errors import Code
from onelog.protocols.kafka.messages.topics import MetadataRequest, MetadataResponse
from tests.client.kafka.conftest import Cluster
from tests.support.fake_kafka import LOSE_REQUEST, FakeKafka
from tests.support.hand_clock import HandClock


def topic(client: KafkaClient, name: str, *, create: bool = False) -> TopicView:
    return client.run(lambda deadline: client.topic(name, deadline, create=create))


def test_metadata_is_asked_for_once(cluster: Cluster) -> None:
    fake, client = cluster()
    fake.add_topic("orders", leaders=[0, 0])
    assert topic(client, "orders").partition_count == 2
    assert topic(client, "orders").id == fake.topics["orders"].id
    assert len(fake.requests("Metadata")) == 1


def test_metadata_is_asked_for_again_when_it_is_old() -> None:
    clock = HandClock()
    retrier = Retrier(RetryPolicy(timeout_s=5.0), clock=clock, sleep=clock.sleep)
    with FakeKafka() as fake, KafkaClient(fake.bootstrap, retrier=retrier) as client:
        fake.add_topic("orders", leaders=[0])
        topic(client, "orders")
        fake.topics["orders"].logs *= 3
        clock.now_s += METADATA_AGE_S_MAX + 1
        assert topic(client, "orders").partition_count == 3


def test_a_topic_that_is_not_there_is_said_at_once(cluster: Cluster) -> None:
    fake, client = cluster()
    with pytest.raises(KafkaError, match="orders: UNKNOWN_TOPIC_OR_PARTITION") as caught:
        topic(client, "orders")
    assert caught.value.attempts == 1
    assert len(fake.requests("Metadata")) == 1


def test_a_topic_may_be_made_by_being_asked_for(cluster: Cluster) -> None:
    fake, client = cluster()
    assert topic(client, "orders", create=True).partition_count == 1
    assert "orders" in fake.topics


def test_a_broker_that_is_still_choosing_is_asked_again(cluster: Cluster) -> None:
    fake, client = cluster()
    fake.add_topic("orders", leaders=[0])
    fake.fault("Metadata", Code.LEADER_NOT_AVAILABLE, LOSE_REQUEST)
    assert topic(client, "orders").partition_count == 1
    assert len(fake.requests("Metadata")) == 3


def test_another_broker_answers_for_one_that_is_gone(cluster: Cluster) -> None:
    fake, client = cluster(nodes=2)
    fake.add_topic("orders", leaders=[1])
    topic(client, "orders")
    fake.node(0).close()
    fake.topics["orders"].logs *= 2
    assert client.run(lambda d: client.refresh(["orders"], d)).topics["orders"].partition_count == 2


def test_an_idle_connection_that_the_broker_closed_is_replaced(cluster: Cluster) -> None:
    fake, client = cluster()
    fake.add_topic("orders", leaders=[0])
    topic(client, "orders")
    fake.node(0).hang_up()
    client.run(lambda d: client.refresh(None, d))
    assert fake.node(0).connections == 2


def test_a_cluster_that_never_answers_is_named_in_the_end(cluster: Cluster) -> None:
    fake, client = cluster()
    fake.node(0).close()
    with pytest.raises(BrokerUnavailable, match=f"no broker answers at {fake.bootstrap}: connection refused"):
        topic(client, "orders")


def test_a_request_that_left_is_not_given_to_another_broker_in_the_same_attempt(cluster: Cluster) -> None:
    fake, client = cluster(nodes=2)
    client.run(lambda d: client.refresh([], d))
    fake.fault("Metadata", LOSE_REQUEST)
    deadline = Retrier(clock=HandClock()).deadline()
    with pytest.raises(ConnectionLost):
        client.ask_any(MetadataRequest(topics=[]), MetadataResponse, doing="asking", deadline=deadline)


def test_a_closed_client_says_so(cluster: Cluster) -> None:
    _, client = cluster()
    client.close()
    with pytest.raises(ClientError, match="closed"):
        topic(client, "orders")
