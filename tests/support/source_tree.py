"""The source tree as the house rules look at it: modules, their text and their syntax."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "onelog"


@dataclass(frozen=True)
class Module:
    """One file of the package, by its path below src/onelog."""

    name: str

    @property
    def path(self) -> Path:
        return SOURCE / self.name

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def package(self) -> str:
        return self.name.split("/", 1)[0] if "/" in self.name else ""

    def calls(self) -> Iterator[tuple[str, int]]:
        """Every `a.b(...)` and `b(...)`, as dotted text, with its line."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call):
                yield ast.unparse(node.func), node.lineno

    def imports(self) -> Iterator[tuple[str, int]]:
        """Every imported module, with its line."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield alias.name, node.lineno
            elif isinstance(node, ast.ImportFrom):
                yield node.module or "", node.lineno


def modules() -> list[Module]:
    """All modules of the package, in the order of their names."""
    return [Module(p.relative_to(SOURCE).as_posix()) for p in sorted(SOURCE.rglob("*.py"))]
