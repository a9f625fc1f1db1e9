import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import onelog
from onelog.cli.main import main
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.producer import Producer
from onelog.pipeline.audit import audit
from onelog.pipeline.log import OnelogLog
from onelog.pipeline.tables import Table
from onelog.records.record import Record

LOOK_INTERVAL_S = 0.1


def test_a_topic_or_a_place_that_cannot_be_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["land", "a/b", "--to", "t"]) == 1
    assert "'a/b'" in capsys.readouterr().err
    assert main(["land", "orders"]) == 2
    capsys.readouterr()


@pytest.mark.spark
def test_new_records_land_until_the_command_is_told_to_stop_and_a_pipe_hears_nothing(tmp_path: Path) -> None:
    with onelog.Broker(tmp_path / "data", listen="shared=127.0.0.1:0") as broker:
        with KafkaClient(broker.bootstrap) as client:
            producer = Producer(client)
            producer.send("orders", [Record(b"k", b"v", 1)])
            table = tmp_path / "t"
            command = [
                "land",
                "orders",
                "--to",
                str(table),
                "--bootstrap",
                broker.bootstrap,
                "--master",
                "local[1]",
            ]
            with subprocess.Popen(
                [sys.executable, "-m", "onelog", *command],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            ) as process:
                wait_for_rows(table, 1, process)
                producer.send("orders", [Record(b"k", b"w", 2)])
                wait_for_rows(table, 2, process)
                process.send_signal(signal.SIGTERM)
                out, err = process.communicate()
        assert process.returncode == 0
        assert out == b""
        # The Java of this machine may have a word of its own; we have none.
        assert [line for line in err.decode().splitlines() if "incubator" not in line] == []
        with OnelogLog(broker.bootstrap) as log:
            assert audit(str(table), log).is_clean


def wait_for_rows(path: Path, count: int, process: "subprocess.Popen[bytes]") -> None:
    """Look again and again until the table has so many; a process that ended is a failure."""
    waited = threading.Event()
    while not Table.exists(str(path)) or Table(str(path)).delta.to_pyarrow_dataset().count_rows() < count:
        assert process.poll() is None, process.communicate()
        waited.wait(LOOK_INTERVAL_S)
