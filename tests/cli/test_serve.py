"""The command as a process: what it prints, writes, and ends with."""

import asyncio
import json
import os
import resource
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from onelog.app import App
from onelog.cli import serve
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.producer import Producer
from onelog.config import ServeSettings, load
from onelog.errors import DiskFailed
from onelog.records.record import Record
from onelog.storage.layout import CLEAN_STOP
from tests.support.served import Served


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "onelog", *words], capture_output=True, text=True, timeout=60, check=False
    )


def test_the_ready_file_names_every_listener(tmp_path: Path) -> None:
    with Served(tmp_path / "data") as served:
        ready = json.loads((tmp_path / "data.ready.json").read_text())
        assert ready["pid"] == served.pid
        assert ready["listeners"]["shared"] == {"host": "127.0.0.1", "port": served.ports["shared"]}
        assert list(tmp_path.glob(".ready-*")) == []


def test_a_stop_leaves_a_directory_that_verifies(tmp_path: Path) -> None:
    with Served(tmp_path / "data") as served:
        with KafkaClient(served.bootstrap) as client:
            Producer(client).send("t", [Record(key=None, value=b"v", timestamp_ms=1)])
        assert served.stop() == 0
    done = _run("verify", str(tmp_path / "data"))
    assert (done.returncode, done.stderr) == (0, "")


def test_a_second_signal_ends_at_once(tmp_path: Path) -> None:
    with Served(tmp_path / "data") as served:
        os.kill(served.pid, signal.SIGTERM)
        os.kill(served.pid, signal.SIGTERM)
        # Which one it was depends on how far the first had come; it has ended either way.
        assert served.wait() in (0, -signal.SIGTERM)


def test_a_taken_port_is_one_clear_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = _run("serve", f"--data={tmp_path / 'data'}", f"--listen=shared=127.0.0.1:{port}")
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert f"shared: cannot listen on 127.0.0.1:{port}" in last
    assert "--listen shared=" in last
    assert "Traceback" not in done.stderr


def test_a_directory_in_use_is_one_clear_line(tmp_path: Path) -> None:
    with Served(tmp_path / "data"):
        done = _run("serve", f"--data={tmp_path / 'data'}", "--listen=shared=localhost:0")
    assert done.returncode == 1
    assert "another process has the directory open" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_a_ready_file_that_cannot_be_written_ends_it_in_order(tmp_path: Path) -> None:
    data = tmp_path / "data"
    done = _run("serve", f"--data={data}", "--listen=shared=localhost:0", f"--ready-file={tmp_path}/no/ready")
    assert done.returncode == 1
    assert "No such file or directory" in done.stderr.splitlines()[-1]
    assert (data / CLEAN_STOP).exists()


def test_an_unknown_option_is_wrong_usage() -> None:
    assert _run("serve", "--prot=1").returncode == 2


def test_the_log_can_be_json(tmp_path: Path) -> None:
    with Served(tmp_path / "data", options=["--log-format=json"]) as served:
        lines = [json.loads(line) for line in list(served.log)]
    assert lines[0]["level"] == "info"
    assert "onelog begins" in lines[0]["message"]


def test_the_first_line_says_which_kernels_run(tmp_path: Path) -> None:
    with Served(tmp_path / "data") as served:
        assert "kernels compiled" in served.log[0] or "kernels plain" in served.log[0]


def _failing_when_drained(monkeypatch: pytest.MonkeyPatch) -> None:
    stop = App.stop

    async def fails(app: App) -> None:
        app._fail(DiskFailed(path="orders-0", doing="syncing", found="Input/output error"))
        await stop(app)

    monkeypatch.setattr(App, "stop", fails)


def test_a_disk_that_fails_during_the_drain_is_no_clean_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    _failing_when_drained(monkeypatch)
    config = load(environ={}, flags={"serve.data": str(tmp_path), "serve.listen": "shared=localhost:0"})

    async def story() -> int:
        asyncio.get_running_loop().call_soon(os.kill, os.getpid(), signal.SIGTERM)
        return await serve._serve(config, config.section(ServeSettings))

    caplog.set_level("INFO", "onelog")
    assert asyncio.run(story()) == 1
    assert "Input/output error" in caplog.text
    assert "cleanly" not in caplog.text


def test_a_process_of_its_own_may_open_as_many_files_as_the_system_allows(tmp_path: Path) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if not Path("/proc/self/limits").exists():
        pytest.skip("the system does not tell of another process")
    with Served(tmp_path / "data", wrapper=["sh", "-c", 'ulimit -Sn 900; exec "$@"', "sh"]) as served:
        lines = Path(f"/proc/{served.pid}/limits").read_text().splitlines()
        (found,) = [line.split() for line in lines if line.startswith("Max open files")]
        assert found[3:5] == [str(hard), str(hard)]
