"""Units: who holds the records, and where clients find it."""

from enum import IntEnum

from onelog.binary.fields import array32, i32, option, struct, text16, u8, u16
from onelog.binary.message import LENIENT, message


class UnitResolution(IntEnum):
    """Whether a unit is there."""

    ONLINE = 0
    OFFLINE = 1
    INIT = 2


class UnitType(IntEnum):
    """Who started a unit: the cluster, or somebody by hand."""

    MANAGED = 0
    CUSTOM = 1


@message()
class Ingress:
    """One way in: the name, or else the address."""

    hostname: str | None = option(text16())
    ip: str | None = option(text16())


@message()
class PublicEndpoint:
    """Where clients find a unit. encryption: 0 none, 1 TLS."""

    port: int = u16()
    ingress: list[Ingress] = array32(Ingress)
    encryption: int = u8()


@message()
class UnitEndpoint:
    """Where others find a unit."""

    port: int = u16()
    host: str = text16()
    encryption: int = u8()


@message()
class UnitSpec:
    """What a unit is to be."""

    id: int = i32()
    type: int = u8()
    public: PublicEndpoint = struct(PublicEndpoint)
    private: UnitEndpoint = struct(UnitEndpoint)
    rack: str | None = option(text16())
    local: UnitEndpoint | None = option(UnitEndpoint, since=1)


@message(lengths=LENIENT)
class UnitObject:
    """One unit."""

    name: str = text16()
    spec: UnitSpec = struct(UnitSpec)
    resolution: int = u8()


@message()
class CustomUnitSpec:
    """The same of a unit that somebody started by hand, as the list of these has it."""

    id: int = i32()
    public: PublicEndpoint = struct(PublicEndpoint)
    private: UnitEndpoint = struct(UnitEndpoint)
    rack: str | None = option(text16())
    local: UnitEndpoint | None = option(UnitEndpoint, since=1)


@message(lengths=LENIENT)
class CustomUnitObject:
    """One of them."""

    name: str = text16()
    spec: CustomUnitSpec = struct(CustomUnitSpec)
    resolution: int = u8()
