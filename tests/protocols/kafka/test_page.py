"""docs/protocols/kafka.md says what the code does."""

import re

from onelog.protocols.kafka.errors import CODES
from onelog.protocols.kafka.versions import APIS
from tests.support.source_tree import ROOT

PAGE = (ROOT / "docs" / "protocols" / "kafka.md").read_text(encoding="utf-8")


def test_the_page_lists_what_is_served() -> None:
    listed = {
        int(key): (name, int(low), int(high), int(served or low))
        for key, name, low, high, served in re.findall(
            r"^\| (\d+) \| (\w+) \| (\d+)-(\d+)(?:, served from (\d+))? \|", PAGE, re.MULTILINE
        )
    }
    assert listed == {
        api.key: (api.name, api.advertised_min, api.version_max, api.version_min) for api in APIS.values()
    }


def test_the_page_lists_every_refusal_with_its_code() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (-?\d+) \| (\w+) \|", PAGE, re.MULTILINE)
    assert {name: (int(code), word) for name, code, word in rows} == {
        refusal.value: (int(code), code.name) for refusal, code in CODES.items()
    }


def test_the_rules_are_numbered_without_a_gap() -> None:
    numbers = [int(number) for number in re.findall(r"^\| K(\d+) \|", PAGE, re.MULTILINE)]
    assert numbers == list(range(1, len(numbers) + 1))


def test_every_rule_has_a_test_or_a_reason() -> None:
    bare = [line for line in PAGE.splitlines() if re.match(r"\| K\d+ \|", line) and line.endswith("|  |")]
    assert not bare
