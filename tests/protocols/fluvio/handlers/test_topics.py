"""Topics made, removed and widened, and what is refused by its name."""

from typing import Any

import pytest

from onelog.broker.broker import AlterTopic, NewTopic
from onelog.errors import InvalidName, OnelogError
from onelog.metrics import REFUSALS
from onelog.protocols.contract import Later
from onelog.protocols.fluvio.handlers.topics import SETTLE_MS
from onelog.protocols.fluvio.messages.error import (
    Code,
    Other,
    SmartModuleNotFound,
    SystemSpecDeletionAttempt,
    SystemSpecUpdatingAttempt,
    code_of,
)
from onelog.protocols.fluvio.messages.objects import (
    Assigned,
    AssignedPartition,
    Computed,
    Deduplication,
    HomeMirror,
    Label,
    Mirrored,
    SegmentCleanup,
    Storage,
    TopicObject,
    TopicSpec,
)
from onelog.protocols.fluvio.messages.topics import (
    AddMirror,
    AddPartition,
    CreateRequest,
    DeleteRequest,
    ListRequest,
    Status,
    UpdateRequest,
)
from onelog.protocols.fluvio.messages.watch import WatchRequest
from onelog.protocols.fluvio.options import UNIT_ID
from onelog.protocols.fluvio.versions import CREATE, DELETE, LIST, UPDATE, WATCH
from tests.support import fluvio_wire as wire
from tests.support.fluvio_golden import capture
from tests.support.fluvio_peer import FluvioHouse, FluvioPeer


def computed(count: int = 1, *, factor: int = 1) -> Computed:
    return Computed(partition_count=count, replication_factor=factor, ignores_racks=True)


def assigned(*replicas: list[int]) -> Assigned:
    placed = [AssignedPartition(id=index, replicas=units) for index, units in enumerate(replicas)]
    return Assigned(partitions=placed)


def create(peer: FluvioPeer, name: str = "orders", spec: TopicSpec | None = None, **options: Any) -> Status:
    spec = spec or TopicSpec(replicas=computed())
    status = peer.call(CREATE, CreateRequest(Label.TOPIC, name, spec, **options))
    assert isinstance(status, Status)
    return status


def delete(peer: FluvioPeer, key: str | int, *, label: str = Label.TOPIC, is_forced: bool = False) -> Status:
    status = peer.call(DELETE, DeleteRequest(label, key, is_forced))
    assert isinstance(status, Status)
    return status


def add(peer: FluvioPeer, name: str, count: int) -> Status:
    status = peer.call(UPDATE, UpdateRequest(Label.TOPIC, name, AddPartition(count=count)))
    assert isinstance(status, Status)
    return status


def listed(peer: FluvioPeer, *, is_system: bool = False) -> dict[str, TopicObject]:
    response = peer.call(LIST, ListRequest(Label.TOPIC, is_system=is_system))
    return {topic.name: topic for topic in response.objects}


def test_a_created_topic_is_there_for_every_dialect(house: FluvioHouse, controller: FluvioPeer) -> None:
    assert create(controller, spec=TopicSpec(replicas=computed(3))) == Status(name="orders")
    assert house.broker.topic("orders").partition_count == 3
    assert listed(controller)["orders"].spec.replicas == computed(3)


@pytest.mark.parametrize("version", [9, 10, 11, 13, 18, 19])
def test_a_topic_is_created_in_every_version(
    house: FluvioHouse, controller: FluvioPeer, version: int
) -> None:
    request = CreateRequest(Label.TOPIC, "orders", TopicSpec(replicas=computed(2)))
    assert controller.call(CREATE, request, version=version) == Status(name="orders")
    assert house.broker.topic("orders").partition_count == 2
    assert controller.call(DELETE, DeleteRequest(Label.TOPIC, "orders"), version=version).error == Code.NONE


def test_a_dry_run_says_the_same_and_makes_nothing(house: FluvioHouse, controller: FluvioPeer) -> None:
    assert create(controller, is_dry_run=True) == Status(name="orders")
    assert house.broker.topics() == []
    create(controller)
    assert create(controller, is_dry_run=True).error == Code.TOPIC_ALREADY_EXISTS


def test_what_exists_is_refused_in_the_words_of_a_cluster(controller: FluvioPeer) -> None:
    create(controller, "pya-one")
    asked, answer = capture("py-07-create-existing")
    controller.send(asked.data)
    assert controller.frames() == [answer.data[4:]]


