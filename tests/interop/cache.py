"""What real clients need, pinned, installed into a folder that git ignores.

    python -m tests.interop.cache [NAME ...]      all of it, or only what is named

    .cache/interop/kcat     Debian's package, unpacked (not if kcat is installed already)
    .cache/interop/python   an environment of its own with clients from the package index
    .cache/interop/java     jars from Maven, and our driver compiled against them
    .cache/interop/franz    our driver for franz-go, built with the modules that go.sum names
    .cache/interop/kafkajs  the npm package beside our driver

Each part has a stamp made of its recipe: what has not changed is not made again. What cannot
be had on this machine raises Missing, which says what to install; nothing is skipped silently.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Sequence
from pathlib import Path

HERE = Path(__file__).parent
CLIENTS = HERE / "clients"
CACHE = HERE.parents[1] / ".cache" / "interop"

KAFKA = "4.3.1"
FRANZ_GO = "1.22.2"
KAFKAJS = "2.2.4"
PYTHON = {
    "aiokafka": "0.14.0",
    "confluent-kafka": "2.16.1",
    "cramjam": "2.14.0",
    "fluvio": "0.21.0",
    "kafka-python": "3.0.12",
    "lz4": "4.4.5",
    "python-snappy": "0.7.3",
    "zstandard": "0.25.0",
}
_JARS = {
    "org.apache.kafka:kafka_2.13": KAFKA,
    "org.apache.kafka:kafka-clients": KAFKA,
    "org.apache.kafka:kafka-tools": KAFKA,
    "org.apache.logging.log4j:log4j-slf4j-impl": "2.25.4",
}
_DEBS = ("kcat", "librdkafka1", "libyajl2")


class Missing(Exception):
    """Something that this machine has to bring is not there."""


def kcat() -> list[str]:
    """The command that runs kcat."""
    installed = shutil.which("kcat")
    if installed is not None:
        return [installed]
    root = _made("kcat", " ".join(_DEBS), _unpack_kcat)
    (libraries,) = {str(path.parent) for path in root.rglob("librdkafka.so.1")}
    return ["env", f"LD_LIBRARY_PATH={libraries}", str(root / "usr/bin/kcat")]


def python() -> Path:
    """An interpreter that has the Python clients."""
    recipe = "\n".join(f"{name}=={version}" for name, version in PYTHON.items())
    return _made("python", recipe + sys.version, _install_python) / "bin" / "python"


def jars() -> Path:
    """A folder with Kafka's jars: broker, tools and client."""
    return _made("java", _pom(), _install_jars) / "lib"


def java_driver() -> list[str]:
    """The command that runs our driver of Kafka's Java client."""
    lib = jars()
    source = CLIENTS / "java" / "Driver.java"

    def compile_it(folder: Path) -> None:
        _run(["javac", "-cp", f"{lib}/*", "-d", str(folder), str(source)], hint="openjdk-17-jdk-headless")

    classes = _made("java-driver", source.read_text() + _pom(), compile_it)
    return [*java(f"{classes}:{lib}/*"), "Driver"]


def java(class_path: str) -> list[str]:
    """A small JVM: many of them run one after the other here."""
    _needed("java", "openjdk-17-jre-headless")
    flags = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"]
    return ["java", *flags, "-cp", class_path]


def franz() -> list[str]:
    """The command that runs our driver of franz-go."""
    return [str(_go("franz"))]


def kafkajs() -> list[str]:
    """The command that runs our driver of kafkajs."""
    _needed("node", "nodejs")
    source = CLIENTS / "kafkajs" / "driver.js"

    def install(folder: Path) -> None:
        _run(["npm", "install", "--silent", "--prefix", str(folder), f"kafkajs@{KAFKAJS}"], hint="npm")
        shutil.copy(source, folder / source.name)

    folder = _made("kafkajs", KAFKAJS + source.read_text(), install)
    return ["node", str(folder / source.name)]


def _go(name: str) -> Path:
    source = CLIENTS / name
    recipe = "".join((source / file).read_text() for file in ("go.mod", "go.sum", "main.go"))

    def build(folder: Path) -> None:
        _run(["go", "build", "-o", str(folder / name), "."], hint="golang", cwd=source)

    return _made(name, recipe, build) / name


def _made(name: str, recipe: str, make: Callable[[Path], None]) -> Path:
    """The folder of this name, made anew when its recipe is another one."""
    folder, stamp = CACHE / name, CACHE / f"{name}.stamp"
    digest = hashlib.sha256(recipe.encode()).hexdigest()
    if not stamp.exists() or stamp.read_text() != digest:
        stamp.unlink(missing_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        print(f"interop: getting {name}", file=sys.stderr)
        make(folder)
        stamp.write_text(digest)
    return folder


def _unpack_kcat(folder: Path) -> None:
    _run(["apt-get", "download", *_DEBS], hint="kcat, as root: `apt-get install kcat`", cwd=folder)
    for package in folder.glob("*.deb"):
        _run(["dpkg", "-x", str(package), str(folder)], hint="dpkg")


def _install_python(folder: Path) -> None:
    venv.create(folder, with_pip=True)
    wanted = [f"{name}=={version}" for name, version in PYTHON.items()]
    _run([str(folder / "bin/python"), "-m", "pip", "install", "--quiet", *wanted], hint="a package index")


def _install_jars(folder: Path) -> None:
    pom = folder / "pom.xml"
    pom.write_text(_pom())
    goal = [
        "dependency:copy-dependencies",
        f"-DoutputDirectory={folder / 'lib'}",
        "-DincludeScope=runtime",
    ]
    _run(["mvn", "-q", "-B", "-f", str(pom), *goal], hint="maven")


def _pom() -> str:
    wanted = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
        f"<version>{version}</version></dependency>\n"
        for name, version in _JARS.items()
        for group, artifact in [name.split(":")]
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0">\n<modelVersion>4.0.0</modelVersion>\n'
        "<groupId>onelog</groupId><artifactId>interop</artifactId><version>1</version>\n"
        f"<packaging>pom</packaging>\n<dependencies>\n{wanted}</dependencies>\n</project>\n"
    )


def _run(command: Sequence[str], *, hint: str, cwd: Path | None = None) -> None:
    _needed(command[0], hint)
    environment = {**os.environ, "GOFLAGS": "-mod=readonly -buildvcs=false"}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stdout + done.stderr).strip().splitlines()[-12:]
        raise Missing(f"`{' '.join(command)}` ended with {done.returncode}:\n" + "\n".join(said))


def _needed(program: str, package: str) -> None:
    if shutil.which(program) is None:
        raise Missing(f"`{program}` is not installed; it comes with {package}")


PARTS: dict[str, Callable[[], object]] = {
    "kcat": kcat,
    "python": python,
    "jars": jars,
    "java": java_driver,
    "franz": franz,
    "kafkajs": kafkajs,
}


def main(argv: Sequence[str]) -> int:
    """Install; 1 when something could not be had, which is said."""
    code = 0
    for name in argv or PARTS:
        try:
            print(f"{name:8} {PARTS[name]()}")
        except Missing as missing:
            print(f"{name:8} MISSING: {missing}")
            code = 1
    return code


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
