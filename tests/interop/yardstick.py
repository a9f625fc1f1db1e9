"""Apache Kafka itself on one node, from Maven's jars: what a red cell is held against."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.interop.cache import jars, java

CLUSTER_ID = "Lk9WQ1B5QmV4dW1wbGUxMQ"
_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={folder}/data
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
num.partitions=1
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
log.segment.delete.delay.ms=1000
"""


def properties(folder: Path, *, port: int, controller: int) -> str:
    """Its settings: one node that is broker and controller, with its data in this folder."""
    return _PROPERTIES.format(port=port, controller=controller, folder=folder)


@contextmanager
def apache_kafka(folder: Path) -> Iterator[str]:
    """A broker over this folder; its bootstrap address."""
    port, controller = _free_ports(2)
    settings = folder / "server.properties"
    settings.write_text(properties(folder, port=port, controller=controller))
    command = java(f"{jars()}/*")
    format_it = [*command, "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(settings)]
    subprocess.run(format_it, check=True, capture_output=True)
    command[command.index("-Xmx256m")] = "-Xmx768m"
    with (folder / "kafka.log").open("w") as log:
        running = subprocess.Popen([*command, "kafka.Kafka", str(settings)], stdout=log, stderr=log)
        try:
            _wait_for(port, running, folder / "kafka.log")
            yield f"127.0.0.1:{port}"
        finally:
            os.kill(running.pid, signal.SIGTERM)
            running.wait(timeout=60)


def _free_ports(count: int) -> list[int]:
    doors = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(door.getsockname()[1]) for door in doors]
    for door in doors:
        door.close()
    return ports


def _wait_for(port: int, running: "subprocess.Popen[bytes]", log: Path) -> None:
    for _ in range(600):
        if running.poll() is not None:
            raise AssertionError("Kafka ended before it served:\n" + log.read_text()[-2000:])
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            # It binds its port once it is ready; nothing else tells when that is.
            try:
                running.wait(timeout=0.2)
            except subprocess.TimeoutExpired:
                continue
    raise AssertionError("Kafka did not serve within two minutes")