NAMES = ["", "A", "a_b", "a.b", "-a", "a-", "x" * 64, "ä", "a b"]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_fluvio_cannot_say_is_refused(controller: FluvioPeer, name: str) -> None:
    assert create(controller, name).error == Code.TOPIC_INVALID_NAME


@pytest.mark.parametrize("name", ["a", "0", "a-b", "x" * 63])
def test_a_name_that_fluvio_can_say_is_taken(controller: FluvioPeer, name: str) -> None:
    assert create(controller, name).error == Code.NONE


REFUSED = [
    (TopicSpec(replicas=computed(0)), Code.TOPIC_ERROR, "at least 1"),
    (TopicSpec(replicas=computed(10_001)), Code.TOPIC_ERROR, "1 to 10000"),
    (TopicSpec(replicas=computed(1, factor=0)), Code.TOPIC_ERROR, "replication factor 0"),
    (TopicSpec(replicas=computed(1, factor=2)), Code.TOPIC_NOT_PROVISIONED, "only 1 out of 2"),
    (TopicSpec(replicas=assigned()), Code.TOPIC_ERROR, "at least 1"),
    (TopicSpec(replicas=assigned([7777])), Code.TOPIC_ERROR, "invalid spu id: 7777"),
    (TopicSpec(replicas=assigned([UNIT_ID, UNIT_ID])), Code.TOPIC_ERROR, "2 replicas"),
    (TopicSpec(replicas=assigned([])), Code.TOPIC_ERROR, "0 replicas"),
    (
        TopicSpec(replicas=Assigned(partitions=[AssignedPartition(id=1, replicas=[UNIT_ID])])),
        Code.TOPIC_ERROR,
        "partition 1; expected 0",
    ),
    (
        TopicSpec(replicas=computed(), cleanup=SegmentCleanup(retention_s=9)),
        Code.TOPIC_INVALID_CONFIGURATION,
        "at least 10 s",
    ),
    (
        TopicSpec(replicas=computed(), storage=Storage(segment_bytes=1023)),
        Code.TOPIC_INVALID_CONFIGURATION,
        "at least 1024",
    ),
    (
        TopicSpec(replicas=computed(), storage=Storage(segment_bytes=1 << 31)),
        Code.TOPIC_INVALID_CONFIGURATION,
        "segment.bytes",
    ),
    (
        TopicSpec(replicas=computed(), storage=Storage(segment_bytes=1024, partition_bytes_max=2047)),
        Code.TOPIC_INVALID_CONFIGURATION,
        "at least 2048",
    ),
    (
        TopicSpec(replicas=computed(), storage=Storage(partition_bytes_max=(1 << 30) - 1)),
        Code.TOPIC_INVALID_CONFIGURATION,
        "the size of a segment",
    ),
    (TopicSpec(replicas=computed(), compression=6), Code.TOPIC_INVALID_CONFIGURATION, "compression"),
    (
        TopicSpec(replicas=computed(), deduplication=Deduplication(count=5, smart_module="filter")),
        Code.DEDUPLICATION_SMART_MODULE_NOT_LOADED,
        "'filter'",
    ),
    (
        TopicSpec(replicas=computed(), deduplication=Deduplication(count=5)),
        Code.DEDUPLICATION_SMART_MODULE_NAME_INVALID,
        "without a name",
    ),
    (TopicSpec(replicas=Mirrored(mirror=HomeMirror())), Code.OTHER, "a mirror, which is not served"),
]


@pytest.mark.parametrize(("spec", "code", "words"), REFUSED)
def test_what_cannot_be_made_is_refused_with_a_code_and_a_text(
    house: FluvioHouse, controller: FluvioPeer, spec: TopicSpec, code: Code, words: str
) -> None:
    status = create(controller, spec=spec)
    assert (status.name, code_of(status.error)) == ("orders", code)
    assert words in str(status.text)
    assert house.broker.topics() == []


def test_a_refusal_is_counted(house: FluvioHouse, controller: FluvioPeer) -> None:
    create(controller, "A")
    assert house.metrics.value(REFUSALS, "fluvio", "invalid_name") == 1


def test_an_assignment_to_the_one_unit_makes_a_topic(house: FluvioHouse, controller: FluvioPeer) -> None:
    spec = TopicSpec(replicas=assigned([UNIT_ID], [UNIT_ID]))
    assert create(controller, spec=spec).error == Code.NONE
    assert house.broker.topic("orders").partition_count == 2
    assert listed(controller)["orders"].spec == spec


