from typing import Any

import pytest

from onelog.protocols.kafka.errors import Code
from onelog.protocols.kafka.messages.transactions import InitProducerIdRequest
from onelog.protocols.kafka.versions import APIS, INIT_PRODUCER_ID
from tests.support.kafka_peer import KafkaHouse, KafkaPeer

VERSIONS = range(APIS[INIT_PRODUCER_ID].version_min, APIS[INIT_PRODUCER_ID].version_max + 1)


def init(peer: KafkaPeer, *, version: int = 4, **fields: Any) -> Any:
    body = InitProducerIdRequest(transaction_timeout_ms=60_000, **fields)
    return peer.ask(INIT_PRODUCER_ID, version, body)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_producer_gets_an_id_of_its_own_in_every_version(peer: KafkaPeer, version: int) -> None:
    first, second = init(peer, version=version), init(peer, version=version)
    assert (first.error_code, first.producer_epoch, second.producer_epoch) == (0, 0, 0)
    assert 0 <= first.producer_id < second.producer_id


def test_a_producer_that_had_an_id_gets_another(peer: KafkaPeer) -> None:
    first = init(peer)
    again = init(peer, producer_id=first.producer_id, producer_epoch=first.producer_epoch)
    assert (again.error_code, again.producer_epoch) == (0, 0)
    assert again.producer_id != first.producer_id


def test_no_id_is_given_twice_across_a_restart(house: KafkaHouse) -> None:
    first = init(house.peer()).producer_id
    house.restart()
    assert init(house.peer()).producer_id > first


@pytest.mark.parametrize("version", VERSIONS)
def test_a_transactional_id_is_refused_for_good(peer: KafkaPeer, version: int) -> None:
    answer = init(peer, version=version, transactional_id="t")
    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (
        Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        -1,
        -1,
    )


def test_an_empty_transactional_id_is_an_invalid_request(peer: KafkaPeer) -> None:
    assert init(peer, transactional_id="").error_code == Code.INVALID_REQUEST
