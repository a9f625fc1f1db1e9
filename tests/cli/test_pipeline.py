import pytest

from onelog.cli import output
from onelog.cli.main import main, parser_of


def test_arguments_become_values() -> None:
    args = parser_of("pipeline").parse_args(["run", "p.toml", "--once", "--flow", "a", "--flow", "b"])
    assert (args.file, args.once, args.flow, args.master) == ("p.toml", True, ["a", "b"], None)


@pytest.mark.parametrize("words", [["pipeline", "run", "p.toml"], ["land", "orders", "--to", "t"]])
def test_without_spark_the_extra_that_brings_it_is_named(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(output, "find_spec", lambda name: None)
    assert main(words) == 1
    assert "this command needs the extra 'spark'" in capsys.readouterr().err
