"""ApiVersions: what this door serves."""

from collections.abc import Mapping

from onelog.protocols.contract import Outcome, Reply
from onelog.protocols.fluvio.connection import Request
from onelog.protocols.fluvio.handlers.context import Context
from onelog.protocols.fluvio.messages.admin import ApiVersionsResponse, ServedApi
from onelog.protocols.fluvio.versions import (
    CONTROLLER_APIS,
    CONTROLLER_PLATFORM,
    UNIT_APIS,
    UNIT_PLATFORM,
    Api,
)


def of_controller(context: Context, request: Request) -> Outcome:
    """The same whoever asks: Fluvio's own controller closes on a client without a version."""
    return Reply(_CONTROLLER)


def of_unit(context: Context, request: Request) -> Outcome:
    """What is to be had where the records are."""
    return Reply(_UNIT)


def _said(apis: Mapping[int, Api], platform: str) -> ApiVersionsResponse:
    served = [
        ServedApi(key=api.key, version_min=api.advertised, version_max=api.version_max)
        for api in apis.values()
        if api.advertised is not None
    ]
    return ApiVersionsResponse(apis=served, platform_version=platform)


_CONTROLLER = _said(CONTROLLER_APIS, CONTROLLER_PLATFORM)
_UNIT = _said(UNIT_APIS, UNIT_PLATFORM)
