"""What every dialect has: the seven names, a total error map, and docs whose tests exist."""

import ast
import importlib
import re

import pytest

from onelog.errors import ErrorCode
from onelog.protocols.registry import ENDPOINTS
from tests.support.source_tree import ROOT, SOURCE
from tools import capabilities

DIALECTS = sorted(p.name for p in (SOURCE / "protocols").iterdir() if (p / "endpoint.py").exists())
# The numbers of what is held to what the original brokers do, as their programs see it. The rest of
# those lists is about what is to come, or about programs from outside.
CHECKLISTS = {
    "flymq": {*range(1, 37), 46, 48, 49, 57, 59, 60},
    "tank": {*range(1, 35), 41, 42},
}
SEVEN = ("endpoint", "framing", "messages", "connection", "recordset", "errors", "handlers")


def test_the_registry_names_every_dialect() -> None:
    assert sorted({endpoint.name for endpoint in ENDPOINTS}) == DIALECTS


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_dialect_has_the_seven_names(dialect: str) -> None:
    folder = SOURCE / "protocols" / dialect
    missing = [
        n for n in SEVEN if not (folder / f"{n}.py").exists() and not (folder / n / "__init__.py").exists()
    ]
    assert not missing


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_error_map_is_total(dialect: str) -> None:
    errors = importlib.import_module(f"onelog.protocols.{dialect}.errors")
    assert set(errors.CODES) == set(ErrorCode)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_test_that_the_dialects_page_names_exists(dialect: str) -> None:
    text = (ROOT / "docs" / "protocols" / f"{dialect}.md").read_text(encoding="utf-8")
    named = set(re.findall(r"(tests/[\w/]+\.py)::(\w+)", text))
    assert named, "the page names no test"
    missing = [f"{path}::{name}" for path, name in sorted(named) if name not in _tests_of(path)]
    assert not missing


def test_the_matrix_of_the_page_is_what_the_dialects_say_of_themselves() -> None:
    page = (ROOT / "docs" / "protocols" / "README.md").read_text(encoding="utf-8")
    assert capabilities.section() in page, "write it anew: python -m tools.capabilities"


@pytest.mark.parametrize("dialect", sorted(CHECKLISTS))
def test_every_number_of_a_checklist_has_a_test(dialect: str) -> None:
    text = (ROOT / "docs" / "protocols" / f"{dialect}.md").read_text(encoding="utf-8")
    [section] = re.findall(r"^## Checklist\n(.*?)^## ", text, re.MULTILINE | re.DOTALL)
    rows = dict(re.findall(r"^\| (\d+) \|[^|]+\|([^|]*)\|$", section, re.MULTILINE))
    assert {int(number) for number in rows} == CHECKLISTS[dialect]
    assert not [number for number, tests in rows.items() if "::test_" not in tests]


def _tests_of(path: str) -> set[str]:
    file = ROOT / path
    if not file.exists():
        return set()
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}
