"""Which requests exist for us at each door, and in which versions.

The two doors number their requests apart: 1002, 1003, 1005 and 1006 mean something else at each.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from onelog.protocols.fluvio.messages import fetch, positions, produce, topics, watch
from onelog.protocols.fluvio.messages.admin import ApiVersionsRequest, ApiVersionsResponse
from onelog.protocols.fluvio.messages.form import Form, declared
from onelog.protocols.fluvio.messages.mirroring import MIRRORING, MIRRORINGS

API_VERSIONS: Final = 18
# At the controller.
CREATE: Final = 1001
DELETE: Final = 1002
LIST: Final = 1003
WATCH: Final = 1004
MIRROR: Final = 1005
UPDATE: Final = 1006

# Of the unit.
PRODUCE: Final = 0
FETCH: Final = 1
FETCH_OFFSETS: Final = 1002
STREAM_FETCH: Final = 1003
UPDATE_OFFSETS: Final = 1005
UPDATE_CONSUMER_OFFSET: Final = 1006
DELETE_CONSUMER_OFFSET: Final = 1007
FETCH_CONSUMER_OFFSETS: Final = 1008

# What the newest clients speak.
UNIT_VERSION_MAX: Final = 25

# The version of Fluvio whose protocol we speak. Clients want a semantic version, from 0.9.0 on;
# units have always said 0.0.0.
CONTROLLER_PLATFORM: Final = "0.18.2"
UNIT_PLATFORM: Final = "0.0.0"


class Api(NamedTuple):
    """One kind of request: its messages, and the versions that we serve.

    advertised: from which version on clients are told of it; None: they are not, and ask anyway.
    """

    key: int
    name: str
    request: Form
    response: Form
    version_min: int
    version_max: int
    advertised: int | None = None

    def serves(self, version: int) -> bool:
        """Whether a request in this version is answered."""
        return self.version_min <= version <= self.version_max


def _by_key(apis: Iterable[Api]) -> Mapping[int, Api]:
    return {api.key: api for api in apis}


# Clients send version 2; whoever sends another is answered alike.
_API_VERSIONS: Final = Api(
    API_VERSIONS, "ApiVersions", declared(ApiVersionsRequest), declared(ApiVersionsResponse), 0, 99
)

_STATUS: Final = declared(topics.Status)
_OBJECTS_VERSION: Final = 19
# Lists and watches without an inner length have never been: whoever sends one is closed on.
_LISTS_SINCE: Final = 11

CONTROLLER_APIS: Final[Mapping[int, Api]] = _by_key(
    (
        _API_VERSIONS,
        Api(CREATE, "Create", topics.CREATE, _STATUS, 9, _OBJECTS_VERSION, 9),
        Api(DELETE, "Delete", topics.DELETE, _STATUS, 1, _OBJECTS_VERSION, 1),
        Api(LIST, "List", topics.LIST, topics.LISTED, _LISTS_SINCE, _OBJECTS_VERSION, 15),
        Api(WATCH, "Watch", watch.WATCH, watch.WATCHED, _LISTS_SINCE, _OBJECTS_VERSION, 15),
        Api(MIRROR, "Mirroring", MIRRORING, MIRRORINGS, 14, _OBJECTS_VERSION, 14),
        Api(UPDATE, "Update", topics.UPDATE, _STATUS, 1, _OBJECTS_VERSION, 1),
    )
)


def _of_unit(
    key: int,
    name: str,
    request: type[Any] | Form,
    response: type[Any] | Form,
    *,
    advertised: int | None = 0,
    version_max: int = UNIT_VERSION_MAX,
) -> Api:
    forms = [each if isinstance(each, Form) else declared(each) for each in (request, response)]
    return Api(key, name, forms[0], forms[1], 0, version_max, advertised)


# Nobody is told of consumer offsets: their clients ask without being told.
UNIT_APIS: Final[Mapping[int, Api]] = _by_key(
    (
        _API_VERSIONS,
        _of_unit(PRODUCE, "Produce", produce.FORM, produce.RESPONSE_FORM),
        _of_unit(FETCH, "Fetch", fetch.FetchRequest, fetch.FetchResponse),
        _of_unit(
            FETCH_OFFSETS,
            "FetchOffsets",
            fetch.FetchOffsetsRequest,
            fetch.FetchOffsetsResponse,
            advertised=23,
        ),
        _of_unit(STREAM_FETCH, "StreamFetch", fetch.StreamFetchRequest, fetch.StreamFetchResponse),
        _of_unit(
            UPDATE_OFFSETS,
            "UpdateOffsets",
            positions.UpdateOffsetsRequest,
            positions.UpdateOffsetsResponse,
            version_max=0,
        ),
        _of_unit(
            UPDATE_CONSUMER_OFFSET,
            "UpdateConsumerOffset",
            positions.UpdateConsumerOffsetRequest,
            positions.UpdateConsumerOffsetResponse,
            advertised=None,
        ),
        _of_unit(
            DELETE_CONSUMER_OFFSET,
            "DeleteConsumerOffset",
            positions.DeleteConsumerOffsetRequest,
            positions.DeleteConsumerOffsetResponse,
            advertised=None,
        ),
        _of_unit(
            FETCH_CONSUMER_OFFSETS,
            "FetchConsumerOffsets",
            positions.FetchConsumerOffsetsRequest,
            positions.FetchConsumerOffsetsResponse,
            advertised=None,
        ),
    )
)
