"""Which message a frame holds, by its kind: how it is read and how it is written.

Of each kind there is a request, and of most a response, which a client reads.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from onelog.binary.message import MessageCodec, codec
from onelog.protocols.tank.framing import Kind, header
from onelog.protocols.tank.messages import admin, fetch, produce, topics

Buffer = bytes | bytearray | memoryview
Decode = Callable[[memoryview], Any]
Encode = Callable[[Any], list[Buffer]]


@dataclass(frozen=True, slots=True)
class Form:
    """A class of messages on the wire."""

    kind: Kind
    decode: Decode
    encode: Encode


def _declared(kind: Kind, cls: type[Any]) -> Form:
    made: MessageCodec[Any] = codec(cls)
    return Form(kind, lambda view: made.decode(view)[0], made.encode)


_PRODUCED = Form(Kind.PRODUCE, produce.decode_produced, produce.encode_produced)
_FORMS: Final[Mapping[type, Form]] = {
    produce.ProduceRequest: Form(Kind.PRODUCE, produce.decode_produce, produce.encode_produce),
    produce.ProduceNumberedRequest: Form(
        Kind.PRODUCE_NUMBERED, produce.decode_produce_numbered, produce.encode_produce
    ),
    produce.ProduceResponse: _PRODUCED,
    fetch.FetchRequest: Form(Kind.FETCH, fetch.decode_fetch, fetch.encode_fetch),
    fetch.FetchResponse: Form(Kind.FETCH, fetch.decode_fetched, fetch.encode_fetched),
    topics.DiscoverPartitionsRequest: Form(
        Kind.DISCOVER_PARTITIONS, topics.decode_discover_partitions, topics.encode_discover_partitions
    ),
    topics.DiscoverPartitionsResponse: Form(
        Kind.DISCOVER_PARTITIONS, topics.decode_discovered_partitions, topics.encode_discovered_partitions
    ),
    topics.DiscoverTopicsResponse: Form(
        Kind.DISCOVER_TOPICS, topics.decode_discovered_topics, topics.encode_discovered_topics
    ),
    **{
        cls: _declared(kind, cls)
        for kind, cls in (
            (Kind.PING, admin.PingRequest),
            (Kind.REGISTER_REPLICA, admin.RegisterReplicaRequest),
            (Kind.CREATE_TOPIC, topics.CreateTopicRequest),
            (Kind.CREATE_TOPIC, topics.CreateTopicResponse),
            (Kind.RELOAD_CONFIG, topics.ReloadConfigRequest),
            (Kind.RELOAD_CONFIG, topics.ReloadConfigResponse),
            (Kind.STATUS, admin.StatusRequest),
            (Kind.STATUS, admin.StatusResponse),
            (Kind.DISCOVER_TOPICS, topics.DiscoverTopicsRequest),
            (Kind.DISCOVER_TOPOLOGY, admin.DiscoverTopologyRequest),
            (Kind.DISCOVER_TOPOLOGY, admin.DiscoverTopologyResponse),
        )
    },
}
REQUESTS: Final[Mapping[int, Decode]] = {
    form.kind: form.decode for cls, form in _FORMS.items() if cls.__name__.endswith("Request")
}
RESPONSES: Final[Mapping[int, Decode]] = {
    form.kind: form.decode for cls, form in _FORMS.items() if cls.__name__.endswith("Response")
}


def framed(message: Any) -> list[Buffer]:
    """The message in its frame; large parts of it are not copied."""
    form = _FORMS[type(message)]
    buffers = form.encode(message)
    return [header(form.kind, sum(map(len, buffers))), *buffers]
