import argparse
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

import onelog
from onelog.cli.main import main, parser_of
from onelog.cli.produce import lots
from onelog.client.kafka.admin import Admin
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.consumer import Consumer
from onelog.records.record import Header, Record
from tests.support.hand_clock import HandClock

NOW_MS = HandClock().wall_ms()


def parsed(*words: str) -> argparse.Namespace:
    return parser_of("produce").parse_args(["orders", *words])


class Stdin:
    """As much of a stdin as is read."""

    def __init__(self, said: bytes) -> None:
        self.buffer = io.BufferedReader(io.BytesIO(said))


def records(monkeypatch: pytest.MonkeyPatch, said: bytes, *words: str) -> list[Record]:
    monkeypatch.setattr(sys, "stdin", Stdin(said))
    return [wanted.record for lot in lots(parsed(*words), clock=HandClock()) for wanted in lot]


def stored(broker: onelog.Broker, topic: str, partition: int = 0) -> list[Record]:
    with KafkaClient(broker.bootstrap, timeout_s=10) as client:
        return [record for _, record in Consumer(client).iterate(topic, partition, 0, wait_ms=0)]


@pytest.mark.parametrize("said", [b"a\nb\n", b"a\nb"])
def test_a_line_is_a_record(monkeypatch: pytest.MonkeyPatch, said: bytes) -> None:
    assert records(monkeypatch, said) == [Record(None, b"a", NOW_MS), Record(None, b"b", NOW_MS)]


def test_an_empty_line_is_an_empty_record_and_no_line_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert records(monkeypatch, b"\n") == [Record(None, b"", NOW_MS)]
    assert records(monkeypatch, b"") == []


def test_a_key_separator_makes_key_and_value(monkeypatch: pytest.MonkeyPatch) -> None:
    assert records(monkeypatch, b"k:v:w\n", "--key-separator", ":") == [Record(b"k", b"v:w", NOW_MS)]
    assert records(monkeypatch, b"k\tv\n", "--format", "key-value") == [Record(b"k", b"v", NOW_MS)]


def test_key_and_headers_are_put_on_every_record(monkeypatch: pytest.MonkeyPatch) -> None:
    both = records(monkeypatch, b"a\nb\n", "--key", "k", "--header", "h=1", "--header", "i=")
    headers = (Header("h", b"1"), Header("i", b""))
    assert both == [Record(b"k", b"a", NOW_MS, headers), Record(b"k", b"b", NOW_MS, headers)]


def test_values_may_be_arguments() -> None:
    found = [w.record.value for lot in lots(parsed("--value", "a", "--value", "b\n")) for w in lot]
    assert found == [b"a", b"b\n"]


def test_a_file_is_read_by_lines_or_whole(tmp_path: Path) -> None:
    path = tmp_path / "records"
    path.write_bytes(b"a\n\xff")
    by_lines = [w.record.value for lot in lots(parsed("--file", str(path))) for w in lot]
    whole = [w.record.value for lot in lots(parsed("--file", str(path), "--format", "whole")) for w in lot]
    assert by_lines == [b"a", b"\xff"]
    assert whole == [b"a\n\xff"]


def test_a_line_that_is_wrong_is_named(
    broker: onelog.Broker, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(b'{"value":"a"}\n{"valeu":"b"}\n'))
    assert main(["produce", "wrong", "--format", "json", "--bootstrap", broker.bootstrap]) == 1
    said = capsys.readouterr().err
    assert "line 2: expected an object with members among" in said
    assert said.endswith("nothing was written\n")


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["orders", "--value", "a", "--file", "b"],
        ["orders", "--header", "x"],
        ["orders", "--partition", "-1"],
        ["orders", "--compression", "rar"],
        ["orders", "--key-separator", ""],
        ["orders", "--dialect", "rustlog", "--key", "k"],
        ["orders", "--dialect", "rustlog", "--header", "k=v"],
        ["orders", "--dialect", "rustlog", "--key-separator", ":"],
        ["orders", "--dialect", "rustlog", "--compression", "zstd"],
        ["orders", "--dialect", "rustlog-binary", "--key", "k"],
        ["orders", "--dialect", "tank", "--header", "k=v"],
        ["orders", "--dialect", "tank", "--print-offsets"],
        ["orders", "--dialect", "tank", "--compression", "zstd"],
        ["orders", "--dialect", "fluvio", "--header", "k=v"],
        ["orders", "--dialect", "flymq", "--header", "k=v"],
        ["orders", "--dialect", "flymq", "--key", ""],
        ["orders", "--dialect", "flymq", "--compression", "zstd"],
    ],
)
def test_wrong_usage_is_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["produce", *words]) == 2
    assert capsys.readouterr().err.startswith("usage: onelog produce")


