"""From a file, the environment and flags to the settings classes that each package defines.

A setting is known by section and key. A flag beats ONELOG_<SECTION>_<KEY>, which beats the
file, which beats the default; `onelog config` shows which one it was. What is not known is
refused with the nearest known name, so that a slip of the pen is not a silent default.
"""

import dataclasses
import difflib
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from onelog.broker.settings import BrokerSettings
from onelog.protocols.tank.settings import TankSettings
from onelog.server.limits import ServerLimits
from onelog.settings import setting

S = TypeVar("S")


class ConfigError(Exception):
    """A setting that cannot be: where it stands, what was found, what was expected."""


@dataclass(frozen=True)
class ServeSettings:
    """What `onelog serve` opens, where, and how it talks about it."""

    data: str = setting("onelog-data", help="The data directory.")
    listen: str = setting(
        "",
        help="Listeners as NAME=HOST:PORT, separated by commas. Empty: every default port on loopback.",
    )
    advertise: str = setting(
        "",
        help="What clients of a listener are told, as NAME=HOST:PORT, separated by commas. Empty: the address they came to.",
    )
    ready_file: str = setting("", help="Written, atomically, when all listeners serve. Empty: none.")
    log_level: str = setting("info", help="debug, info, warning or error.")
    log_format: str = setting("text", help="text or json.")


SECTIONS: Mapping[str, type[Any]] = {
    "serve": ServeSettings,
    "broker": BrokerSettings,
    "server": ServerLimits,
    "tank": TankSettings,
}


@dataclass(frozen=True)
class Value:
    """One setting as it stands, and who said so."""

    section: str
    key: str
    value: Any
    default: Any
    unit: str
    help: str
    source: str

    @property
    def name(self) -> str:
        """The name in the file: section.key."""
        return f"{self.section}.{self.key}"

    @property
    def variable(self) -> str:
        """The name in the environment."""
        return f"ONELOG_{self.section}_{self.key}".upper()


class Config:
    """All settings of one process. Immutable once made."""

    def __init__(self, values: list[Value]) -> None:
        self.values = values

    def section(self, kind: type[S]) -> S:
        """The settings of one package, as its own class."""
        name = next(n for n, k in SECTIONS.items() if k is kind)
        return kind(**{v.key: v.value for v in self.values if v.section == name})


def load(
    path: str | None = None,
    *,
    environ: Mapping[str, str],
    flags: Mapping[str, Any] | None = None,
) -> Config:
    """Read the file, if one is named, then the environment, then the flags (by section.key)."""
    fields = _known()
    found: dict[str, tuple[Any, str]] = {}
    if path is not None:
        found.update(_from_file(path, fields))
    found.update(_from_environment(environ, fields))
    for name, value in (flags or {}).items():
        if value is not None:
            found[name] = (_checked("flag", name, value, fields), "flag")
    return Config([_value(name, field, found.get(name)) for name, field in fields.items()])


def _known() -> dict[str, dataclasses.Field[Any]]:
    return {
        f"{section}.{field.name}": field
        for section, kind in SECTIONS.items()
        for field in dataclasses.fields(kind)
    }


def _value(name: str, field: dataclasses.Field[Any], found: tuple[Any, str] | None) -> Value:
    section, key = name.split(".", 1)
    value, source = found if found is not None else (field.default, "default")
    return Value(
        section=section,
        key=key,
        value=value,
        default=field.default,
        unit=field.metadata.get("unit", ""),
        help=field.metadata.get("help", ""),
        source=source,
    )


def _from_file(path: str, fields: Mapping[str, dataclasses.Field[Any]]) -> dict[str, tuple[Any, str]]:
    try:
        tables = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}. Name another file with --config.") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: {error}; expected TOML.") from error
    found: dict[str, tuple[Any, str]] = {}
    for section, table in tables.items():
        if section not in SECTIONS or not isinstance(table, dict):
            raise ConfigError(f"{path}: [{section}] is not a section{_nearest(section, SECTIONS)}")
        for key, value in table.items():
            name = f"{section}.{key}"
            found[name] = (_checked(path, name, value, fields), path)
    return found


def _checked(where: str, name: str, value: Any, fields: Mapping[str, dataclasses.Field[Any]]) -> Any:
    """The value, if there is such a setting and it is of its kind."""
    if name not in fields:
        raise ConfigError(f"{where}: there is no setting {name!r}{_nearest(name, fields)}")
    expected = type(fields[name].default)
    if type(value) is not expected:
        raise ConfigError(
            f"{where}: {name} = {value!r}; expected {_kind(expected)}, as in {fields[name].default!r}."
        )
    least = fields[name].metadata.get("at_least", 1)
    if expected is int and value < least:
        raise ConfigError(f"{where}: {name} = {value}; expected at least {least}.")
    return value


def _from_environment(
    environ: Mapping[str, str], fields: Mapping[str, dataclasses.Field[Any]]
) -> dict[str, tuple[Any, str]]:
    variables = {f"ONELOG_{name.replace('.', '_')}".upper(): name for name in fields}
    found: dict[str, tuple[Any, str]] = {}
    for variable, text in environ.items():
        if variable in variables:
            name = variables[variable]
            value = _parsed(variable, text, type(fields[name].default))
            found[name] = (_checked(variable, name, value, fields), variable)
        elif any(variable.startswith(f"ONELOG_{section.upper()}_") for section in SECTIONS):
            raise ConfigError(f"{variable} is not a setting{_nearest(variable, variables)}")
    return found


def _parsed(variable: str, text: str, kind: type[Any]) -> Any:
    parse: Callable[[str], Any] = _truth if kind is bool else kind
    try:
        return parse(text)
    except ValueError:
        raise ConfigError(f"{variable}={text!r}; expected {_kind(kind)}.") from None


def _truth(text: str) -> bool:
    if text.lower() not in ("true", "false", "1", "0", "yes", "no"):
        raise ValueError(text)
    return text.lower() in ("true", "1", "yes")


def _kind(kind: type[Any]) -> str:
    return {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}[kind]


def _nearest(name: str, known: Mapping[str, Any]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; known are {', '.join(known)}."
