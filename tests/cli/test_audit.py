import pytest

from onelog.cli import output
from onelog.cli.audit import FINDINGS_MAX
from onelog.cli.main import main, parser_of
from onelog.pipeline import audit


def test_arguments_become_values() -> None:
    args = parser_of("audit").parse_args(["tables/orders", "--json"])
    assert (args.table, args.json, args.findings) == ("tables/orders", True, FINDINGS_MAX)
    assert audit.FINDINGS_MAX == FINDINGS_MAX


def test_what_is_not_installed_is_named_with_the_extra_that_brings_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(output, "find_spec", lambda name: None)
    assert main(["audit", "tables/orders"]) == 1
    said = capsys.readouterr().err
    assert "pyarrow, deltalake not installed" in said
    assert "pip install '.[spark]'" in said
