import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onelog.binary.message import codec
from onelog.protocols.contract import Call, FrameLimits, ProtocolError
from onelog.protocols.kafka.connection import KafkaConnection, Request
from onelog.protocols.kafka.messages.admin import ApiVersionsRequest, ApiVersionsResponse
from onelog.protocols.kafka.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from onelog.protocols.kafka.messages.topics import MetadataRequest, MetadataRequestTopic, MetadataResponse
from onelog.protocols.kafka.versions import API_VERSIONS, APIS, METADATA, PRODUCE
from tests.support.kafka_wire import frame, request

LIMITS = FrameLimits(frame_bytes_max=100 << 20)
METADATA_OF_A = request(
    METADATA, 9, MetadataRequest(topics=[MetadataRequestTopic(name="a")]), correlation_id=7
)


def feed(connection: KafkaConnection, data: bytes, *, step: int | None = None) -> list[Call]:
    calls: list[Call] = []
    step = step or len(data)
    for at in range(0, len(data), step):
        rest = data[at : at + step]
        while rest:
            room = connection.lend(len(rest))
            part = rest[: len(room)]
            room[: len(part)] = part
            rest = rest[len(part) :]
            calls.extend(connection.received(len(part)))
    return calls


def messages(calls: list[Call]) -> list[Request]:
    return [call.message for call in calls]


@pytest.mark.parametrize("step", [None, 1, 7])
def test_a_request_comes_out_however_it_is_cut(step: int | None) -> None:
    calls = feed(KafkaConnection(LIMITS), METADATA_OF_A * 3, step=step)
    assert [call.tag.correlation_id for call in calls] == [7, 7, 7]
    assert all(message.body.topics[0].name == "a" for message in messages(calls))


def test_the_next_frame_right_behind_does_not_disturb() -> None:
    connection = KafkaConnection(LIMITS)
    assert len(feed(connection, METADATA_OF_A + METADATA_OF_A[:9])) == 1
    assert len(feed(connection, METADATA_OF_A[9:])) == 1


def test_leftovers_behind_the_body_count_for_nothing() -> None:
    for count in (1, 2, 3):
        (message,) = messages(feed(KafkaConnection(LIMITS), frame(METADATA_OF_A[4:] + b"\0" * count)))
        assert message.body.topics[0].name == "a"


@pytest.mark.parametrize("client_id", [None, "", "kcat"])
def test_a_client_may_have_no_name(client_id: str | None) -> None:
    for version in (1, 9):
        data = request(METADATA, version, MetadataRequest(topics=[]), client_id=client_id)
        (message,) = messages(feed(KafkaConnection(LIMITS), data))
        assert message.client_id == (client_id or "")


def test_a_clients_name_is_classic_also_where_all_else_is_compact() -> None:
    header = struct.pack(">hhi", METADATA, 12, 1) + b"\x00\x02me" + b"\x00"
    body = b"\x01" + b"\x01\x00" + b"\x00"
    (message,) = messages(feed(KafkaConnection(LIMITS), frame(header + body)))
    assert message.client_id == "me"


def test_tags_that_nobody_knows_are_skipped_everywhere() -> None:
    unknown = b"\x01\x63\x03abc"
    header = struct.pack(">hhi", METADATA, 9, 1) + b"\x00\x02me" + unknown
    body = b"\x02" + b"\x02a" + unknown + b"\x01\x00\x00" + unknown
    (message,) = messages(feed(KafkaConnection(LIMITS), frame(header + body)))
    assert message.body.topics[0].name == "a"


def test_requests_are_counted_by_their_own_names() -> None:
    (message,) = messages(feed(KafkaConnection(LIMITS), METADATA_OF_A))
    assert type(message).__name__ == "MetadataRequest"


def test_records_of_a_request_are_views_of_what_came_and_stay_so() -> None:
    connection = KafkaConnection(LIMITS)
    bodies = []
    for number in range(40):
        part = PartitionProduceData(index=0, records=bytes([number]) * 9000)
        body = ProduceRequest(acks=1, topic_data=[TopicProduceData(name="a", partition_data=[part])])
        (message,) = messages(feed(connection, request(PRODUCE, 9, body)))
        records = message.body.topic_data[0].partition_data[0].records
        assert isinstance(records, memoryview)
        bodies.append(records)
    assert [bytes(records) for records in bodies] == [bytes([n]) * 9000 for n in range(40)]


@pytest.mark.parametrize("size", [-1, 0, 9, (100 << 20) + 1, (1 << 31) - 1])
def test_a_frame_of_an_impossible_size_is_refused_at_its_fourth_byte(size: int) -> None:
    with pytest.raises(ProtocolError):
        feed(KafkaConnection(LIMITS), struct.pack(">i", size))


def test_the_servers_own_bound_on_frames_holds_where_it_is_smaller() -> None:
    with pytest.raises(ProtocolError):
        feed(KafkaConnection(FrameLimits(frame_bytes_max=1000)), struct.pack(">i", 1001))


@pytest.mark.parametrize(
    ("key", "version"),
    [(999, 0), (4, 0), (5, 1), (6, 0), (7, 0), (71, 0), (-1, 0), (METADATA, 14), (METADATA, -1)],
)
def test_an_unknown_key_or_version_is_refused_before_its_body_has_come(key: int, version: int) -> None:
    with pytest.raises(ProtocolError):
        feed(KafkaConnection(LIMITS), struct.pack(">ihh", 1000, key, version))


