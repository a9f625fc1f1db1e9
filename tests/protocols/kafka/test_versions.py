import pytest

from onelog.protocols.kafka.versions import (
    API_VERSIONS,
    APIS,
    FETCH,
    METADATA,
    OFFSET_COMMIT,
    PRODUCE,
)


def test_the_advertised_ranges_are_those_that_real_clients_were_seen_with() -> None:
    assert {key: (api.advertised_min, api.version_max) for key, api in APIS.items()} == {
        0: (0, 13),
        1: (4, 18),
        2: (1, 11),
        3: (0, 13),
        8: (2, 10),
        9: (1, 10),
        10: (0, 6),
        11: (0, 9),
        12: (0, 4),
        13: (0, 5),
        14: (0, 5),
        15: (0, 6),
        16: (0, 5),
        18: (0, 4),
        19: (2, 7),
        20: (1, 6),
        21: (0, 2),
        22: (0, 5),
        23: (2, 4),
        32: (1, 4),
        33: (0, 1),
        35: (1, 5),
        37: (0, 3),
        42: (0, 2),
        44: (0, 1),
        47: (0, 0),
        60: (0, 2),
    }


def test_produce_is_advertised_from_0_and_served_from_3() -> None:
    produce = APIS[PRODUCE]
    assert [version for version in range(-1, 16) if produce.serves(version)] == list(range(3, 14))
    assert produce.advertised_min == 0


@pytest.mark.parametrize(
    ("key", "version", "request_header", "response_header"),
    [
        (PRODUCE, 8, 1, 0),
        (PRODUCE, 9, 2, 1),
        (FETCH, 11, 1, 0),
        (FETCH, 12, 2, 1),
        (METADATA, 9, 2, 1),
        (OFFSET_COMMIT, 7, 1, 0),
    ],
)
def test_headers_are_flexible_where_their_messages_are(
    key: int, version: int, request_header: int, response_header: int
) -> None:
    assert APIS[key].request_header(version) == request_header
    assert APIS[key].response_header(version) == response_header


def test_api_versions_is_answered_with_the_oldest_header_in_every_version() -> None:
    api = APIS[API_VERSIONS]
    assert [api.response_header(version) for version in range(5)] == [0] * 5
    assert [api.request_header(version) for version in range(5)] == [1, 1, 1, 2, 2]


def test_a_table_names_each_request_by_its_messages() -> None:
    for key, api in APIS.items():
        assert api.key == key
        assert api.request.__name__ == f"{api.name}Request"
        assert api.response.__name__ == f"{api.name}Response"
