import time
from typing import Any

import pytest

import onelog
from onelog.client.errors import BadAnswer
from onelog.client.kafka.admin import Admin
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.errors import KafkaError
from onelog.client.kafka.offsets import OffsetAt, Offsets, Spot
from onelog.client.kafka.producer import Producer
from onelog.model import Isolation
from onelog.protocols.kafka.errors import Code
from onelog.records.record import Record
from tests.client.kafka.conftest import Cluster
from tests.support.fake_kafka import LOSE_ANSWER, OLD_VERSIONS

EVERYTHING = Isolation.READ_UNCOMMITTED


def test_each_leader_is_asked_about_its_own(cluster: Cluster) -> None:
    fake, client = cluster(nodes=2)
    fake.add_topic("a", leaders=[0, 1, 0])
    Producer(client).send("a", [Record(None, b"x", 7)], partition=1)
    offsets = Offsets(client)
    found = offsets.list("a", Spot.LATEST, partitions=None, isolation=EVERYTHING)
    assert found == {0: OffsetAt(0, -1), 1: OffsetAt(1, -1), 2: OffsetAt(0, -1)}
    asked = {node: len(body.topics[0].partitions) for node, _, body in fake.requests("ListOffsets")}
    assert asked == {0: 2, 1: 1}


@pytest.mark.parametrize("versions", [{}, OLD_VERSIONS])
def test_records_are_deleted_at_each_leader(cluster: Cluster, versions: dict[int, tuple[int, int]]) -> None:
    fake, client = cluster(nodes=2, versions=versions)
    topic = fake.add_topic("a", leaders=[0, 1])
    for partition in (0, 1):
        for _ in range(3):
            Producer(client).send("a", [Record(None, b"x", 7)], partition=partition)
    assert Offsets(client).delete_records("a", {0: 2, 1: None}) == {0: 2, 1: 3}
    assert [log.start for log in topic.logs] == [2, 3]


def test_deleting_records_again_after_a_lost_answer_changes_nothing(cluster: Cluster) -> None:
    fake, client = cluster()
    fake.add_topic("a", leaders=[0])
    Producer(client).send("a", [Record(None, b"x", 7)])
    fake.fault("DeleteRecords", LOSE_ANSWER, Code.NOT_LEADER_OR_FOLLOWER)
    assert Offsets(client).delete_records("a", {0: 1}) == {0: 1}
    assert len(fake.requests("DeleteRecords")) == 3


def test_an_answer_about_other_partitions_is_none(cluster: Cluster) -> None:
    fake, client = cluster()
    fake.add_topic("a", leaders=[0, 0])
    real = fake.answer_list_offsets

    def answer(node: int, request: Any, code: Code) -> Any:
        found = real(node, request, code)
        found.topics[0].partitions[0].partition_index = 1
        return found

    fake.answers = {"ListOffsets": answer}
    with pytest.raises(BadAnswer, match="other partitions"):
        Offsets(client).list("a", Spot.LATEST, partitions=[0], isolation=EVERYTHING)


def test_a_real_broker_deletes_records_and_refuses_where_there_is_none(broker: onelog.Broker) -> None:
    with KafkaClient(broker.bootstrap, timeout_s=10) as client:
        admin = Admin(client)
        admin.create_topic("cut", partition_count=2)
        now_ms = time.time_ns() // 1_000_000
        Producer(client).send("cut", [Record(None, b"x", now_ms) for _ in range(3)], partition=1)
        assert admin.delete_records("cut", {0: None, 1: 2}) == {0: 0, 1: 2}
        assert admin.offsets("cut", Spot.EARLIEST) == {0: OffsetAt(0, -1), 1: OffsetAt(2, -1)}
        with pytest.raises(KafkaError, match="cut/1: OFFSET_OUT_OF_RANGE"):
            admin.delete_records("cut", {1: 4})
