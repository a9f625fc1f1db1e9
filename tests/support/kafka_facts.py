"""Facts of Kafka's messages, one a line, in the same words for the published ones and for ours.

    ProduceRequest 3-13 flexible 9
      transactional_id   string  3-13  null 3  default null
      topic_data         []      3-13
      topic_data.name    string  3-12

A path names the field inside its message; `[]` is an array of structs, `[]int32` one of
numbers; a message that never was flexible says none. Versions are those in which the message is valid and the field exists. `null` names
the first version that allows it, `tag` number and first version of a tagged field. A default
stands there where the publication states one.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from onelog.binary.fields import Array, Bytes, Field, Fixed, Struct, Text, Uuid
from onelog.binary.layout import declaration_of

TABLE = Path(__file__).parent.parent / "golden" / "kafka" / "messages.txt"
UNSTATED = "-"
NONE = "none"
FIXED_NAMES = {"b": "int8", "h": "int16", "i": "int32", "q": "int64", "?": "bool"}

Versions = tuple[int, int]


class Fact(NamedTuple):
    """One field of a message."""

    path: str
    type: str
    since: int
    until: int
    null_since: int | None = None
    tag: int | None = None
    tag_since: int | None = None
    classic: bool = False
    default: str = UNSTATED

    def __str__(self) -> str:
        words = [f"  {self.path:<48}", f"{self.type:<8}", f"{self.since}-{self.until}"]
        words += [f"null {self.null_since}"] if self.null_since is not None else []
        words += [f"tag {self.tag} {self.tag_since}"] if self.tag is not None else []
        words += ["classic"] if self.classic else []
        words += [f"default {self.default!r}"] if self.default != UNSTATED else []
        return " ".join(words)


class Message(NamedTuple):
    """One message: its versions, the first flexible one if there is any, and its fields in order."""

    name: str
    versions: Versions
    flexible: int | None
    fields: tuple[Fact, ...]

    def __str__(self) -> str:
        first, last = self.versions
        return "\n".join(
            [f"{self.name} {first}-{last} flexible {_none(self.flexible)}", *map(str, self.fields)]
        )


# ---- from the table ----

_FACT = re.compile(
    r"  (\S+) +(\S+) +(\d+)-(\d+)(?: null (\d+))?(?: tag (\d+) (\d+))?( classic)?(?: default '(.*)')?"
)


def table() -> dict[str, Message]:
    """All messages of the table, by name."""
    found: dict[str, Message] = {}
    for block in TABLE.read_text().split("\n\n"):
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        if lines:
            message = _message(lines)
            found[message.name] = message
    return found


def _message(lines: list[str]) -> Message:
    name, versions, _, flexible = lines[0].split()
    first, last = map(int, versions.split("-"))
    return Message(name, (first, last), _number(flexible), tuple(map(_fact, lines[1:])))


def _none(number: int | None) -> int | str:
    return NONE if number is None else number


def _number(word: str) -> int | None:
    return None if word == NONE else int(word)


def _fact(line: str) -> Fact:
    match = _FACT.fullmatch(line)
    assert match is not None, line
    path, kind, since, until, null, tag, tag_since, classic, default = match.groups()
    return Fact(
        path,
        kind,
        int(since),
        int(until),
        None if null is None else int(null),
        None if tag is None else int(tag),
        None if tag_since is None else int(tag_since),
        classic is not None,
        UNSTATED if default is None else default,
    )


# ---- from the files that Kafka publishes ----


def published(text: str, *, version_max: int = 99) -> Message:
    """A message as its file has it. The comments in the file are not JSON and no facts."""
    spec = json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE))
    first, last = _versions(spec["validVersions"], (0, version_max))
    if spec.get("latestVersionUnstable"):
        last -= 1
    flexible = _first(spec["flexibleVersions"], (0, 99))
    structs = {each["name"]: each["fields"] for each in spec.get("commonStructs", [])}
    facts = tuple(_published(spec["fields"], "", (first, last), structs))
    return Message(spec["name"], (first, last), flexible, facts)


def _published(
    fields: list[dict[str, Any]], path: str, within: Versions, structs: dict[str, Any]
) -> Iterator[Fact]:
    for field in fields:
        since, until = _versions(field["versions"], within)
        if since > until:
            continue
        array, element = re.fullmatch(r"(\[\])?(\w+)", field["type"]).groups()  # type: ignore[union-attr]  # always matches
        inner = field.get("fields") or structs.get(element)
        name = path + _snake(field["name"])
        yield Fact(
            name,
            (array or "") + ("" if array and inner else "struct" if inner else element),
            since,
            until,
            _first(field.get("nullableVersions"), (since, until)),
            field.get("tag"),
            _first(field.get("taggedVersions"), (since, until)),
            field.get("flexibleVersions") == "none",
            _stated(field.get("default")),
        )
        if inner:
            yield from _published(inner, f"{name}.", (since, until), structs)


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


def _versions(text: str, within: Versions) -> Versions:
    """`3+`, `0-12` or `4`, as far as it lies within."""
    first, plus, last = re.fullmatch(r"(\d+)(\+)?(?:-(\d+))?", text).groups()  # type: ignore[union-attr]  # always matches
    until = within[1] if plus else int(last or first)
    return max(int(first), within[0]), min(until, within[1])


def _first(text: str | None, within: Versions) -> int | None:
    if text is None or text == NONE:
        return None
    since, until = _versions(text, within)
    return since if since <= until else None


def _stated(default: object) -> str:
    if default is None:
        return UNSTATED
    # Most truths stand there as texts, a few as such.
    text = str(default).lower() if isinstance(default, bool) else str(default)
    return str(int(text, 0)) if re.fullmatch(r"-?(0x)?[0-9a-fA-F]+", text) else text


# ---- from our declarations ----


def declared(cls: type[Any], versions: Versions) -> Message:
    """A class of ours in the same words."""
    declaration = declaration_of(cls)
    return Message(cls.__name__, versions, declaration.flexible, tuple(_declared(cls, "", versions)))


def _declared(cls: type[Any], path: str, within: Versions) -> Iterator[Fact]:
    for name, field in declaration_of(cls).fields.items():
        since = max(field.since, within[0])
        until = within[1] if field.until is None else min(field.until, within[1])
        if since > until:
            continue
        nullable = [version for version in range(since, until + 1) if field.is_nullable_in(version)]
        is_tagged = field.tag is not None
        yield Fact(
            path + name,
            _type(field),
            since,
            until,
            nullable[0] if nullable else None,
            field.tag,
            max(since, field.tag_since) if is_tagged else None,
            not field.compact,
            _zero(field),
        )
        inner = field.kind.element.kind if isinstance(field.kind, Array) else field.kind
        if isinstance(inner, Struct):
            yield from _declared(inner.cls, f"{path}{name}.", (since, until))


def _type(field: Field) -> str:
    match field.kind:
        case Fixed(code=code):
            return FIXED_NAMES[code]
        case Uuid():
            return "uuid"
        case Text(width=16):
            return "string"
        case Bytes(width=32, spliced=spliced):
            return "records" if spliced else "bytes"
        case Array(width=32, element=element):
            return "[]" + ("" if isinstance(element.kind, Struct) else _type(element))
        case Struct():
            return "struct"
    raise AssertionError(f"{field.kind} is no type of Kafka's")


def _zero(field: Field) -> str:
    zero = field.zero()
    if zero is None:
        return "null"
    return str(zero).lower() if isinstance(zero, bool) else str(zero)