def test_records_reach_a_broker_and_offsets_are_printed_when_wanted(
    broker: onelog.Broker, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["produce", "reached", "--value", "a", "--value", "b", "--bootstrap", broker.bootstrap]
    assert main([*words, "--compression", "zstd", "--print-offsets"]) == 0
    assert capsys.readouterr() == ("0 0 1\n", "")
    assert main(words) == 0
    assert capsys.readouterr() == ("", "")
    assert [record.value for record in stored(broker, "reached")] == [b"a", b"b"] * 2


@pytest.mark.parametrize(
    ("dialect", "refusal"),
    [("rustlog", "TOPIC_NOT_FOUND (404)"), ("rustlog-binary", "UNKNOWN_PARTITION (10)")],
)
def test_rustlog_takes_values_only(
    broker: onelog.Broker, capsys: pytest.CaptureFixture[str], dialect: str, refusal: str
) -> None:
    topic = f"plain-{dialect}"

    def produce(*words: str) -> int:
        return main(["produce", topic, "--bootstrap", broker.bootstrap, "--dialect", dialect, *words])

    assert produce("--value", "a") == 1
    assert refusal in capsys.readouterr().err
    assert main(["topics", "create", topic, "--partitions", "2", "--bootstrap", broker.bootstrap]) == 0
    assert produce("--value", "a", "--partition", "1", "--print-offsets") == 0
    assert capsys.readouterr().out == "1 0 0\n"
    assert [record.value for record in stored(broker, topic, 1)] == [b"a"]


def test_flymq_takes_keys_and_gzip(broker: onelog.Broker, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["produce", "flown/to", "--bootstrap", broker.bootstrap, "--dialect", "flymq"]
    assert main([*words, "--value", "a", "--key", "k", "--print-offsets"]) == 0
    assert main([*words, "--value", "b", "--compression", "gzip", "--print-offsets"]) == 0
    assert capsys.readouterr().out == "0 0 0\n0 1 1\n"
    found = [(record.key, record.value) for record in stored(broker, "flown.-2Fto")]
    assert found == [(b"k", b"a"), (None, b"b")]


def test_rustlog_refuses_a_record_that_it_cannot_say(
    broker: onelog.Broker, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(b'{"key":"k","value":"a"}\n'))
    words = ["produce", "any", "--format", "json", "--dialect", "rustlog", "--bootstrap", broker.bootstrap]
    assert main(words) == 1
    assert "RustLog cannot say keys" in capsys.readouterr().err


@pytest.mark.parametrize("compression", ["none", "snappy"])
def test_tank_takes_keys_and_values(
    broker: onelog.Broker, capsys: pytest.CaptureFixture[str], compression: str
) -> None:
    topic = f"tanked-{compression}"
    to = ["--dialect", "tank", "--bootstrap", broker.address("tank"), "--compression", compression]
    words = ["produce", topic, "--value", "a", "--key", "k", "--partition", "1", *to]
    assert main(words) == 1
    assert "UNKNOWN_TOPIC (0xff)" in capsys.readouterr().err
    assert main(["topics", "create", topic, "--partitions", "2", "--bootstrap", broker.bootstrap]) == 0
    assert main(words) == 0
    assert capsys.readouterr() == ("", "")
    assert [(record.key, record.value) for record in stored(broker, topic, 1)] == [(b"k", b"a")]


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_fluvio_takes_keys_and_values_and_every_codec(
    broker: onelog.Broker, capsys: pytest.CaptureFixture[str], compression: str
) -> None:
    topic = f"streamed-{compression}"
    to = ["--dialect", "fluvio", "--bootstrap", broker.address("fluvio-sc"), "--compression", compression]
    words = ["produce", topic, "--value", "a", "--key", "k", "--partition", "1", "--print-offsets", *to]
    assert main(words) == 1
    assert "TOPIC_NOT_FOUND (2001)" in capsys.readouterr().err
    assert main(["topics", "create", topic, "--partitions", "2", "--bootstrap", broker.bootstrap]) == 0
    assert main(words) == 0
    assert capsys.readouterr() == ("1 0 0\n", "")
    assert [(record.key, record.value) for record in stored(broker, topic, 1)] == [(b"k", b"a")]


def test_a_line_that_is_typed_is_sent_before_the_next_one_comes(broker: onelog.Broker) -> None:
    words = [
        sys.executable,
        "-m",
        "onelog",
        "produce",
        "typed",
        "--print-offsets",
        "--bootstrap",
        broker.bootstrap,
    ]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ
    ) as typist:
        assert typist.stdin is not None
        assert typist.stdout is not None
        for number in range(3):
            typist.stdin.write(f"{number}\n")
            typist.stdin.flush()
            assert typist.stdout.readline() == f"0 {number} {number}\n"
        typist.stdin.close()
        assert typist.wait(30) == 0


@pytest.mark.parametrize("dialect", ["kafka", "rustlog", "rustlog-binary", "tank", "flymq", "fluvio"])
def test_a_partition_that_is_not_there_is_said_with_what_to_do(
    dialect: str, broker: onelog.Broker, capsys: pytest.CaptureFixture[str]
) -> None:
    with KafkaClient(broker.bootstrap, timeout_s=10) as client:
        Admin(client).create_topic(f"single-{dialect}")
    own = broker.addresses.get("fluvio-sc" if dialect == "fluvio" else dialect)
    at = broker.bootstrap if own is None else str(own)
    words = ["--partition", "7", "--value", "v", "--dialect", dialect, "--bootstrap", at]
    assert main(["produce", f"single-{dialect}", *words]) == 1
    said = capsys.readouterr().err
    assert "`onelog topics list`" in said or "the topic has 1 partition, counted from 0" in said
    assert "TOPIC_NOT_FOUND" not in said
