"""docs/protocols/tank.md says what the code does."""

import re

from onelog.protocols.tank.config import _TABLE
from onelog.protocols.tank.framing import Kind
from onelog.protocols.tank.messages.forms import REQUESTS
from tests.support.source_tree import ROOT

PAGE = (ROOT / "docs" / "protocols" / "tank.md").read_text(encoding="utf-8")


def rules() -> list[list[str]]:
    return [line.strip("|").split("|") for line in PAGE.splitlines() if re.match(r"\| T\d+ \|", line)]


def test_the_page_lists_what_is_served() -> None:
    listed = dict(re.findall(r"^\| (0x\w\w) \| [^|]+ \| (yes|read|refused)", PAGE, re.MULTILINE))
    assert {int(kind, 16) for kind in listed} == set(Kind)
    assert {int(kind, 16) for kind, how in listed.items() if how != "refused"} == set(REQUESTS)


def test_the_rules_are_numbered_without_a_gap() -> None:
    assert [rule[0].strip() for rule in rules()] == [f"T{n}" for n in range(1, len(rules()) + 1)]


def test_every_rule_has_a_test_or_is_to_come() -> None:
    assert not [rule for rule in rules() if "::test_" not in rule[2] and rule[2].strip() != "to come"]


def test_the_page_lists_every_setting() -> None:
    [table] = re.findall(r"## Settings of a topic\n(.*?)\n## ", PAGE, re.DOTALL)
    listed = set(re.findall(r"`([a-z.]+\.[a-z.]+)`", table))
    assert listed >= {*_TABLE, "log.cleanup.policy"}
