"""Values for declared messages from a seed: many in little time, the same in every run."""

from collections.abc import Sequence
from random import Random
from typing import Any
from uuid import UUID

from onelog.binary.fields import NO_UUID, Array, Bytes, Field, Fixed, Struct, Text, Uuid
from onelog.binary.layout import declaration_of

TEXTS = ("", "a", "orders-1", "ünïcødé", "x" * 130, "y" * 20_000)
BITS = {"b": 8, "h": 16, "i": 32, "q": 64}
# Later than anybody's clock, and still a date to those who make one of it.
TIME_MAX_MS = 1 << 41


class Values:
    """What a message can carry in a version; error codes are taken from those given."""

    def __init__(self, seed: str, *, version: int, is_flexible: bool, error_codes: Sequence[int]) -> None:
        self._random = Random(seed)
        self._version = version
        self._is_flexible = is_flexible
        self._error_codes = error_codes

    def message(self, cls: type[Any]) -> Any:
        """A value of a declared class, with what the version has."""
        there = {
            name: self._value(name, field)
            for name, field in declaration_of(cls).fields.items()
            if field.is_in(self._version) and (self._is_flexible or not field.is_tagged_in(self._version))
        }
        return cls(**there)

    def _value(self, name: str, field: Field) -> Any:
        may_be_none = field.is_nullable_in(self._version) or (field.tag is not None and field.zero() is None)
        if may_be_none and self._random.random() < 0.3:
            return None
        match field.kind:
            case Fixed(code="?"):
                return self._random.random() < 0.5
            case Fixed(code=code):
                return self._number(name, BITS[code])
            case Uuid():
                return self._random.choice([NO_UUID, UUID(int=self._random.getrandbits(128))])
            case Text():
                return self._random.choice(TEXTS)
            case Bytes():
                return self._random.randbytes(self._random.choice([0, 1, 127, 128, 20_000]))
            case Array(element=element):
                count = self._random.choice([0, 1, 2, 3, 130 if isinstance(element.kind, Fixed) else 4])
                return [self._value(name, element) for _ in range(count)]
            case Struct(cls=cls):
                made = self.message(cls)
                # Who writes a tagged struct that says nothing, and who leaves it out, mean the same.
                return None if may_be_none and made == cls() else made
        raise AssertionError(f"{name}: no values for {field.kind}")

    def _number(self, name: str, bits: int) -> int:
        if name.endswith("error_code"):
            return self._random.choice(self._error_codes)
        if name.endswith("_ms"):
            return self._random.choice([-1, 0, self._random.randrange(min(TIME_MAX_MS, 1 << bits - 1))])
        least, most = -(1 << bits - 1), (1 << bits - 1) - 1
        return self._random.choice([0, -1, 1, least, most, self._random.randint(least, most)])
