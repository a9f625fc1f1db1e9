"""Python source as it is being generated: lines, blocks, constants, and which field a line is for.

The functions that come out have no checks of their own around every field: when a line of
them fails, its number tells which field it was about.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any


class Source:
    """The text of one function, line by line."""

    def __init__(self, subject: str) -> None:
        self._lines: list[str] = []
        self._fields: list[str] = []
        self._depth = 0
        self._where = [subject]
        self._names = 0
        self.constants: dict[str, Any] = {}

    def line(self, text: str, *, about: str = "") -> None:
        """One line, about the field that is being written or the one given."""
        self._lines.append("    " * self._depth + text)
        self._fields.append(about or self.field)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """What is written inside is indented below the head."""
        self.line(f"{head}:")
        self._depth += 1
        yield
        self._depth -= 1

    @contextmanager
    def inside(self, part: str) -> Iterator[None]:
        """What is written inside is about a part of the present field: `.name` or `[]`."""
        self._where.append(part)
        yield
        self._where.pop()

    @property
    def field(self) -> str:
        """The path of the field that is being written."""
        return "".join(self._where)

    def fresh(self, stem: str) -> str:
        """A name that nothing else has."""
        self._names += 1
        return f"{stem}{self._names}"

    def constant(self, stem: str, value: Any) -> str:
        """A name for a value that the function uses; one name for one value."""
        for name, known in self.constants.items():
            if known is value:
                return name
        name = self.fresh(stem)
        self.constants[name] = value
        return name

    @property
    def text(self) -> str:
        return "\n".join(self._lines) + "\n"

    def function(self, name: str, title: str) -> Callable[..., Any]:
        """The function of that name which the source defines. Its constants `fields` tells lines apart."""
        names = dict(self.constants, fields=tuple(self._fields))
        exec(compile(self.text, f"<{title}>", "exec"), names)  # made of declarations alone
        made: Callable[..., Any] = names[name]
        return made


def field_at_fault(fields: tuple[str, ...], traceback: TracebackType | None) -> str:
    """Which field the failing line of a generated function was about."""
    assert traceback is not None
    return fields[traceback.tb_lineno - 1]
