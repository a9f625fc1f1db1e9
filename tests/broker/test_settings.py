"""Every setting of the broker says what it means, and its name says its unit."""

import dataclasses

import pytest

from onelog.broker.settings import BrokerSettings


@pytest.mark.parametrize("field", dataclasses.fields(BrokerSettings), ids=lambda f: f.name)
def test_a_setting_says_what_it_means_and_in_which_unit(field: "dataclasses.Field[object]") -> None:
    assert field.metadata["help"].endswith(".")
    assert ("_bytes" in field.name) == (field.metadata["unit"] == "bytes")
    assert field.name.endswith("_ms") == (field.metadata["unit"] == "ms")
