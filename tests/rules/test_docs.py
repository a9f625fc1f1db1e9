"""Lists in the docs are those in the code: settings, metrics, commands, error codes."""

import argparse
import re

import pytest

from onelog.broker.topics.settings import TABLE
from onelog.cli import main
from onelog.config import load
from onelog.errors import ErrorCode, OnelogError
from onelog.metrics import METRICS
from tests.support.source_tree import ROOT

DOCS = ROOT / "docs"


def _code_words(name: str) -> set[str]:
    return set(re.findall(r"`([^`\n]+)`", (DOCS / name).read_text(encoding="utf-8")))


def test_every_setting_is_listed_with_its_default() -> None:
    text = (DOCS / "operations" / "settings.md").read_text(encoding="utf-8")
    rows = {m[1]: m[2] for m in re.finditer(r"^\| `(\w+\.\w+)` \| `?([^|]*?)`? \|", text, re.MULTILINE)}
    assert rows == {v.name: _shown(v.default) for v in load(environ={}).values}


def test_every_setting_of_a_topic_is_listed_and_has_a_test_where_it_acts() -> None:
    text = (DOCS / "operations" / "topic-settings.md").read_text(encoding="utf-8")
    row = r"^\| `([\w.]+)` \| (\w+) \| `(.*?)` \| (.*?) \| (.*?) ?\|$"
    rows = {m[1]: (m[2], m[3], m[4], bool(m[5])) for m in re.finditer(row, text, re.MULTILINE)}
    assert rows == {s.name: (s.kind, s.default or "-", s.doc, s.honoured) for s in TABLE}


def test_every_metric_is_listed() -> None:
    text = (DOCS / "operations" / "metrics.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `(onelog_\w+)` \|", text, re.MULTILINE))
    assert listed == {m.name for m in METRICS}


def test_every_error_code_is_listed() -> None:
    text = (DOCS / "operations" / "errors.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE))
    assert listed == {code.value for code in ErrorCode}


def test_every_error_code_is_one_class() -> None:
    codes = [kind.code for kind in OnelogError.__subclasses__()]
    assert sorted(codes, key=lambda c: c.value) == sorted(ErrorCode, key=lambda c: c.value)


@pytest.mark.parametrize("command", sorted(main.COMMANDS))
def test_every_command_and_option_is_listed(command: str) -> None:
    words = " ".join(_code_words("commands.md"))
    assert f"onelog {command}" in words
    missing = [option for option in _options(main.parser_of(command)) if option not in words]
    assert not missing, f"docs/commands.md does not mention {missing} of {command}"


def _options(parser: argparse.ArgumentParser) -> list[str]:
    found: list[str] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                found.extend(_options(child))
        else:
            found.extend(o for o in action.option_strings if o.startswith("--") and o != "--help")
    return found


def test_links_between_pages_lead_somewhere() -> None:
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in [*DOCS.rglob("*.md"), *ROOT.glob("*.md")]
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]
    assert not broken


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if value != "" else "-"
