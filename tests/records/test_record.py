import pytest

from onelog.records.record import Header, Record


def test_a_record_has_no_headers_unless_it_is_given_some() -> None:
    assert Record(b"k", b"v", 5).headers == ()


def test_a_record_does_not_change() -> None:
    record = Record(b"k", None, 5, (Header("a", b"1"), Header("a", None)))
    with pytest.raises(AttributeError):
        record.value = b"other"  # type: ignore[misc]  # that is what must not work
