"""The wheel makes, lists, watches and removes topics, and is told what cannot be."""

import time
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource, NewPartitions, NewTopic

from tests.interop.fluvio.conftest import Open
from tests.interop.fluvio.wheel import Wheel, WheelError
from tests.support.served import Served

pytestmark = pytest.mark.interop

PROFILE = """
version = "2.0"
current_profile = "local"
[profile.local]
cluster = "local"
[cluster.local]
endpoint = "{address}"
use_spu_local_address = false
[cluster.local.tls]
tls_policy = "disabled"
"""


@pytest.fixture
def kafka(broker: Served) -> AdminClient:
    return AdminClient({"bootstrap.servers": f"127.0.0.1:{broker.ports['kafka']}"})


def test_a_fresh_broker_answers_at_once_and_has_no_topic(wheel: Wheel) -> None:
    began = time.monotonic()
    assert wheel("topics") == []
    assert wheel("partitions") == []
    assert time.monotonic() - began < 5


def test_it_connects_by_a_profile(broker: Served, tmp_path: Path) -> None:
    profile = tmp_path / "profile"
    profile.write_text(PROFILE.format(address=f"127.0.0.1:{broker.ports['fluvio-sc']}"), encoding="utf-8")
    with Wheel("", FLV_PROFILE_PATH=str(profile)) as wheel:
        wheel("create", topic="by-profile")
        assert wheel("produce", topic="by-profile", records=[["k", "v"]]) == [[0, 0]]


def test_a_topic_is_made_listed_and_removed(wheel: Wheel) -> None:
    wheel("create", topic="orders", partitions=3)
    assert wheel("topics") == ["orders"]
    assert wheel("partitions") == ["orders-0", "orders-1", "orders-2"]
    wheel("delete", topic="orders")
    assert wheel("topics") == []


def test_a_filter_is_a_part_of_a_name(wheel: Wheel) -> None:
    for topic in ("orders", "old-orders", "bills"):
        wheel("create", topic=topic)
    assert wheel("topics", names=["orders"]) == ["old-orders", "orders"]
    assert wheel("topics", names=["orders"], is_summary=True) == ["old-orders", "orders"]
    assert wheel("topics", names=[]) == ["bills", "old-orders", "orders"]


def test_what_is_made_on_one_connection_is_there_on_another_at_once(wheel: Wheel) -> None:
    assert wheel("create_and_use", times=200) == []


def test_what_is_not_there_is_said_at_once(wheel: Wheel) -> None:
    began = time.monotonic()
    with pytest.raises(WheelError, match="Topic not found: missing"):
        wheel("produce", topic="missing", records=[["k", "v"]])
    assert time.monotonic() - began < 1


@pytest.mark.parametrize("name", ["Upper", "under_score", "-dash", "dash-", "x" * 64, ""])
def test_a_name_that_cannot_be_is_refused(wheel: Wheel, name: str) -> None:
    with pytest.raises(WheelError, match="Invalid topic name"):
        wheel("create", topic=name)


def test_what_exists_is_refused(wheel: Wheel) -> None:
    wheel("create", topic="orders")
    with pytest.raises(WheelError, match="Topic already exists"):
        wheel("create", topic="orders")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"retention_s": 5}, "at least 10 s"),
        ({"partitions": 0}, "at least 1"),
        ({"replicas": 2}, "only 1 out of 2"),
        ({"assigned": [[7777]]}, "invalid spu id: 7777"),
        ({"storage": [1 << 20, 1023]}, "at least 1024"),
    ],
)
def test_what_cannot_be_is_refused_in_words(wheel: Wheel, options: dict[str, object], words: str) -> None:
    with pytest.raises(WheelError, match=words):
        wheel("create", topic="orders", **options)
    assert wheel("topics") == []


def test_a_dry_run_makes_nothing(wheel: Wheel) -> None:
    wheel("create", topic="orders", is_dry_run=True)
    assert wheel("topics") == []


def test_a_topic_is_made_within_a_time(wheel: Wheel) -> None:
    wheel("create_within", topic="orders", timeout_ms=10_000)
    assert wheel("topics") == ["orders"]


def test_an_assigned_topic_takes_records(wheel: Wheel) -> None:
    wheel("create", topic="orders", assigned=[[5001], [5001]])
    assert wheel("partitions") == ["orders-0", "orders-1"]
    placed = wheel("produce", topic="orders", records=[[f"k{n}", "v"] for n in range(20)])
    assert {partition for partition, _ in placed} == {0, 1}


