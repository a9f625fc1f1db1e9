"""The build backend: setuptools, with the kernels compiled where that is possible.

The machine's own C compiler is used where it works, else Zig's, which comes from the package
index. A build that cannot compile is done again without: everything works then, slower, and
`onelog doctor` says so. ONELOG_KERNELS=compiled makes that an error instead, and
ONELOG_KERNELS=plain does not try.
"""

import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import (
    build_sdist,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

VARIABLE = "ONELOG_KERNELS"
MACHINES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}
# Those of the records, and those with which a dialect makes records of its own.
MODULES = (
    "onelog.records.kernels",
    "onelog.records.packing",
    "onelog.protocols.fluvio.kernels",
    "onelog.protocols.tank.kernels",
)
# -fwrapv: the kernels let 64-bit numbers wrap, as their plain form does by hand.
FLAGS = ["-O3", "-fwrapv", "-fPIC", "-DNDEBUG"]
# The oldest libc that Zig builds for; what runs there runs on everything newer.
GLIBC = "2.17"

Settings = dict[str, Any] | None


def source(module: str) -> Path:
    """Where a module stands."""
    return Path("src", *module.split(".")).with_suffix(".py")


class Wanted(Enum):
    """What the environment asks for."""

    BEST = ""
    PLAIN = "plain"
    COMPILED = "compiled"


def wanted() -> Wanted:
    """ONELOG_KERNELS, or the best there is. Only Linux gets compiled kernels unasked."""
    value = os.environ.get(VARIABLE, "")
    try:
        asked = Wanted(value)
    except ValueError:
        sys.exit(f"{VARIABLE}={value}: expected plain, compiled or nothing.")
    return Wanted.PLAIN if asked is Wanted.BEST and sys.platform != "linux" else asked


def refuse_other_systems() -> None:
    """End with one line where onelog does not run."""
    machine = platform.machine().lower()
    if sys.platform == "darwin" or (sys.platform == "linux" and machine in MACHINES):
        return
    sys.exit(
        f"onelog runs on Linux on x86-64 and arm64, and on macOS to try things; this is {sys.platform} "
        f"on {machine or 'an unknown machine'}. Nothing was installed."
    )


def has_python_header() -> bool:
    """Whether Python's own C header is there, without which no compiler helps."""
    return any(Path(folder, "Python.h").is_file() for folder in _include())


def _include() -> list[str]:
    paths = [sysconfig.get_path("include"), sysconfig.get_path("platinclude")]
    return [path for path in (*paths, sysconfig.get_config_var("INCLUDEPY")) if path]


def own_compiler() -> list[str] | None:
    """The machine's compiler, if one is there that compiles."""
    configured = shlex.split(sysconfig.get_config_var("CC") or "")
    named = shlex.split(os.environ.get("CC", ""))
    for command in (named, configured, ["cc"], ["gcc"], ["clang"]):
        if command and shutil.which(command[0]) and _compiles(command):
            return command
    return None


def _compiles(command: list[str]) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "try.c").write_text("#include <Python.h>\n#include <string.h>\nint nothing;\n")
        include = [f"-I{path}" for path in _include()]
        tried = [*command, *include, "-fPIC", "-shared", "try.c", "-o", "try.so"]
        return subprocess.run(tried, cwd=folder, capture_output=True, check=False).returncode == 0


def zig() -> list[str] | None:
    """Zig's C compiler, if the build has been given it."""
    found = importlib.util.find_spec("ziglang")
    if found is None or found.origin is None:
        return None
    machine = MACHINES.get(platform.machine().lower(), platform.machine())
    libc = "musl" if "musl" in (sysconfig.get_config_var("SOABI") or "") else f"gnu.{GLIBC}"
    program = str(Path(found.origin).with_name("zig"))
    # Without its sanitizer, which turns numbers that wrap into traps.
    return [program, "cc", "-target", f"{machine}-linux-{libc}", "-fno-sanitize=undefined"]


def requirements() -> list[str]:
    """What a build needs from the package index."""
    if wanted() is Wanted.PLAIN or not has_python_header():
        return []
    return ["cython>=3.1,<4"] + ([] if own_compiler() else ["ziglang>=0.13"])


def compiler() -> list[str] | None:
    """The compiler to use: the machine's, or Zig's."""
    return own_compiler() or zig()


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    """What the index has to give for a wheel."""
    refuse_other_systems()
    return [*build_meta.get_requires_for_build_wheel(config_settings), *requirements()]


def get_requires_for_build_editable(config_settings: Settings = None) -> list[str]:
    """What the index has to give for an editable install."""
    refuse_other_systems()
    return [*build_meta.get_requires_for_build_editable(config_settings), *requirements()]


def build_wheel(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """A wheel."""
    return built(lambda: build_meta.build_wheel(wheel_directory, config_settings, metadata_directory))


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """A wheel that points here; compiled kernels stand beside their source."""
    # One that no longer fits its source would be found before it.
    for module in MODULES:
        for old in source(module).parent.glob(f"{source(module).stem}.*.so"):
            old.unlink()
    return built(lambda: build_meta.build_editable(wheel_directory, config_settings, metadata_directory))


def built(build: Callable[[], str]) -> str:
    """What build() builds: compiled if that can be, else plain."""
    refuse_other_systems()
    asked = wanted()
    if asked is Wanted.PLAIN:
        return build()
    why = _missing()
    if not why:
        try:
            return build()
        except (Exception, SystemExit) as error:
            # Compilers, linkers and Cython fail in ways of their own; each means: not compiled.
            why = f"compiling failed ({type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''})"
            if asked is Wanted.COMPILED:
                raise
    if asked is Wanted.COMPILED:
        sys.exit(f"{VARIABLE}=compiled, but {why}.")
    sys.stderr.write(f"onelog: the kernels stay plain Python, which is slower: {why}.\n")
    os.environ[VARIABLE] = Wanted.PLAIN.value
    try:
        return build()
    finally:
        del os.environ[VARIABLE]


def _missing() -> str:
    """What stands in the way of compiling; empty if nothing is known to."""
    if not has_python_header():
        return "Python.h is missing (Debian: apt install python3-dev)"
    if compiler() is None:
        return "there is no C compiler, and the package index gave none"
    return ""
