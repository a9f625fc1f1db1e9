"""`onelog doctor`: what of this machine onelog uses, what is missing, and what that costs.

Looks, changes nothing. Exit 1 only when something that the broker needs is missing.
"""

import argparse
import importlib.util
import os
import platform
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

from onelog.cli.output import json_line, table
from onelog.protocols.registry import kernels_are_compiled

NEEDED = ("crc32c", "cramjam", "h11", "lz4", "msgspec", "zstandard")
SPARK = ("pyspark", "pyarrow", "deltalake")


class Finding(NamedTuple):
    """One thing that was looked at. ok: None where it is only worth knowing."""

    what: str
    found: str
    ok: bool | None
    advice: str = ""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--json", action="store_true", help="a line of JSON for each finding")


def run(args: argparse.Namespace) -> int:
    """Print what was found; 1 if something that is needed is missing."""
    findings = list(_findings())
    if args.json:
        for finding in findings:
            print(json_line(finding._asdict()))
    else:
        marks = {True: "ok", False: "MISSING", None: "note"}
        rows = [[marks[f.ok], f.what, f.found, f.advice] for f in findings]
        print(table(rows, header=["", "what", "found", "what to do"]))
    return 1 if any(f.ok is False for f in findings) else 0


def _findings() -> Iterator[Finding]:
    yield _system()
    enough = sys.version_info >= (3, 11)
    yield Finding("Python", platform.python_version(), enough, "" if enough else "install 3.11 or newer")
    if kernels_are_compiled():
        yield Finding("kernels", "compiled", True)
    else:
        advice = "right but slower; reinstall where a C compiler or the package ziglang can be had"
        yield Finding("kernels", "plain Python", None, advice)
    yield from (_package(name, needed=True) for name in NEEDED)
    yield _package("uvloop", needed=False, advice="asyncio serves instead, slower")
    yield from _spark()


def _system() -> Finding:
    system, machine = platform.system(), platform.machine()
    served = system == "Linux" and machine in ("x86_64", "aarch64")
    to_try = system == "Darwin"
    advice = (
        "" if served else "to try things only" if to_try else "Linux on x86-64 or arm64 is what is served"
    )
    return Finding("system", f"{system} {machine}", True if served else None if to_try else False, advice)


def _package(name: str, *, needed: bool, advice: str = "") -> Finding:
    try:
        return Finding(name, version(name), True)
    except PackageNotFoundError:
        return Finding(name, "not installed", False if needed else None, advice or f"pip install {name}")


def _spark() -> Iterator[Finding]:
    """Spark is an extra; looking for it must not load it."""
    if any(importlib.util.find_spec(name) is None for name in SPARK):
        yield Finding("Spark", "not installed", None, "for tables, from a clone: pip install '.[spark]'")
        return
    yield from (_package(name, needed=False) for name in SPARK)
    from onelog.spark.session import SessionError, cache_folder, find_java

    try:
        java = find_java(os.environ, cache=cache_folder(os.environ))
    except SessionError as error:
        yield Finding("Java", "none", None, str(error))
    else:
        yield Finding("Java", f"{java.version}, {java.home}", True)
