"""Offsets as Spark keeps them: topic -> partition -> next offset, in one spelling.

Spark takes two offsets for equal when their JSON text is, so order and form are canonical
here: topics by name, partitions by number. The text is that of Spark's own Kafka source.
Knows no network and no Spark.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

EARLIEST = -2
LATEST = -1


class OffsetsError(ValueError):
    """Offsets that cannot be: what was found and what was expected."""


class Place(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}"


Offsets = dict[Place, int]
OffsetsDict = dict[str, dict[str, int]]


def to_dict(offsets: Mapping[Place, int]) -> OffsetsDict:
    """The form that Spark writes to its checkpoint; equal offsets give equal text."""
    result: OffsetsDict = {}
    for place in sorted(offsets):
        result.setdefault(place.topic, {})[str(place.partition)] = offsets[place]
    return result


def from_dict(found: Mapping[str, Mapping[str, int]]) -> Offsets:
    """The inverse of to_dict."""
    return {
        Place(topic, int(partition)): int(offset)
        for topic, partitions in found.items()
        for partition, offset in partitions.items()
    }


def parse(text: str, *, what: str, allowed: Iterable[int]) -> Offsets:
    """Offsets as a person writes them: {"topic": {"0": 23, "1": -2}}."""
    allowed = set(allowed)
    offsets: Offsets = {}
    for topic, partitions in _object(text, what).items():
        if not isinstance(partitions, dict):
            raise OffsetsError(f'{what}: {topic!r} has {partitions!r}; expected {{"PARTITION": OFFSET}}')
        for partition, offset in partitions.items():
            if not partition.isdigit() or isinstance(offset, bool) or not isinstance(offset, int):
                raise OffsetsError(f"{what}: {topic}/{partition} has {offset!r}; expected a whole number")
            if offset < 0 and offset not in allowed:
                raise OffsetsError(
                    f"{what}: {topic}/{partition} has {offset}; expected an offset or one of {sorted(allowed)}"
                )
            offsets[Place(topic, int(partition))] = offset
    return offsets


def parse_assignment(text: str, *, what: str) -> list[Place]:
    """Partitions as a person writes them: {"topic": [0, 1]}."""
    places: list[Place] = []
    for topic, partitions in _object(text, what).items():
        if not isinstance(partitions, list) or not all(type(p) is int and p >= 0 for p in partitions):
            raise OffsetsError(f"{what}: {topic!r} has {partitions!r}; expected a list of partitions")
        places.extend(Place(topic, p) for p in partitions)
    return sorted(set(places))


def _object(text: str, what: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise OffsetsError(f"{what}: {text!r} is not JSON: {error}") from None
    if not isinstance(found, dict) or not found:
        raise OffsetsError(f"{what}: {text!r}; expected an object with topics as its names")
    return found
