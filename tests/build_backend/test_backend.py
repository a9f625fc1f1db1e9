"""Which compiler is asked for, and what happens without one. Nothing is compiled here."""

import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from setuptools import build_meta

from build_backend import backend

Build = Callable[[], str]


@pytest.fixture(autouse=True)
def _a_linux_without_wishes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(backend.VARIABLE, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(backend, "has_python_header", lambda: True)
    monkeypatch.setattr(backend, "own_compiler", lambda: ["cc"])
    monkeypatch.setattr(backend, "zig", lambda: None)


def fails_unless_plain() -> str:
    if os.environ.get(backend.VARIABLE) != "plain":
        raise SystemExit("error: command 'cc' failed")
    return "plain.whl"


@pytest.mark.parametrize(
    ("system", "machine"),
    [("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64"), ("darwin", "x86_64")],
)
def test_linux_and_macos_are_served(monkeypatch: pytest.MonkeyPatch, system: str, machine: str) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    backend.refuse_other_systems()


@pytest.mark.parametrize(
    ("system", "machine"), [("win32", "AMD64"), ("linux", "riscv64"), ("freebsd14", "amd64")]
)
@pytest.mark.parametrize(
    "hook",
    [
        backend.get_requires_for_build_wheel,
        backend.get_requires_for_build_editable,
        lambda: backend.build_wheel("nowhere"),
        lambda: backend.build_editable("nowhere"),
    ],
)
def test_other_systems_get_one_clear_line(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    system: str,
    machine: str,
    hook: Callable[[], object],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    with pytest.raises(SystemExit, match=f"this is {system} on {machine.lower()}. Nothing was installed."):
        hook()


def test_every_module_that_has_types_is_compiled() -> None:
    typed = {path.with_suffix(".py") for path in Path("src").rglob("*.pxd")} - {
        backend.source("onelog.records.blocks")
    }
    assert {backend.source(module) for module in backend.MODULES} == typed


def test_with_a_compiler_cython_alone_is_asked_for() -> None:
    assert backend.requirements() == ["cython>=3.1,<4"]


def test_without_a_compiler_zig_is_asked_for_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "own_compiler", lambda: None)
    assert backend.requirements() == ["cython>=3.1,<4", "ziglang>=0.13"]


def test_without_the_header_of_python_nothing_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "has_python_header", lambda: False)
    assert backend.requirements() == []


def test_plain_kernels_need_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(backend.VARIABLE, "plain")
    assert backend.requirements() == []


def test_on_macos_kernels_are_plain_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert backend.wanted() is backend.Wanted.PLAIN
    monkeypatch.setenv(backend.VARIABLE, "compiled")
    assert backend.wanted() is backend.Wanted.COMPILED


def test_a_wish_that_nobody_knows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(backend.VARIABLE, "fast")
    with pytest.raises(SystemExit, match="ONELOG_KERNELS=fast: expected plain, compiled or nothing"):
        backend.wanted()


def test_what_cannot_be_compiled_is_built_plain_and_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert backend.built(fails_unless_plain) == "plain.whl"
    said = capsys.readouterr().err
    assert said.startswith("onelog: the kernels stay plain Python, which is slower: compiling failed")
    assert said.count("\n") == 1
    assert backend.VARIABLE not in os.environ


@pytest.mark.parametrize(
    ("header", "compiler", "words"),
    [(False, ["cc"], "Python.h is missing"), (True, None, "there is no C compiler")],
)
def test_what_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    header: bool,
    compiler: list[str] | None,
    words: str,
) -> None:
    monkeypatch.setattr(backend, "has_python_header", lambda: header)
    monkeypatch.setattr(backend, "own_compiler", lambda: compiler)
    assert backend.built(fails_unless_plain) == "plain.whl"
    assert words in capsys.readouterr().err
    monkeypatch.setenv(backend.VARIABLE, "compiled")
    with pytest.raises(SystemExit, match=f"ONELOG_KERNELS=compiled, but {words}"):
        backend.built(fails_unless_plain)


def test_compiled_kernels_that_were_asked_for_fail_loudly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(backend.VARIABLE, "compiled")
    with pytest.raises(SystemExit, match="command 'cc' failed"):
        backend.built(fails_unless_plain)


def test_a_build_that_works_is_done_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert backend.built(lambda: "compiled.whl") == "compiled.whl"
    assert capsys.readouterr().err == ""


def test_a_compiled_module_of_yesterday_does_not_outlive_an_editable_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(backend.VARIABLE, "plain")
    monkeypatch.chdir(tmp_path)
    old = ["onelog.records.packing", "onelog.protocols.fluvio.kernels"]
    for module in old:
        backend.source(module).parent.mkdir(parents=True)
        backend.source(module).touch()
        backend.source(module).with_suffix(".cpython-312.so").touch()
    monkeypatch.setattr(build_meta, "build_editable", lambda *_: "editable.whl")
    assert backend.build_editable("nowhere") == "editable.whl"
    assert {path for path in Path("src").rglob("*") if path.is_file()} == set(map(backend.source, old))