@pytest.mark.parametrize("version", [0, 1, 2])
def test_produce_below_3_is_advertised_and_refused(version: int) -> None:
    assert APIS[PRODUCE].advertised_min == 0
    with pytest.raises(ProtocolError):
        feed(KafkaConnection(LIMITS), struct.pack(">ihh", 1000, PRODUCE, version))


@pytest.mark.parametrize("version", [5, 9, 32767])
def test_a_version_of_api_versions_that_is_too_new_is_answered_in_the_oldest_form(version: int) -> None:
    connection = KafkaConnection(LIMITS)
    (call,) = feed(connection, frame(struct.pack(">hhi", API_VERSIONS, version, 77) + b"anything else"))
    assert call.message.body is None
    sent = b"".join(connection.send(call.tag, ApiVersionsResponse(error_code=35, api_keys=[])))
    assert sent == frame(struct.pack(">ihi", 77, 35, 0))


def test_the_header_of_an_answer_to_api_versions_never_has_tags() -> None:
    for version in range(5):
        connection = KafkaConnection(LIMITS)
        body = ApiVersionsRequest(client_software_name="a", client_software_version="1")
        (call,) = feed(connection, request(API_VERSIONS, version, body))
        sent = b"".join(connection.send(call.tag, ApiVersionsResponse(error_code=0, api_keys=[])))
        assert sent[8:10] == b"\0\0", "the error code stands right behind the correlation id"


@pytest.mark.parametrize(("version", "tags"), [(8, b""), (9, b"\0")])
def test_the_header_of_other_answers_has_tags_in_flexible_versions(version: int, tags: bytes) -> None:
    connection = KafkaConnection(LIMITS)
    (call,) = feed(connection, request(METADATA, version, MetadataRequest(topics=[]), correlation_id=5))
    answer = MetadataResponse(cluster_id="c")
    sent = b"".join(connection.send(call.tag, answer))
    body = codec(MetadataResponse, version).encode_bytes(answer)
    assert sent == frame(struct.pack(">i", 5) + tags + body)


@pytest.mark.parametrize(
    "body",
    [
        struct.pack(">i", (1 << 31) - 1),  # an array that claims more than there is
        struct.pack(">i", -2),
        struct.pack(">ih", 1, 32767) + b"a",  # a name longer than the frame
        struct.pack(">ih", 1, -5),
        struct.pack(">i", 1),  # truncated
        b"",
    ],
)
def test_counts_and_lengths_that_lie_break_the_protocol(body: bytes) -> None:
    header = struct.pack(">hhih", METADATA, 1, 1, -1)
    with pytest.raises(ProtocolError):
        feed(KafkaConnection(LIMITS), frame(header + body))


def test_a_compact_count_of_4_billion_breaks_the_protocol() -> None:
    header = struct.pack(">hhih", METADATA, 9, 1, -1) + b"\0"
    with pytest.raises(ProtocolError):
        feed(KafkaConnection(LIMITS), frame(header + b"\xff\xff\xff\xff\x0f"))


def test_what_came_whole_before_the_break_is_still_owed_an_answer() -> None:
    with pytest.raises(ProtocolError) as caught:
        feed(KafkaConnection(LIMITS), METADATA_OF_A * 2 + struct.pack(">ihh", 1000, 999, 0))
    assert [call.tag.correlation_id for call in caught.value.calls] == [7, 7]


def test_a_claimed_size_alone_takes_no_memory() -> None:
    connection = KafkaConnection(LIMITS)
    feed(connection, struct.pack(">ihh", 100 << 20, PRODUCE, 9))
    assert len(connection.lend(65536)) <= 1 << 16


def test_the_buffers_of_an_answer_are_those_that_it_was_given() -> None:
    connection = KafkaConnection(LIMITS)
    large = memoryview(bytes(100_000))
    fetch = _fetch_response([large, large])
    (call,) = feed(connection, request(1, 11, _fetch_request()))
    assert sum(buffer is large for buffer in connection.send(call.tag, fetch)) == 2


def _fetch_request() -> Any:
    from onelog.protocols.kafka.messages.fetch import FetchRequest

    return FetchRequest(topics=[])


def _fetch_response(records: list[memoryview]) -> Any:
    from onelog.protocols.kafka.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData

    part = PartitionData(partition_index=0, records=records)
    return FetchResponse(responses=[FetchableTopicResponse(topic="a", partitions=[part])])


@settings(max_examples=100, deadline=None)
@given(data=st.binary(max_size=200), version=st.integers(-1, 14), key=st.sampled_from([*APIS, 4, 33, 999]))
def test_nonsense_gives_requests_or_a_broken_protocol_and_nothing_else(
    data: bytes, version: int, key: int
) -> None:
    hostile = frame(struct.pack(">hhi", key, version, 1) + data)
    for step in (None, 1):
        connection = KafkaConnection(LIMITS)
        try:
            feed(connection, hostile, step=step)
        except ProtocolError:
            assert list(connection.farewell(ProtocolError("x"))) == []
