"""ApiVersions: which requests are served, in which versions."""

import re
from functools import cache

from onelog.protocols.contract import Outcome, Reply
from onelog.protocols.kafka.connection import Request
from onelog.protocols.kafka.errors import Code
from onelog.protocols.kafka.handlers.context import Context
from onelog.protocols.kafka.messages.admin import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from onelog.protocols.kafka.versions import API_VERSIONS, APIS, Api

NAMES_ITSELF_SINCE = 3
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def api_versions(context: Context, request: Request) -> Outcome:
    """A version that we do not know is answered as well, or a newer client could never begin."""
    if request.body is None:
        return Reply(_too_new())
    body: ApiVersionsRequest = request.body
    if request.version >= NAMES_ITSELF_SINCE:
        names = (body.client_software_name, body.client_software_version)
        if not all(_SOFTWARE.fullmatch(name) for name in names):
            return Reply(ApiVersionsResponse(error_code=Code.INVALID_REQUEST, api_keys=[]))
        context.session.facts["software"] = " ".join(names)
    return Reply(_served())


@cache
def _served() -> ApiVersionsResponse:
    return ApiVersionsResponse(api_keys=[_advertised(APIS[key]) for key in sorted(APIS)])


@cache
def _too_new() -> ApiVersionsResponse:
    return ApiVersionsResponse(
        error_code=Code.UNSUPPORTED_VERSION, api_keys=[_advertised(APIS[API_VERSIONS])]
    )


def _advertised(api: Api) -> ApiVersion:
    return ApiVersion(api_key=api.key, min_version=api.advertised_min, max_version=api.version_max)
