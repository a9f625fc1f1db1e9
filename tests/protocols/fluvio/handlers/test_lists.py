"""Lists of every kind."""

import pytest

from onelog.protocols.contract import ProtocolError
from onelog.protocols.fluvio.messages.objects import LABELS, OBJECTS, Label
from onelog.protocols.fluvio.messages.topics import LISTED, ListRequest
from onelog.protocols.fluvio.versions import LIST
from tests.support import fluvio_wire as wire
from tests.support.fluvio_golden import capture
from tests.support.fluvio_peer import FluvioHouse, FluvioPeer


def names(peer: FluvioPeer, label: str, *filters: str, is_system: bool = False) -> list[str]:
    response = peer.call(LIST, ListRequest(label, list(filters), is_system=is_system))
    assert response.label == label
    return [each.name for each in response.objects]


def test_a_filter_is_a_part_of_a_name_and_none_is_all(house: FluvioHouse, controller: FluvioPeer) -> None:
    for name in ("orders", "old-orders", "bills"):
        house.make(name)
    assert names(controller, Label.TOPIC) == ["bills", "old-orders", "orders"]
    assert names(controller, Label.TOPIC, "ord") == ["old-orders", "orders"]
    assert names(controller, Label.TOPIC, "bill", "old") == ["bills", "old-orders"]
    assert names(controller, Label.TOPIC, "nothing") == []


def test_fluvios_own_topic_is_listed_among_system_topics_only(
    house: FluvioHouse, controller: FluvioPeer
) -> None:
    house.make("orders", 2)
    assert names(controller, Label.TOPIC) == ["orders"]
    assert names(controller, Label.TOPIC, is_system=True) == ["consumer-offset"]
    assert names(controller, Label.PARTITION) == ["orders-0", "orders-1"]
    assert names(controller, Label.PARTITION, is_system=True) == ["consumer-offset-0"]
    assert names(controller, Label.PARTITION, "nothing") == ["orders-0", "orders-1"]


def test_no_other_dialect_has_fluvios_own_topic(house: FluvioHouse) -> None:
    assert house.broker.topics() == []


def test_the_one_unit_is_listed_by_its_name(controller: FluvioPeer) -> None:
    for label in (Label.UNIT, Label.CUSTOM_UNIT):
        assert names(controller, label) == ["custom-spu-5001"]
        assert names(controller, label, "custom-spu-5001") == ["custom-spu-5001"]
        assert names(controller, label, "custom") == []


@pytest.mark.parametrize("label", [label for label in LABELS if label not in OBJECTS])
def test_of_what_is_not_served_there_is_none(controller: FluvioPeer, label: str) -> None:
    assert names(controller, label) == []


def test_what_no_cluster_has_closes(controller: FluvioPeer) -> None:
    with pytest.raises(ProtocolError, match="a list of 'Nonsense'"):
        controller.send(wire.list_objects("Nonsense"))


@pytest.mark.parametrize("version", [11, 15, 19])
def test_a_list_is_read_in_the_version_that_was_asked_in(
    house: FluvioHouse, controller: FluvioPeer, version: int
) -> None:
    house.make("orders")
    response = controller.call(LIST, ListRequest(Label.PARTITION), version=version)
    assert [each.name for each in response.objects][-1] == "orders-0"


def test_lists_are_those_that_were_captured_but_for_the_order_of_names(
    house: FluvioHouse, controller: FluvioPeer
) -> None:
    controller.send(capture("py-06-create-topic-pushes")[0].data, wire.create("pya-one"))
    while len(house.broker.topics()) < 2:
        house.advance(1)
    house.advance(1)
    controller.frames()
    for name in ("py-08-list-topics", "py-09-list-partitions"):
        asked, answer = capture(name)
        controller.send(asked.data)
        [frame] = controller.frames()
        assert frame[:4] == answer.data[4:8]
        found, expected = [
            LISTED.decode(memoryview(data), 0, 19)[0].objects for data in (frame[4:], answer.data[8:])
        ]
        assert found == sorted(expected, key=lambda each: str(each.name))
