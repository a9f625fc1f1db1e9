"""The rules that keep the tree true: each failure names the line and the remedy."""

import ast
import re

import pytest

from tests.support.source_tree import ROOT, Module, modules

LINES_MAX = 500
FUNCTION_LINES_MAX = 60
MODULES = modules()

# Tables are as long as what they list.
LONG_FUNCTIONS_ALLOWED: set[str] = set()

# What is covered by its neighbours' tests: declarations, tables and assemblies (style.md).
WITHOUT_OWN_TEST = re.compile(
    r"(.*/)?__init__\.py|__main__\.py|.*/rows\.py|protocols/\w+/(endpoint|errors)\.py"
    r"|protocols/\w+/messages(/\w+)?\.py|protocols/registry\.py|protocols/contract\.py"
)


def _of(*packages: str) -> list[Module]:
    return [m for m in MODULES if m.package in packages]


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.name)
def test_a_module_has_one_subject_and_under_500_lines(module: Module) -> None:
    lines = module.text.count("\n")
    assert lines <= LINES_MAX, f"{module.name}: {lines} lines; over {LINES_MAX} it has two subjects: split it"


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.name)
def test_a_module_opens_with_its_purpose(module: Module) -> None:
    assert ast.get_docstring(module.tree), f"{module.name}: say in a docstring what it is for"


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.name)
def test_a_function_fits_a_screen(module: Module) -> None:
    long = [
        f"{module.name}:{node.lineno} {node.name}: {node.end_lineno - node.lineno + 1} lines"
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno >= FUNCTION_LINES_MAX
        and node.name not in LONG_FUNCTIONS_ALLOWED
    ]
    assert not long, f"over {FUNCTION_LINES_MAX} lines: {long}"


def test_an_init_is_a_docstring_and_nothing_else() -> None:
    wordy = [
        m.name
        for m in MODULES
        if m.name.endswith("/__init__.py") and (len(m.tree.body) != 1 or not ast.get_docstring(m.tree))
    ]
    assert not wordy


@pytest.mark.parametrize("module", _of("binary", "records", "storage"), ids=lambda m: m.name)
def test_nothing_waits_below_the_broker(module: Module) -> None:
    waits = [
        node.lineno
        for node in ast.walk(module.tree)
        if isinstance(node, ast.AsyncFunctionDef | ast.Await | ast.AsyncFor | ast.AsyncWith)
    ]
    loops = [line for name, line in module.imports() if name.split(".")[0] in ("asyncio", "threading")]
    assert not waits + loops, f"{module.name}:{waits + loops}: hand it back to the broker, which may wait"


@pytest.mark.parametrize(
    "module",
    [m for m in _of("storage") if m.name not in ("storage/disk.py", "storage/catalog.py")],
    ids=lambda m: m.name,
)
def test_only_the_disk_and_the_catalog_touch_files_in_storage(module: Module) -> None:
    touched = [
        f"{module.name}:{line} {name}"
        for name, line in module.calls()
        if name in ("open", "io.open") or name.startswith(("os.", "shutil.", "pathlib.", "Path."))
    ]
    imported = [
        f"{module.name}:{line} import {name}"
        for name, line in module.imports()
        if name.split(".")[0] in ("os", "shutil", "pathlib", "io", "tempfile", "mmap", "fcntl", "sqlite3")
    ]
    assert not touched + imported, "ask the Disk that the caller gave"


@pytest.mark.parametrize(
    "module",
    [
        m
        for m in MODULES
        if m.name != "storage/disk.py" and m.package in ("binary", "records", "broker", "protocols", "server")
    ],
    ids=lambda m: m.name,
)
def test_files_are_opened_below_only(module: Module) -> None:
    touched = [f"{module.name}:{line} {name}" for name, line in module.calls() if name in ("open", "os.open")]
    assert not touched


@pytest.mark.parametrize("module", [m for m in MODULES if m.name != "clock.py"], ids=lambda m: m.name)
def test_only_the_clock_asks_for_the_time(module: Module) -> None:
    asked = [f"{module.name}:{line} {name}" for name, line in module.imports() if name == "time"]
    assert not asked, "take a Clock from the caller"


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.name)
def test_heavy_libraries_stay_behind_their_borders(module: Module) -> None:
    allowed = {
        "pyarrow": module.name == "records/columns.py" or module.package in ("spark", "pipeline"),
        "pyspark": module.package in ("spark", "pipeline"),
        "deltalake": module.package == "pipeline",
    }
    crossed = [
        f"{module.name}:{line} import {name}"
        for name, line in module.imports()
        if not allowed.get(name.split(".")[0], True)
    ]
    assert not crossed


# Whatever goes wrong there, somebody waits for an answer: a peer at the pump, and behind a ticket
# whoever holds it. A fault of ours becomes that answer, and is told; it never becomes silence.
LAST_LINES_OF_DEFENCE = {
    "server/pump.py",
    "ticket.py",
    "broker/catalog.py",
    "broker/committer.py",
    "broker/settler.py",
    "broker/waiting.py",
}


def test_broad_excepts_stand_only_in_the_last_lines_of_defence() -> None:
    broad = {
        m.name
        for m in MODULES
        for node in ast.walk(m.tree)
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or ast.unparse(node.type) in ("Exception", "BaseException"))
    }
    assert broad <= LAST_LINES_OF_DEFENCE


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.name)
def test_an_ignored_type_error_gives_its_code_and_reason(module: Module) -> None:
    bare = [
        f"{module.name}:{number}"
        for number, line in enumerate(module.text.splitlines(), 1)
        if "type: ignore" in line and not re.search(r"type: ignore\[[\w, -]+\]  # \w", line)
    ]
    assert not bare


def test_no_reminder_is_left_behind() -> None:
    word = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "X" + "XX", "HA" + "CK"]) + r")\b")
    left = [m.name for m in MODULES if word.search(m.text)]
    assert not left


@pytest.mark.parametrize(
    "module", [m for m in MODULES if not WITHOUT_OWN_TEST.fullmatch(m.name)], ids=lambda m: m.name
)
def test_a_module_has_its_test_module(module: Module) -> None:
    folder, _, name = module.name.rpartition("/")
    twin = ROOT / "tests" / folder / f"test_{name}"
    assert twin.exists(), f"{module.name} has no {twin.relative_to(ROOT)}"
