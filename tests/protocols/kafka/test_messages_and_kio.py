"""Our bytes are kio's bytes, for every message in every version that is served."""

import dataclasses
from typing import Any

import pytest

from onelog.binary.message import codec
from onelog.protocols.kafka.messages.header import RequestHeader, ResponseHeader
from onelog.protocols.kafka.versions import APIS, Api
from tests.support.kafka_facts import Message, table
from tests.support.kio_messages import ERROR_CODES, oracle, plain, read, said, written
from tests.support.random_values import Values

VALUES = 6
TABLE = table()
MESSAGES = [
    pytest.param(api, version, cls, id=f"{cls.__name__}-{version}")
    for api in APIS.values()
    for version in range(api.version_min, api.version_max + 1)
    for cls in (api.request, api.response)
]


def names(message: Message, version: int) -> int:
    """How many fields a message has in a version, those of structs not counted."""
    return sum(fact.since <= version <= fact.until and "." not in fact.path for fact in message.fields)


@pytest.mark.parametrize(("api", "version", "cls"), MESSAGES)
def test_each_reads_what_the_other_wrote(api: Api, version: int, cls: type[Any]) -> None:
    theirs = oracle(api, version, cls)
    ours = codec(cls, version)
    assert len(dataclasses.fields(theirs)) == names(TABLE[cls.__name__], version)
    values = Values(
        f"{cls.__name__} {version}",
        version=version,
        is_flexible=api.is_flexible(version),
        error_codes=ERROR_CODES,
    )
    for _ in range(VALUES):
        value = values.message(cls)
        data = ours.encode_bytes(value)
        found, size = read(theirs, data)
        assert size == len(data)
        assert said(found, value) == plain(value, found)
        again, end = ours.decode(written(found))
        assert end == len(written(found))
        assert again == value


@pytest.mark.parametrize(("api", "version", "cls"), MESSAGES)
def test_the_header_is_the_one_that_kio_expects(api: Api, version: int, cls: type[Any]) -> None:
    header = oracle(api, version, cls).__header_schema__
    value: Any = ResponseHeader(correlation_id=7)
    header_version = api.response_header(version)
    if cls is api.request:
        value = RequestHeader(
            request_api_key=api.key, request_api_version=version, correlation_id=7, client_id="me"
        )
        header_version = api.request_header(version)
    ours = codec(type(value), header_version)
    data = ours.encode_bytes(value)
    found, size = read(header, data)
    assert size == len(data)
    assert said(found, value) == plain(value, found)
    assert ours.decode(written(found)) == (value, len(data))