def test_options_become_settings_that_every_dialect_sees(house: FluvioHouse, controller: FluvioPeer) -> None:
    asked, answer = capture("cli-26-create-options")
    controller.send(asked.data)
    assert controller.only() == answer.data[8:]
    assert house.broker.topic("cli18734-o").settings == {
        "retention.ms": "3600000",
        "segment.bytes": "1000000",
        "retention.bytes": "10000000",
    }


def test_options_are_given_back_byte_for_byte_after_a_restart_too(
    house: FluvioHouse, controller: FluvioPeer
) -> None:
    [asked, _] = capture("cli-26-create-options")
    controller.send(asked.data)
    controller.only()
    spec = bytes.fromhex(asked.values["spec_hex"])
    for peer in (controller, None):
        if peer is None:
            house.restart()
            peer = house.controller()
        assert spec in peer.ask(wire.list_objects("Topic"))


def test_a_time_out_is_an_answer_and_the_topic_comes_all_the_same(
    house: FluvioHouse, controller: FluvioPeer
) -> None:
    status = create(controller, timeout_ms=0)
    assert status.error == Code.TOPIC_NOT_PROVISIONED
    assert "after 0 ms" in str(status.text)
    house.run(lambda: house.broker.barrier())
    house.advance(1)
    assert house.broker.topic("orders").partition_count == 1


def test_within_its_time_a_topic_is_made_as_without(controller: FluvioPeer) -> None:
    assert create(controller, timeout_ms=60_000).error == Code.NONE


def test_who_watches_is_told_before_the_answer_leaves(house: FluvioHouse, controller: FluvioPeer) -> None:
    other = house.controller()
    for label in (Label.TOPIC, Label.PARTITION):
        other.call(WATCH, WatchRequest(label))
    began_ms = house.clock.now_ms
    assert create(controller).error == Code.NONE
    assert house.clock.now_ms - began_ms >= SETTLE_MS
    assert len(other.told(WATCH)) == 2


def test_requests_behind_a_change_find_what_it_made(controller: FluvioPeer) -> None:
    create(controller)
    add(controller, "orders", 1)
    delete(controller, "orders")
    assert [isinstance(outcome, Later) and outcome.hold for outcome in controller.outcomes] == [True] * 3


def test_a_deleted_topic_is_gone(house: FluvioHouse, controller: FluvioPeer) -> None:
    create(controller)
    assert delete(controller, "orders") == Status(name="orders")
    assert house.broker.topics() == []
    assert create(controller).error == Code.NONE


def test_deleting_what_is_not_there_is_said_in_the_words_of_a_cluster(controller: FluvioPeer) -> None:
    assert delete(controller, "zzz") == Status(name="zzz", error=Code.TOPIC_NOT_FOUND, text="not found")


def test_topics_of_other_dialects_are_deleted_whatever_they_are_called(
    house: FluvioHouse, controller: FluvioPeer
) -> None:
    house.make("Orders_1.of.Kafka")
    assert delete(controller, "Orders_1.of.Kafka").error == Code.NONE


def test_fluvios_own_topic_is_refused_as_captured(controller: FluvioPeer) -> None:
    asked, answer = capture("py-21-delete-system")
    controller.send(asked.data)
    assert controller.frames() == [answer.data[4:]]


@pytest.mark.parametrize("is_forced", [False, True])
def test_fluvios_own_topic_stays_force_or_not(controller: FluvioPeer, is_forced: bool) -> None:
    status = delete(controller, "consumer-offset", is_forced=is_forced)
    assert status.error == SystemSpecDeletionAttempt(kind="topic", name="consumer-offset")
    assert "consumer-offset" in listed(controller, is_system=True)


def test_a_system_topic_of_somebodys_own_goes_by_force(house: FluvioHouse, controller: FluvioPeer) -> None:
    assert create(controller, spec=TopicSpec(replicas=computed(), is_system=True)).error == Code.NONE
    assert "orders" not in listed(controller)
    assert "orders" in listed(controller, is_system=True)
    refused = SystemSpecDeletionAttempt(kind="topic", name="orders")
    assert delete(controller, "orders").error == refused
    assert delete(controller, "orders", is_forced=True).error == Code.NONE


