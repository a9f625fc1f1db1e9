"""docs/protocols/rustlog.md says what the code does."""

import re

from onelog.protocols.rustlog.binary_form import REQUESTS, RESPONSES
from tests.support.source_tree import ROOT

PAGE = (ROOT / "docs" / "protocols" / "rustlog.md").read_text(encoding="utf-8")


def rules() -> list[list[str]]:
    return [line.strip("|").split("|") for line in PAGE.splitlines() if re.match(r"\| R\d+ \|", line)]


def test_the_rules_are_numbered_without_a_gap() -> None:
    assert [rule[0].strip() for rule in rules()] == [f"R{n}" for n in range(1, len(rules()) + 1)]


def test_every_rule_has_a_test_or_is_to_come() -> None:
    assert not [rule for rule in rules() if "::test_" not in rule[-1] and rule[-1].strip() != "to come"]


def test_the_page_lists_every_kind_of_the_binary_form() -> None:
    listed = {int(kind, 16) for kind in re.findall(r"^\| ([0-9A-F]{2}) \|", PAGE, re.MULTILINE)}
    assert listed == REQUESTS.keys() | RESPONSES.keys()
