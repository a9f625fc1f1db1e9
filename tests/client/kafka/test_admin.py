import pytest

import onelog
from onelog.client.kafka.admin import Admin, OffsetAt, Spot, TopicInfo
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.errors import KafkaError
from onelog.client.kafka.producer import Producer
from onelog.protocols.kafka.errors import Code
from onelog.records.record import Record
from tests.client.kafka.conftest import Cluster
from tests.support.fake_kafka import LOSE_ANSWER, LOSE_REQUEST, OLD_VERSIONS


def test_topics_are_made_listed_and_removed(cluster: Cluster) -> None:
    fake, client = cluster()
    admin = Admin(client)
    view = admin.create_topic("b", partition_count=3)
    assert view is not None
    assert view.partition_count == 3
    admin.create_topic("a", partition_count=1)
    assert admin.topics() == [
        TopicInfo("a", fake.topics["a"].id, 1, is_internal=False),
        TopicInfo("b", fake.topics["b"].id, 3, is_internal=False),
    ]
    admin.delete_topic("a")
    assert [topic.name for topic in admin.topics()] == ["b"]


def test_a_topic_that_exists_is_an_error(cluster: Cluster) -> None:
    fake, client = cluster()
    fake.add_topic("a", leaders=[0])
    with pytest.raises(KafkaError, match="TOPIC_ALREADY_EXISTS"):
        Admin(client).create_topic("a")


@pytest.mark.parametrize("fault", [LOSE_REQUEST, LOSE_ANSWER, Code.NOT_CONTROLLER])
def test_a_change_whose_answer_was_lost_counts_as_made(cluster: Cluster, fault: Code | str) -> None:
    fake, client = cluster()
    admin = Admin(client)
    fake.fault("CreateTopics", fault)
    admin.create_topic("a")
    assert list(fake.topics) == ["a"]
    fake.fault("DeleteTopics", fault)
    admin.delete_topic("a")
    assert not fake.topics


def test_a_topic_that_is_not_there_is_not_waited_for(cluster: Cluster) -> None:
    fake, client = cluster()
    with pytest.raises(KafkaError, match="UNKNOWN_TOPIC_OR_PARTITION"):
        Admin(client).delete_topic("a")
    assert len(fake.requests("DeleteTopics")) == 1


def test_a_new_topic_is_waited_for_until_every_broker_knows(cluster: Cluster) -> None:
    fake, client = cluster()
    Admin(client).topics()
    fake.fault("Metadata", Code.UNKNOWN_TOPIC_OR_PARTITION, Code.LEADER_NOT_AVAILABLE)
    assert Admin(client).create_topic("a") is not None


def test_a_change_goes_to_the_controller(cluster: Cluster) -> None:
    fake, client = cluster(nodes=3)
    Admin(client).create_topic("a")
    assert [node for node, _, _ in fake.requests("CreateTopics")] == [2]


def test_whether_a_topic_could_be_made_can_be_asked(cluster: Cluster) -> None:
    fake, client = cluster()
    assert Admin(client).create_topic("a", validate_only=True) is None
    assert not fake.topics


def test_offsets_come_from_each_leader(cluster: Cluster) -> None:
    fake, client = cluster(nodes=2)
    fake.add_topic("a", leaders=[0, 1])
    Producer(client).send("a", [Record(None, b"x", 7)], partition=1)
    admin = Admin(client)
    assert admin.offsets("a", Spot.LATEST) == {0: OffsetAt(0, -1), 1: OffsetAt(1, -1)}
    assert admin.offsets("a", Spot.EARLIEST, partitions=[1]) == {1: OffsetAt(0, -1)}
    assert admin.offsets("a", 8) == {0: OffsetAt(-1, -1), 1: OffsetAt(-1, -1)}
    with pytest.raises(KafkaError, match=r"a/5: UNKNOWN_TOPIC_OR_PARTITION .*has 2 partitions"):
        admin.offsets("a", Spot.LATEST, partitions=[5])


def test_an_old_cluster_can_be_administered(cluster: Cluster) -> None:
    fake, client = cluster(versions=OLD_VERSIONS)
    admin = Admin(client)
    admin.create_topic("a", partition_count=2)
    assert admin.offsets("a", Spot.LATEST)[1].offset == 0
    admin.delete_topic("a")
    assert not fake.topics


def test_settings_and_partitions_of_a_real_topic_are_changed_and_described(
    broker: onelog.Broker,
) -> None:
    with KafkaClient(broker.bootstrap, timeout_s=10) as client:
        admin = Admin(client)
        admin.create_topic("settled", partition_count=2, settings={"retention.ms": "1000"})
        Producer(client).send("settled", [Record(b"k", b"v", 1)], partition=1)
        described = admin.describe_topic("settled")
        assert [(p.partition, p.start, p.end) for p in described.partitions] == [(0, 0, 0), (1, 0, 1)]
        assert {s.name: s.value for s in described.settings if s.is_own} == {"retention.ms": "1000"}
        assert len(described.settings) > 20
        admin.alter_topic("settled", set={"segment.ms": "60000"}, unset=["retention.ms"])
        assert {s.name: s.value for s in admin.settings("settled") if s.is_own} == {"segment.ms": "60000"}
        admin.grow_partitions("settled", 5)
        assert admin.topic("settled").partition_count == 5


def test_a_real_broker_refuses_with_its_own_words(broker: onelog.Broker) -> None:
    with KafkaClient(broker.bootstrap, timeout_s=10) as client:
        admin = Admin(client)
        with pytest.raises(KafkaError, match=r"INVALID_CONFIG \(40\): .*no\.such\.setting"):
            admin.create_topic("refused", settings={"no.such.setting": "1"})
        with pytest.raises(KafkaError, match="INVALID_TOPIC_EXCEPTION"):
            admin.create_topic("not a name")
        admin.create_topic("refused", partition_count=2)
        with pytest.raises(KafkaError, match="INVALID_PARTITIONS"):
            admin.grow_partitions("refused", 1)
        with pytest.raises(KafkaError, match="INVALID_CONFIG"):
            admin.alter_topic("refused", set={"retention.ms": "soon"})
        for ask in (admin.settings, admin.topic, lambda name: admin.grow_partitions(name, 9)):
            with pytest.raises(KafkaError, match="UNKNOWN_TOPIC_OR_PARTITION"):
                ask("nothing")
