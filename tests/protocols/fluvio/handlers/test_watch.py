"""Watches: everything first, and whatever anybody changes afterwards, at once."""

import pytest

from onelog.broker.broker import AlterTopic
from onelog.protocols.contract import Address, ProtocolError
from onelog.protocols.fluvio.handlers.watch import News
from onelog.protocols.fluvio.messages.objects import LABELS, OBJECTS, Label
from onelog.protocols.fluvio.messages.units import UnitResolution
from onelog.protocols.fluvio.messages.watch import WatchRequest, WatchResponse
from onelog.protocols.fluvio.versions import WATCH
from tests.support import fluvio_wire as wire
from tests.support.fluvio_golden import capture
from tests.support.fluvio_peer import FluvioHouse, FluvioPeer


def watch(peer: FluvioPeer, label: str) -> WatchResponse:
    response = peer.call(WATCH, WatchRequest(label))
    assert isinstance(response, WatchResponse)
    return response


def heard(peer: FluvioPeer) -> list[list[tuple[int, str]]]:
    """What changed, frame by frame: the kind of the change, the name."""
    return [[(each.kind, each.object.name) for each in frame.changes] for frame in peer.told(WATCH)]


@pytest.mark.parametrize("name", ["py-04-watch-partition", "py-05-watch-topic"])
def test_the_first_frame_of_a_fresh_broker_is_the_captured_one_but_for_its_epoch(
    controller: FluvioPeer, name: str
) -> None:
    asked, answer = capture(name)
    controller.send(asked.data)
    [frame] = controller.frames()
    epoch = slice(4 + len(answer.values["label"]) + 6, 4 + len(answer.values["label"]) + 14)
    expected = bytearray(answer.data[4:])
    expected[epoch] = bytes(8)
    assert frame == expected


def test_the_unit_is_watched_as_captured_but_for_its_private_port(controller: FluvioPeer) -> None:
    asked, answer = capture("py-03-watch-spu")
    controller.send(asked.data)
    [frame] = controller.frames()
    expected = answer.data[4:].replace((3).to_bytes(8, "big"), bytes(8), 1)
    assert frame == expected.replace((19211).to_bytes(2, "big"), bytes(2), 1)


def test_a_topic_that_another_dialect_made_is_told_at_once(
    house: FluvioHouse, controller: FluvioPeer
) -> None:
    watch(controller, Label.TOPIC)
    watch(controller, Label.PARTITION)
    house.make("Of_Kafka", 2)
    assert heard(controller) == [[(0, "Of_Kafka")], [(0, "Of_Kafka-0"), (0, "Of_Kafka-1")]]


def test_a_deletion_is_told_partitions_first(house: FluvioHouse, controller: FluvioPeer) -> None:
    house.make("orders")
    watch(controller, Label.TOPIC)
    watch(controller, Label.PARTITION)
    house.delete_topic("orders")
    assert heard(controller) == [[(1, "orders-0")], [(1, "orders")]]


def test_growing_tells_the_topic_and_the_new_partitions(house: FluvioHouse, controller: FluvioPeer) -> None:
    house.make("orders")
    watch(controller, Label.TOPIC)
    watch(controller, Label.PARTITION)
    house.run(lambda: house.broker.grow_partitions("orders", 3))
    assert heard(controller) == [[(0, "orders")], [(0, "orders-1"), (0, "orders-2")]]


def test_a_setting_that_changes_is_told_of_the_topic_and_all_its_partitions(
    house: FluvioHouse, controller: FluvioPeer
) -> None:
    house.make("orders", 2)
    watch(controller, Label.TOPIC)
    watch(controller, Label.PARTITION)
    house.run(lambda: house.broker.alter_topics([AlterTopic("orders", {"retention.ms": "60000"})]))
    topics, partitions = controller.told(WATCH)
    assert topics.changes[0].object.spec.cleanup.retention_s == 60
    assert [each.object.spec.cleanup.retention_s for each in partitions.changes] == [60, 60]


def test_two_watches_of_one_kind_on_one_connection_are_both_told(
    house: FluvioHouse, controller: FluvioPeer
) -> None:
    controller.send(wire.watch("Topic", correlation_id=1), wire.watch("Topic", correlation_id=4))
    first = controller.frames()
    assert [frame[:4] for frame in first] == [b"\0\0\0\1", b"\0\0\0\4"]
    assert first[0][4:] == first[1][4:]
    house.make("orders")
    then = controller.frames()
    assert [frame[:4] for frame in then] == [b"\0\0\0\1", b"\0\0\0\4"]


def test_without_the_units_listener_the_unit_is_offline(house: FluvioHouse) -> None:
    alone = house.controller({"fluvio-sc": Address("127.0.0.1", 9003)})
    [unit] = watch(alone, Label.UNIT).all
    assert unit.resolution == UnitResolution.OFFLINE


@pytest.mark.parametrize("label", [label for label in LABELS if label not in OBJECTS])
def test_of_what_is_not_served_a_watch_is_empty(controller: FluvioPeer, label: str) -> None:
    assert watch(controller, label) == WatchResponse(label, 0)


def test_the_unit_is_watched_under_its_other_name_too(controller: FluvioPeer) -> None:
    assert [each.name for each in watch(controller, Label.CUSTOM_UNIT).all] == ["custom-spu-5001"]


def test_what_no_cluster_has_closes(controller: FluvioPeer) -> None:
    with pytest.raises(ProtocolError, match="a watch of 'Nonsense'"):
        controller.send(wire.watch("Nonsense"))


def test_nothing_is_kept_for_a_watch_whose_connection_is_gone(
    house: FluvioHouse, controller: FluvioPeer
) -> None:
    watch(controller, Label.TOPIC)
    assert house.broker.kept(News).is_watched
    controller.close()
    assert not house.broker.kept(News).is_watched


def test_a_topic_that_changes_while_nobody_watches_is_in_the_next_first_frame(
    house: FluvioHouse, controller: FluvioPeer
) -> None:
    watch(controller, Label.TOPIC)
    controller.close()
    house.make("orders")
    assert [each.name for each in watch(house.controller(), Label.TOPIC).all] == ["consumer-offset", "orders"]
