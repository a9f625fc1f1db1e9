import os
import stat
import subprocess
from pathlib import Path

import pytest

from onelog.spark.session import SessionError, cache_folder, defaults, find_java, wrapped
from tests.support.shared_spark import shared_spark

ANSWER = """#!/bin/sh
echo "    java.home = {home}" >&2
echo "    java.specification.version = {version}" >&2
"""


def program(folder: Path, text: str) -> Path:
    """A program called java."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "java"
    path.write_text(text)
    path.chmod(0o755)
    return path


def java(folder: Path, version: int) -> Path:
    """A home with a Java that answers so."""
    program(folder / "bin", ANSWER.format(home=folder, version=version))
    return folder


def test_the_home_that_is_set_comes_first_and_then_the_path(tmp_path: Path) -> None:
    home, other = java(tmp_path / "home", 21), java(tmp_path / "other", 17)
    environ = {"JAVA_HOME": str(home), "PATH": f"{other}/bin:/bin"}
    assert find_java(environ, cache=tmp_path).home == home
    assert find_java(environ | {"JAVA_HOME": ""}, cache=tmp_path).home == other
    assert find_java(environ | {"JAVA_HOME": "/nowhere"}, cache=tmp_path).home == other


@pytest.mark.parametrize(
    "text", ["#!/bin/sh\nexit 1\n", "#!/bin/sh\necho install me\n", "not a program", ANSWER]
)
def test_a_java_that_does_not_answer_or_is_of_another_version_counts_as_none(
    tmp_path: Path, text: str
) -> None:
    program(tmp_path / "bin", text.replace("{home}", "/x").replace("{version}", "11"))
    found = find_java({"PATH": f"{tmp_path}/bin:/bin"}, cache=tmp_path / "cache")
    assert found.version == 21
    assert found.home.parent == tmp_path / "cache"


def test_the_wrapper_drops_the_one_argument_and_passes_all_others_as_they_are(tmp_path: Path) -> None:
    echo = program(
        tmp_path / "it's a $HOME",
        ANSWER.format(home="/x", version=21) + 'for word do printf "<%s>" "$word"; done\n',
    )
    found = wrapped(echo, cache=tmp_path / "cache")
    wrapper = found.home / "bin" / "java"
    assert stat.S_IMODE(wrapper.stat().st_mode) == 0o755
    words = ["-a", "--add-modules=jdk.incubator.vector", "b  c", "", "*"]
    said = subprocess.run([wrapper, *words], capture_output=True, check=True, text=True).stdout
    assert said == "<-a><b  c><><*>"
    assert wrapped(echo, cache=tmp_path / "cache") == found


def test_a_wrapper_that_a_parent_process_set_is_taken_as_it_is(tmp_path: Path) -> None:
    """It calls the home of the Java inside its own, which Spark could not start."""
    home = wrapped(program(tmp_path / "bare", ANSWER.format(home="/bare", version=21)), cache=tmp_path).home
    assert find_java({"JAVA_HOME": str(home)}, cache=tmp_path / "cache").home == home


def test_a_java_without_the_module_that_spark_asks_for_counts_as_none(tmp_path: Path) -> None:
    refuses = '#!/bin/sh\ncase "$*" in *incubator*) exit 1;; esac\n'
    program(tmp_path / "bin", refuses + ANSWER.format(home=tmp_path, version=21).removeprefix("#!/bin/sh\n"))
    found = find_java({"JAVA_HOME": str(tmp_path)}, cache=tmp_path / "cache")
    assert found.home.parent == tmp_path / "cache"


def test_a_wrapper_around_nothing_is_told(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="does not start"):
        wrapped(tmp_path / "none", cache=tmp_path)


def test_the_cache_is_the_users_own_and_always_somewhere(tmp_path: Path) -> None:
    assert cache_folder({"XDG_CACHE_HOME": str(tmp_path / "x")}) == tmp_path / "x" / "onelog"
    assert cache_folder({"HOME": str(tmp_path)}) == tmp_path / ".cache" / "onelog"
    (tmp_path / "file").touch()
    assert cache_folder({"XDG_CACHE_HOME": str(tmp_path / "file")}).name == f"onelog-{os.getuid()}"


def test_defaults_are_local_quiet_and_in_utc(tmp_path: Path) -> None:
    found = defaults(tmp_path / "log4j.properties")
    assert found["spark.ui.enabled"] == "false"
    assert found["spark.driver.bindAddress"] == "127.0.0.1"
    assert found["spark.sql.session.timeZone"] == "UTC"
    assert found["spark.python.unix.domain.socket.enabled"] == "false"


@pytest.mark.spark
def test_a_session_has_the_defaults_and_works() -> None:
    spark = shared_spark()
    assert spark.conf.get("spark.sql.parquet.outputTimestampType") == "TIMESTAMP_MICROS"
    assert spark.range(3).count() == 3
