import asyncio
import json
import resource
import socket
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from onelog.app import App, _listeners
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.producer import Producer
from onelog.config import ConfigError, load
from onelog.errors import DiskFailed
from onelog.protocols.registry import ENDPOINTS
from onelog.records.record import Record
from onelog.server.listener import LOOPBACK_HOSTS, ListenFailed


def _app(folder: Path, listen: str, **flags: Any) -> App:
    settings = {"serve.data": str(folder / "data"), "serve.listen": listen, **flags}
    return App(load(environ={}, flags=settings))


async def _in_thread(work: Any, *args: Any) -> Any:
    return await asyncio.get_running_loop().run_in_executor(None, work, *args)


async def test_every_listener_that_was_named_serves_and_no_other(tmp_path: Path) -> None:
    app = _app(tmp_path, "kafka=127.0.0.1:0,console=127.0.0.1:0")
    addresses = await app.start()
    assert sorted(addresses) == ["console", "kafka"]
    assert all(at.port > 0 for at in addresses.values())
    await app.stop()


def test_without_a_word_every_default_port_opens() -> None:
    found = {listen.name: (listen.port, tuple(listen.hosts)) for listen in _listeners("")}
    ports = {
        "shared": 9092,
        "console": 8088,
        **{e.listener: e.port for e in ENDPOINTS if not e.shared and e.port},
    }
    assert found == {name: (port, LOOPBACK_HOSTS) for name, port in ports.items()}
    assert found["tank"][0] == 11011


async def test_a_client_is_sent_to_the_advertised_address(tmp_path: Path) -> None:
    """Two listeners, each told to its own clients: the second one by another name."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    app = _app(
        tmp_path,
        f"shared=127.0.0.1:0,kafka=127.0.0.1:{port}",
        **{"serve.advertise": f"kafka=localhost:{port}"},
    )
    addresses = await app.start()

    def nodes(bootstrap: str) -> list[str]:
        with KafkaClient(bootstrap) as client:
            Producer(client).send("orders", [Record(key=None, value=b"v", timestamp_ms=1)])
            return [str(at) for at in client.run(lambda d: client.refresh([], d)).nodes.values()]

    assert await _in_thread(nodes, f"127.0.0.1:{port}") == [f"localhost:{port}"]
    shared = addresses["shared"].port
    assert await _in_thread(nodes, f"127.0.0.1:{shared}") == [f"127.0.0.1:{shared}"]
    await app.stop()


async def test_a_taken_port_is_named_with_its_listener_and_the_option_for_another(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ListenFailed) as refusal:
            await _app(tmp_path, f"shared=127.0.0.1:{port}").start()
    assert f"shared: cannot listen on 127.0.0.1:{port}" in str(refusal.value)
    assert "--listen shared=" in str(refusal.value)


async def test_a_start_that_failed_leaves_the_directory_to_the_next(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(ListenFailed):
            await _app(tmp_path, f"shared=127.0.0.1:{taken.getsockname()[1]}").start()
    app = _app(tmp_path, "shared=127.0.0.1:0")
    await app.start()
    await app.stop()


@pytest.mark.parametrize("data", ["file", "file/data"])
async def test_a_file_where_the_data_directory_is_to_be_is_not_blamed_on_the_disk(
    tmp_path: Path, data: str
) -> None:
    (tmp_path / "file").write_text("mine")
    app = _app(tmp_path, "shared=127.0.0.1:0", **{"serve.data": str(tmp_path / data)})
    with pytest.raises(ConfigError, match="file: is a file; expected a directory"):
        await app.start()
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize(
    ("listen", "complaint"),
    [
        ("pulsar=127.0.0.1:1", "there is no listener 'pulsar'"),
        ("shared", "expected NAME=HOST:PORT"),
        ("shared=127.0.0.1:x", "expected NAME=HOST:PORT"),
        ("shared=127.0.0.1:70000", "expected NAME=HOST:PORT, a port from 0 to 65535"),
        ("shared=127.0.0.1:0,shared=127.0.0.1:0", "stands there twice"),
    ],
)
async def test_a_listener_that_cannot_be_is_refused(tmp_path: Path, listen: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        await _app(tmp_path, listen).start()


async def test_an_address_for_a_listener_that_is_not_open_is_refused(tmp_path: Path) -> None:
    app = _app(tmp_path, "shared=127.0.0.1:0", **{"serve.advertise": "kafak=example.org:9092"})
    with pytest.raises(ConfigError, match="no listener 'kafak' is open; open are shared"):
        await app.start()


async def test_the_console_tells_how_it_is(tmp_path: Path) -> None:
    app = _app(tmp_path, "shared=127.0.0.1:0,console=127.0.0.1:0")
    at = (await app.start())["console"]

    def get(path: str) -> str:
        with urllib.request.urlopen(f"http://{at.host}:{at.port}{path}", timeout=10) as answer:
            return str(answer.read().decode())

    assert json.loads(await _in_thread(get, "/health"))["status"] == "ok"
    assert "onelog_topics 0" in await _in_thread(get, "/metrics")
    with pytest.raises(urllib.error.HTTPError, match="404"):
        await _in_thread(get, "/nothing")
    await app.stop()


async def test_a_failed_disk_is_handed_to_whoever_runs_the_app(tmp_path: Path) -> None:
    app = _app(tmp_path, "shared=127.0.0.1:0")
    await app.start()
    first = DiskFailed(path="p", doing="syncing", found="EIO")
    app._fail(first)
    app._fail(DiskFailed(path="q", doing="syncing", found="EIO"))
    assert await app.failed is first
    await app.stop()


async def test_connections_are_bounded_by_the_files_that_may_be_open(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (800, hard))
    try:
        app = _app(tmp_path, "shared=127.0.0.1:0")
        await app.start()
        assert "server.connections_max = 10000: only 800 files may be open" in caplog.text
        assert "at most 288 connections" in caplog.text
        await app.stop()
        caplog.clear()
        app = _app(tmp_path, "shared=127.0.0.1:0", **{"server.connections_max": 288})
        await app.start()
        assert "connections_max" not in caplog.text
        await app.stop()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
