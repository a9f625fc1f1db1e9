import dataclasses

from onelog.settings import setting


@dataclasses.dataclass(frozen=True)
class _Sample:
    size_max: int = setting(5, help="How much.", unit="bytes")


def test_a_setting_has_a_default_help_and_unit() -> None:
    (field,) = dataclasses.fields(_Sample)
    assert _Sample().size_max == 5
    assert dict(field.metadata) == {"help": "How much.", "unit": "bytes", "at_least": 1}