def test_no_dialect_can_make_fluvios_own_topic(house: FluvioHouse, controller: FluvioPeer) -> None:
    [outcome] = house.run(lambda: house.broker.create_topics([NewTopic("consumer-offset", 1)]))
    assert isinstance(outcome, InvalidName)
    assert isinstance(outcome, OnelogError)
    assert create(controller, "consumer-offset").error == Code.TOPIC_ALREADY_EXISTS


@pytest.mark.parametrize(
    ("label", "key", "fault"),
    [
        (Label.SMART_MODULE, "filter", SmartModuleNotFound(name="filter")),
        (Label.TABLE_FORMAT, "t", Code.TABLE_FORMAT_NOT_FOUND),
        (Label.MIRROR, "m", Code.MIRROR_NOT_FOUND),
        (Label.UNIT_GROUP, "g", Code.SPU_NOT_FOUND),
        (Label.CUSTOM_UNIT, "nobody", Code.SPU_NOT_FOUND),
        (Label.CUSTOM_UNIT, 7777, Code.SPU_NOT_FOUND),
    ],
)
def test_deleting_what_there_is_none_of_has_the_code_of_its_kind(
    controller: FluvioPeer, label: str, key: str | int, fault: object
) -> None:
    assert delete(controller, key, label=label).error == fault


@pytest.mark.parametrize("key", [UNIT_ID, f"custom-spu-{UNIT_ID}"])
def test_the_one_unit_stays(controller: FluvioPeer, key: str | int) -> None:
    assert "cannot be removed" in str(delete(controller, key, label=Label.CUSTOM_UNIT).text)


def test_deleting_what_no_cluster_has_is_refused_in_its_words(controller: FluvioPeer) -> None:
    status = delete(controller, "x", label="Nonsense")
    assert (status.name, status.error) == ("create error", Other(text="unknown admin object type"))


@pytest.mark.parametrize("label", [Label.SMART_MODULE, Label.TABLE_FORMAT, Label.UNIT_GROUP, "Nonsense"])
def test_what_is_not_served_is_refused_by_its_name(controller: FluvioPeer, label: str) -> None:
    made = controller.call(CREATE, CreateRequest(label, "it", b"whatever"))
    changed = controller.call(UPDATE, UpdateRequest(label, "it", b"whatever"))
    for status in (made, changed):
        assert isinstance(status.error, Other)
        assert label in status.error.text
        assert status.text == status.error.text


def test_partitions_are_added(house: FluvioHouse, controller: FluvioPeer) -> None:
    create(controller, "two")
    asked, answer = capture("cli-25-add-partition")
    controller.send(asked.data)
    assert controller.only() == answer.data[8:]
    assert house.broker.topic("two").partition_count == 2
    assert listed(controller)["two"].spec.replicas == computed(2)


def test_added_partitions_of_an_assignment_are_the_units(controller: FluvioPeer) -> None:
    create(controller, spec=TopicSpec(replicas=assigned([UNIT_ID])))
    assert add(controller, "orders", 2).error == Code.NONE
    assert listed(controller)["orders"].spec.replicas == assigned([UNIT_ID], [UNIT_ID], [UNIT_ID])


def test_what_cannot_be_widened_is_refused(controller: FluvioPeer) -> None:
    create(controller)
    assert add(controller, "nobody", 1).error == Code.TOPIC_NOT_FOUND
    assert add(controller, "orders", 0).error == Code.TOPIC_ERROR
    assert add(controller, "orders", (1 << 32) - 1).error == Code.TOPIC_ERROR
    refused = SystemSpecUpdatingAttempt(kind="topic", name="consumer-offset")
    assert add(controller, "consumer-offset", 1).error == refused
    mirror = UpdateRequest(Label.TOPIC, "orders", AddMirror(remote_cluster="far"))
    assert controller.call(UPDATE, mirror).error == Other(text="orders: mirrors are not served")


def test_what_another_dialect_changed_is_told_as_it_is(house: FluvioHouse, controller: FluvioPeer) -> None:
    spec = TopicSpec(
        replicas=computed(),
        cleanup=SegmentCleanup(retention_s=60),
        storage=Storage(segment_bytes=4096, partition_bytes_max=8192),
    )
    create(controller, spec=spec)
    house.run(lambda: house.broker.alter_topics([AlterTopic("orders", {"retention.ms": "90000"})]))
    found = listed(controller)["orders"].spec
    assert found.cleanup == SegmentCleanup(retention_s=90)
    assert found.storage == spec.storage
