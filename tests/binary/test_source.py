import pytest

from onelog.binary.source import Source, field_at_fault


def test_a_failing_line_tells_the_field_that_it_was_about() -> None:
    source = Source("Ping")
    with source.block("def read(view)"):
        with source.inside(".a"):
            source.line("view[0]")
        with source.inside(".b"), source.inside("[]"):
            source.line("view[1]")
        source.line("return fields")
    read = source.function("read", "read Ping")
    fields = read(b"ab")
    with pytest.raises(IndexError) as caught:
        read(b"a")
    here = caught.value.__traceback__
    assert here is not None
    assert field_at_fault(fields, here.tb_next) == "Ping.b[]"


def test_names_are_fresh_and_a_value_has_one() -> None:
    source = Source("Ping")
    assert source.fresh("n") != source.fresh("n")
    value = object()
    assert source.constant("C", value) == source.constant("C", value)
    assert source.constant("C", object()) != source.constant("C", value)
