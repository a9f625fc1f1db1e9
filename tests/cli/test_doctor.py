import json
from types import ModuleType

import pytest

from onelog.cli import doctor
from onelog.cli.main import main
from onelog.protocols.fluvio import kernels as fluvio_kernels
from onelog.protocols.tank import kernels as tank_kernels
from onelog.records import kernels, packing


def _findings(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, object]]:
    return {f["what"]: f for f in map(json.loads, capsys.readouterr().out.splitlines())}


@pytest.mark.parametrize("module", [kernels, packing, fluvio_kernels, tank_kernels])
def test_it_tells_when_not_all_kernels_are_compiled(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], module: ModuleType
) -> None:
    monkeypatch.setattr(module, "COMPILED", False)
    assert main(["doctor", "--json"]) == 0
    found = _findings(capsys)["kernels"]
    assert found["found"] == "plain Python"
    assert "slower" in str(found["advice"])


def test_what_is_needed_and_missing_makes_it_fail(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "NEEDED", ("no-such-package",))
    assert main(["doctor", "--json"]) == 1
    found = _findings(capsys)["no-such-package"]
    assert (found["ok"], found["advice"]) == (False, "pip install no-such-package")


def test_what_is_missing_and_not_needed_is_a_note(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "SPARK", ("no_such_module",))
    assert main(["doctor", "--json"]) == 0
    assert _findings(capsys)["Spark"]["ok"] is None


def test_people_get_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    assert "Python" in capsys.readouterr().out
