"""The brokers that are measured side by side: ours, Apache Kafka, NATS JetStream, PostgreSQL.

Each is a real process over a folder of its own, started for the run and ended by its id. The
last two are what a careful person would use instead where every record has to be on disk.
"""

import os
import pwd
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.load import CACHE
from onelog.client.kafka.admin import Admin, Spot
from onelog.client.kafka.client import KafkaClient
from tests.interop.cache import jars
from tests.interop.yardstick import CLUSTER_ID, properties
from tests.support.served import Served

NATS = "github.com/nats-io/nats-server/v2@v2.15.2"
# Kafka's own start script has these.
_KAFKA_JVM = [
    "-Xmx1G",
    "-Xms1G",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
]
_START_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Running:
    """A broker that serves: where, and in which process."""

    name: str
    port: int
    pid: int

    @property
    def bootstrap(self) -> str:
        """Its address, as clients are told it."""
        return f"127.0.0.1:{self.port}"


def make_topic(client: KafkaClient, name: str, partitions: int) -> None:
    """A topic that takes records: Kafka tells of one before its partitions have found their leader."""
    admin = Admin(client)
    admin.create_topic(name, partition_count=partitions)
    admin.offsets(name, Spot.LATEST)


@contextmanager
def onelog(folder: Path, *options: str, name: str = "onelog") -> Iterator[Running]:
    """Ours, as `onelog serve` starts it."""
    with Served(folder / "onelog-data", options=list(options)) as served:
        yield Running(name, served.ports["shared"], served.pid)


@contextmanager
def kafka(
    folder: Path, settings: Mapping[str, str] | None = None, *, name: str = "kafka"
) -> Iterator[Running]:
    """Apache Kafka on one node, with the flags of its own start script."""
    port, controller = _free_port(), _free_port()
    text = properties(folder, port=port, controller=controller)
    text += "".join(f"{key}={value}\n" for key, value in (settings or {}).items())
    (folder / "server.properties").write_text(text)
    java = ["java", *_KAFKA_JVM, "-cp", f"{jars()}/*"]
    tool = ["kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c"]
    subprocess.run(
        [*java, *tool, str(folder / "server.properties")], check=True, capture_output=True, timeout=60
    )
    with _running([*java, "kafka.Kafka", str(folder / "server.properties")], folder, port) as pid:
        yield Running(name, port, pid)


@contextmanager
def nats(folder: Path) -> Iterator[Running]:
    """NATS with JetStream, which syncs every message."""
    port = _free_port()
    settings = folder / "nats.conf"
    settings.write_text(
        f'host: 127.0.0.1\nport: {port}\njetstream {{ store_dir: "{folder}/jetstream", sync_interval: always }}\n'
    )
    with _running([str(_nats_server()), "-c", str(settings)], folder, port) as pid:
        yield Running("nats", port, pid)


@contextmanager
def postgres(folder: Path) -> Iterator[Running]:
    """PostgreSQL, each insert a transaction of its own, synchronous as it is by default."""
    port = _free_port()
    user = _postgres_user(folder)
    data = folder / "data"
    initdb = [str(postgres_tool("initdb")), "-D", str(data), "-A", "trust", "-U", "bench", "--locale=C"]
    subprocess.run(initdb, check=True, capture_output=True, user=user, cwd=folder)
    command = [
        str(postgres_tool("postgres")),
        "-D",
        str(data),
        "-p",
        str(port),
        "-h",
        "127.0.0.1",
        "-k",
        str(folder),
    ]
    with _running(command, folder, port, stop=signal.SIGINT, user=user) as pid:
        yield Running("postgres", port, pid)


def postgres_tool(name: str) -> Path:
    """A program of the newest PostgreSQL that is installed."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    if not found:
        raise SystemExit(f"benchmarks: PostgreSQL's {name} is not installed (Debian: postgresql).")
    return found[-1]


def _postgres_user(folder: Path) -> str | None:
    """PostgreSQL refuses to be root; it then gets the folder for a user that is nobody else's."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    user = "postgres" if "postgres" in names else "nobody"
    shutil.chown(folder, user)
    folder.chmod(0o755)
    for parent in folder.parents:
        if not parent.stat().st_mode & 0o001:
            parent.chmod(parent.stat().st_mode | 0o011)  # made by this run: others may pass through
    return user


def _nats_server() -> Path:
    built = CACHE / "nats" / "nats-server"
    if not built.exists():
        if shutil.which("go") is None:
            raise SystemExit("benchmarks: `go` is not installed; NATS is built with it (Debian: golang).")
        environment = {**os.environ, "GOBIN": str(built.parent)}
        subprocess.run(["go", "install", NATS], check=True, env=environment, cwd="/")
    return built


@contextmanager
def _running(
    command: list[str],
    folder: Path,
    port: int,
    *,
    stop: signal.Signals = signal.SIGTERM,
    user: str | None = None,
) -> Iterator[int]:
    """A process from when it serves the port until it has ended."""
    output = folder / "output.log"
    with output.open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, user=user)
        try:
            _await(port, process, command[0], output)
            yield process.pid
        finally:
            process.send_signal(stop)
            process.wait(timeout=60)


def _await(port: int, process: "subprocess.Popen[bytes]", program: str, output: Path) -> None:
    for _ in range(int(_START_TIMEOUT_S / 0.1)):
        if process.poll() is not None:
            raise AssertionError(f"{program} ended before it served:\n{output.read_text()[-2000:]}")
        if _answers(port):
            return
        try:
            process.wait(timeout=0.1)
        except subprocess.TimeoutExpired:
            continue
    raise AssertionError(f"{program} did not serve within {_START_TIMEOUT_S:.0f} s")


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as door:
        return int(door.getsockname()[1])
