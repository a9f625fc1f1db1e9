import pytest

from onelog.broker.topics.settings import changed
from onelog.errors import InvalidConfig, Unsupported
from onelog.protocols.tank.config import settings


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("log.retention.secs=120", {"retention.ms": "120000"}),
        ("log.retention.secs=1h", {"retention.ms": "3600000"}),
        ("log.retention.secs=1h+30m", {"retention.ms": "5400000"}),
        ("LOG.Retention.Secs = 2D # two days", {"retention.ms": "172800000"}),
        ("log.retention.secs=0", {"retention.ms": "-1"}),
        ("log.retention.bytes=1gb", {"retention.bytes": "1073741824"}),
        ("log.retention.bytes=0", {"retention.bytes": "-1"}),
        ("log.segment.bytes=64mb", {"segment.bytes": "67108864"}),
        ("log.roll.secs=1w", {"segment.ms": "604800000"}),
        ("log.index.interval.bytes=4096", {"index.interval.bytes": "4096"}),
        ("# nothing but a comment", {}),
        ("", {}),
        # What TANK has by default may be said.
        ("log.cleanup.policy=delete", {}),
        ("log.index.size.max.bytes=10mb", {}),
        ("log.roll.jitter.secs=0", {}),
        ("log.cleaner.min.cleanable.ratio=0.5", {}),
        ("retention.segments.count=0", {}),
        # Every answer is behind its sync, so these are kept, and more.
        ("flush.messages=1", {}),
        ("flush.secs=5", {}),
    ],
)
def test_tanks_settings_are_the_products(line: str, expected: dict[str, str]) -> None:
    found = settings(line.encode())
    assert found == expected
    assert changed({}, found) == expected  # and the product takes them


def test_lines_add_up() -> None:
    assert settings(b"log.retention.secs=1h\nlog.segment.bytes=1mb\n") == {
        "retention.ms": "3600000",
        "segment.bytes": "1048576",
    }


@pytest.mark.parametrize(
    "line",
    [
        "log.segment.bytes=1",
        "log.retention.bytes=127",
        "log.retention.secs=soon",
        "log.retention.secs=1h+",
        "log.retention.bytes=many",
        "log.retention.bytes=" + "1" * 128,
        "log.roll.secs=0",
        "log.retention.secs=",
        "log.retention.secs",
        "=5",
        "no.such.key=1",
        "log.cleanup.policy=maybe",
        "log.cleaner.min.cleanable.ratio=2",
        "flush.messages=-1",
    ],
)
def test_what_is_no_setting_is_refused(line: str) -> None:
    with pytest.raises(InvalidConfig):
        settings(line.encode())


def test_settings_have_a_bound() -> None:
    with pytest.raises(InvalidConfig, match="at most 16384"):
        settings(b"#" * 16_385)


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(InvalidConfig, match="UTF-8"):
        settings(b"\xff=1")


@pytest.mark.parametrize(
    "line",
    [
        "log.cleanup.policy=cleanup",
        "retention.segments.count=2",
        "log.roll.jitter.secs=5",
        "log.index.size.max.bytes=1mb",
        "log.cleaner.min.cleanable.ratio=0.9",
    ],
)
def test_what_would_have_no_effect_is_refused_by_its_name(line: str) -> None:
    with pytest.raises(Unsupported, match=line.partition("=")[0].replace(".", r"\.")):
        settings(line.encode())
