"""What each side speaks: ApiVersions, the same at both doors."""

from onelog.binary.fields import array32, i16, text16
from onelog.binary.message import LENIENT, message
from onelog.protocols.fluvio.messages.error import Fault, error_code


@message(lengths=LENIENT)
class ApiVersionsRequest:
    """Who asks. client_version is that of a part of the client, not of the product."""

    client_version: str = text16(since=1)
    client_os: str = text16(since=1)
    client_arch: str = text16(since=1)


@message()
class ServedApi:
    """One kind of request, and its versions."""

    key: int = i16()
    version_min: int = i16()
    version_max: int = i16()


@message(lengths=LENIENT)
class ApiVersionsResponse:
    """platform_version has to be a semantic version, or clients do not go on."""

    error: Fault = error_code()
    apis: list[ServedApi] = array32(ServedApi)
    platform_version: str = text16()
