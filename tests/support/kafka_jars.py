"""Kafka's dump tool over a directory, and what it says when something is wrong.

It exits 0 even on garbage, so its words are read.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.source_tree import ROOT

JARS = ROOT / ".cache" / "interop" / "java" / "lib"
NEEDS_JARS = pytest.mark.skipif(
    shutil.which("java") is None or not JARS.exists(),
    reason="no java, or no jars of Kafka; `python -m tests.interop.cache jars` brings them",
)
SUFFIXES = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
COMPLAINTS = re.compile(
    r"isvalid: false|invalid bytes|mismatch|out of order|corrupt|truncated|is followed by|"
    r"Found |Could not|exception|not found|does not exist|unknown",
    re.IGNORECASE,
)
PATIENCE_S = 120


def dumped(directory: Path, *arguments: str) -> str:
    """What the tool says of every file of a log; a complaint of any kind fails the test."""
    files = sorted(str(path) for path in directory.iterdir() if path.suffix in SUFFIXES)
    assert files
    java = ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{JARS}/*"]
    tool = ["org.apache.kafka.tools.DumpLogSegments", "--deep-iteration", *arguments]
    done = subprocess.run(
        [*java, *tool, "--files", ",".join(files)], capture_output=True, timeout=PATIENCE_S, check=False
    )
    said = done.stdout.decode() + done.stderr.decode()
    found = [line for line in said.splitlines() if COMPLAINTS.search(line) and not _is_first(line)]
    assert (done.returncode, found) == (0, []), "\n".join(found[:20]) or said[-2000:]
    return said


def _is_first(line: str) -> bool:
    """It begins to count at -1 in each file, also in those that Kafka itself writes from offset 272 on."""
    return line.startswith("  -1 is followed by ")
