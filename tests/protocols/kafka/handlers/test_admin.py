import struct

import pytest

from onelog.protocols.contract import Reply
from onelog.protocols.kafka.errors import Code
from onelog.protocols.kafka.handlers.handler import HANDLERS
from onelog.protocols.kafka.messages.admin import ApiVersionsRequest, ApiVersionsResponse
from onelog.protocols.kafka.versions import API_VERSIONS, APIS
from tests.support.kafka_peer import KafkaPeer
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
        (22, 0, 5),
        (32, 1, 4),
        (37, 0, 3),
        (42, 0, 2),
        (44, 0, 1),
        (47, 0, 0),
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
