"""How a compiler is found and called, with programs that only pretend."""

import importlib.util
import platform
import sys
import sysconfig
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from build_backend import backend

WORKS = "#!/bin/sh\nexit 0\n"
FAILS = "#!/bin/sh\nexit 1\n"


def program(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(sysconfig, "get_config_var", lambda _: None)
    return tmp_path


def test_no_compiler_is_found_where_there_is_none(path: Path) -> None:
    assert not list(path.iterdir())
    assert backend.own_compiler() is None


def test_a_compiler_that_does_not_compile_is_none(path: Path) -> None:
    program(path, "cc", FAILS)
    assert backend.own_compiler() is None
    program(path, "clang", WORKS)
    assert backend.own_compiler() == ["clang"]


def test_the_compiler_that_the_environment_names_comes_first(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(path, "cc", WORKS)
    own = program(path, "own-cc", WORKS)
    monkeypatch.setenv("CC", f"{own} -pthread")
    assert backend.own_compiler() == [own, "-pthread"]


def test_zig_is_called_for_the_oldest_libc_and_without_traps(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    spec = ModuleSpec("ziglang", None, origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: spec)
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    for suffix, libc in (
        ("cpython-311-aarch64-linux-gnu", "gnu.2.17"),
        ("cpython-311-aarch64-linux-musl", "musl"),
    ):
        monkeypatch.setattr(sysconfig, "get_config_var", lambda _, suffix=suffix: suffix)
        command = backend.zig()
        assert command == [
            str(tmp_path / "zig"),
            "cc",
            "-target",
            f"aarch64-linux-{libc}",
            "-fno-sanitize=undefined",
        ]


def test_without_the_package_there_is_no_zig(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ziglang", None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert backend.zig() is None