def test_options_are_settings_that_kafkas_clients_see(wheel: Wheel, kafka: AdminClient) -> None:
    wheel("create", topic="orders", retention_s=3600, storage=[10_000_000, 1_000_000])
    resource = ConfigResource(ConfigResource.Type.TOPIC, "orders")
    [future] = kafka.describe_configs([resource]).values()
    found = future.result(20)
    names = ("retention.ms", "segment.bytes", "retention.bytes")
    assert [found[name].value for name in names] == ["3600000", "1000000", "10000000"]


def test_a_codec_that_a_topic_does_not_take_is_refused(wheel: Wheel) -> None:
    wheel("create", topic="orders", compression="Gzip")
    assert wheel("produce", topic="orders", records=[["k", "v"]]) == [[0, 0]]
    with pytest.raises(WheelError, match=r"(?i)compression"):
        wheel("produce", topic="orders", records=[["k", "v"]], compression="Zstd")


def test_removing_what_is_not_there_or_is_fluvios_own_is_refused(wheel: Wheel) -> None:
    with pytest.raises(WheelError, match="Topic not found"):
        wheel("delete", topic="missing")
    with pytest.raises(WheelError, match="can only be deleted forcibly"):
        wheel("delete", topic="consumer-offset")


def test_a_system_topic_is_not_listed(wheel: Wheel) -> None:
    wheel("create", topic="own", is_system=True)
    assert wheel("topics") == []
    with pytest.raises(WheelError, match="can only be deleted forcibly"):
        wheel("delete", topic="own")


def test_a_topic_is_removed_and_made_again_without_waiting(wheel: Wheel) -> None:
    began = time.monotonic()
    for n in range(5):
        wheel("create", topic="again")
        assert wheel("produce", topic="again", records=[["k", str(n)]]) == [[0, 0]]
        wheel("delete", topic="again")
    assert time.monotonic() - began < 10


def test_a_watch_hears_of_every_dialects_topics(wheel: Wheel, open_wheel: Open, kafka: AdminClient) -> None:
    watcher = open_wheel()
    watcher.begin("watch", frames=5)
    told = watcher.said()
    assert next(told) == [["consumer-offset"], [], []]
    wheel("create", topic="of-fluvio")
    assert next(told) == [[], ["of-fluvio"], []]
    kafka.create_topics([NewTopic("Of_Kafka", 2)])["Of_Kafka"].result(20)
    assert next(told) == [[], ["Of_Kafka"], []]
    kafka.create_partitions([NewPartitions("Of_Kafka", 3)])["Of_Kafka"].result(20)
    assert next(told) == [[], ["Of_Kafka"], []]
    kafka.delete_topics(["of-fluvio"])["of-fluvio"].result(20)
    assert next(told) == [[], [], ["of-fluvio"]]


def test_a_topic_that_kafka_made_takes_fluvios_records(wheel: Wheel, kafka: AdminClient) -> None:
    kafka.create_topics([NewTopic("Of_Kafka.1", 1)])["Of_Kafka.1"].result(20)
    assert wheel("topics") == ["Of_Kafka.1"]
    assert wheel("produce", topic="Of_Kafka.1", records=[["k", "v"]]) == [[0, 0]]


def test_a_client_sees_added_partitions_without_coming_back(wheel: Wheel, kafka: AdminClient) -> None:
    wheel("create", topic="orders")
    records = [[f"k{n}", "v"] for n in range(50)]
    assert {partition for partition, _ in wheel("produce", topic="orders", records=records)} == {0}
    kafka.create_partitions([NewPartitions("orders", 4)])["orders"].result(20)
    assert wheel("partitions") == [f"orders-{n}" for n in range(4)]
    assert {partition for partition, _ in wheel("produce", topic="orders", records=records)} == set(range(4))


def test_no_other_dialect_sees_fluvios_own_topic(wheel: Wheel, kafka: AdminClient) -> None:
    wheel("create", topic="orders")
    assert set(kafka.list_topics(timeout=20).topics) == {"orders"}
    with pytest.raises(Exception, match="Fluvio keeps this name"):
        kafka.create_topics([NewTopic("consumer-offset", 1)])["consumer-offset"].result(20)


def test_of_what_is_not_served_there_is_none(wheel: Wheel) -> None:
    assert wheel("smart_modules") == []
