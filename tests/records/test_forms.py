import subprocess
import sys

import pytest

from onelog.protocols.fluvio import kernels as fluvio_kernels
from onelog.protocols.tank import kernels as tank_kernels
from onelog.records import forms, kernels, packing

ASK = """
from onelog.records import kernels, packing
from onelog.protocols.fluvio import kernels as fluvio_kernels
from onelog.protocols.tank import kernels as tank_kernels
print(*(each.COMPILED for each in (kernels, packing, fluvio_kernels, tank_kernels)))
"""


@pytest.mark.parametrize("module", [kernels, packing, fluvio_kernels, tank_kernels])
def test_the_plain_form_can_stand_beside_the_compiled_one(module: object) -> None:
    name = module.__name__  # type: ignore[attr-defined]  # modules have names
    plain = forms.load_plain(name)
    assert plain.__file__ is not None
    assert plain.__file__.endswith(".py")
    assert not plain.COMPILED
    assert sys.modules[name] is module


def test_all_modules_run_in_the_same_form() -> None:
    assert len({each.COMPILED for each in (kernels, packing, fluvio_kernels, tank_kernels)}) == 1


def test_the_environment_chooses_the_plain_form() -> None:
    environment = {forms.VARIABLE: "plain", "PYTHONPATH": ":".join(filter(None, sys.path))}
    asked = subprocess.run([sys.executable, "-c", ASK], env=environment, capture_output=True, check=True)
    assert asked.stdout.split() == [b"False"] * 4


def test_putting_the_plain_form_in_place_is_what_imports_find(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, kernels.__name__, kernels)
    forms.put_plain(kernels.__name__)
    assert not sys.modules[kernels.__name__].COMPILED
