import json
import socket
import subprocess
import sys

import pytest

import onelog
from onelog.cli.arguments import Start, Where
from onelog.cli.main import main, parser_of
from onelog.client.kafka.admin import Admin
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.producer import Producer
from onelog.records.record import Record


@pytest.fixture(scope="module")
def filled(broker: onelog.Broker) -> list[str]:
    """The arguments to a topic with 0, 2 and 3 records in its partitions, their times 1000 ms apart."""
    with KafkaClient(broker.bootstrap, timeout_s=10) as client:
        Admin(client).create_topic("filled", partition_count=3)
        producer = Producer(client)
        for partition in (1, 2):
            said = [Record(b"k", b"%d-%d" % (partition, i), 1000 * i) for i in range(partition + 1)]
            producer.send("filled", said, partition=partition)
    return ["consume", "filled", "--bootstrap", broker.bootstrap]


def through(dialect: str, broker: onelog.Broker) -> list[str]:
    """The arguments that lead through a dialect."""
    own = broker.addresses.get("fluvio-sc" if dialect == "fluvio" else dialect)
    return ["--dialect", dialect, "--bootstrap", broker.bootstrap if own is None else str(own)]


def values(capsys: pytest.CaptureFixture[str], words: list[str], *more: str) -> list[str]:
    assert main([*words, *more]) == 0
    return sorted(capsys.readouterr().out.split())


def test_arguments_become_values() -> None:
    args = parser_of("consume").parse_args(["t", "--from", "-5", "--partition", "1", "--partition", "0"])
    assert (args.start, args.partition, args.count, args.follow) == (
        Start(Where.FROM_END, 5),
        [1, 0],
        None,
        False,
    )
    assert (args.format, args.dialect, args.isolation) == ("value", "kafka", "committed")


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["t", "--from", "soon"],
        ["t", "--partition", "-1"],
        ["t", "--count", "0"],
        ["t", "--format", "xml"],
        ["t", "--isolation", "none"],
        ["t", "--dialect", "morse"],
        ["t", "--from", "@5", "--dialect", "rustlog"],
        ["t", "--from", "@5", "--dialect", "rustlog-binary"],
        ["t", "--from", "@5", "--dialect", "tank"],
        ["t", "--from", "@5", "--dialect", "fluvio"],
        ["t", "--group", "g", "--dialect", "tank"],
        ["t", "--group", "g", "--partition", "1"],
        ["t", "--group", "g", "--from", "5"],
        ["t", "--group", ""],
    ],
)
def test_wrong_usage_is_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["consume", *words]) == 2
    assert capsys.readouterr().err.startswith("usage: onelog consume")


@pytest.mark.parametrize("dialect", ["kafka", "rustlog", "rustlog-binary", "tank", "flymq", "fluvio"])
@pytest.mark.parametrize(
    ("more", "found"),
    [
        ([], ["1-0", "1-1", "2-0", "2-1", "2-2"]),
        (["--partition", "1"], ["1-0", "1-1"]),
        (["--partition", "0"], []),
        (["--from", "1"], ["1-1", "2-1", "2-2"]),
        (["--from", "-1"], ["1-1", "2-2"]),
        (["--from", "latest"], []),
        (["--partition", "2", "--count", "2"], ["2-0", "2-1"]),
        (["--count", "99"], ["1-0", "1-1", "2-0", "2-1", "2-2"]),
    ],
)
def test_what_is_asked_for_is_printed_up_to_the_end(
    broker: onelog.Broker,
    filled: list[str],
    dialect: str,
    more: list[str],
    found: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert values(capsys, filled, *through(dialect, broker), *more) == found


def test_a_time_is_looked_for_in_each_partition(
    filled: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert values(capsys, filled, "--from", "@500") == ["1-1", "2-1", "2-2"]
    assert values(capsys, filled, "--from", "1970-01-01T00:00:02") == ["2-2"]
    assert values(capsys, filled, "--from", "@9000") == []


def test_flymq_looks_for_a_time_too(filled: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert values(capsys, filled, "--dialect", "flymq", "--from", "@500") == ["1-1", "2-1", "2-2"]


def test_a_format_is_used(filled: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    words = [*filled, "--partition", "2", "--count", "1", "--format"]
    assert main([*words, "key-value", "--key-separator", ":"]) == 0
    assert main([*words, "json"]) == 0
    plain, line = capsys.readouterr().out.splitlines()
    assert plain == "k:2-0"
    assert (json.loads(line)["partition"], json.loads(line)["offset"]) == (2, 0)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--partition", "7"], "filled/7: the topic has 3 partitions"),
        (["--from", "99"], "filled/0: asked for offset 99; the log holds 0 to 0"),
        (["--bootstrap", "127.0.0.1:1", "--timeout", "0.01"], "no broker answers at 127.0.0.1:1"),
    ],
)
def test_what_cannot_be_is_one_line_and_1(
    filled: list[str], more: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*filled, *more]) == 1
    assert said in capsys.readouterr().err


def test_a_topic_that_is_not_there_is_not_made_by_looking(
    broker: onelog.Broker, capsys: pytest.CaptureFixture[str]
) -> None:
    for dialect in ("kafka", "rustlog", "rustlog-binary", "tank", "flymq", "fluvio"):
        assert main(["consume", "nothing", *through(dialect, broker)]) == 1
        assert main(["topics", "list", "--bootstrap", broker.bootstrap]) == 0
        assert "nothing" not in capsys.readouterr().out


@pytest.mark.parametrize("dialect", ["kafka", "rustlog", "rustlog-binary", "tank", "flymq", "fluvio"])
def test_following_prints_what_comes_until_the_count(broker: onelog.Broker, dialect: str) -> None:
    topic = f"followed-{dialect}"
    with KafkaClient(broker.bootstrap, timeout_s=10) as client:
        Admin(client).create_topic(topic, partition_count=2)
        producer = Producer(client)
        producer.send(topic, [Record(None, b"before", 1)])
        words = ["consume", topic, "--follow", "--count", "3", *through(dialect, broker)]
        with subprocess.Popen(
            [sys.executable, "-m", "onelog", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as follower:
            assert follower.stdout is not None
            assert follower.stdout.readline() == b"before\n"
            for value in (b"one", b"two"):
                producer.send(topic, [Record(None, value, 1)])
                assert follower.stdout.readline() == value + b"\n"
            assert follower.wait(30) == 0
            assert follower.stderr is not None
            assert follower.stderr.read() == b""


def test_what_is_printed_as_json_can_be_produced_again(
    broker: onelog.Broker,
    filled: list[str],
    capsys: pytest.CaptureFixture[str],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.mktemp("copy") / "records.json"
    assert main([*filled, "--format", "json"]) == 0
    printed = capsys.readouterr().out
    path.write_text(printed)
    with KafkaClient(broker.bootstrap, timeout_s=10) as client:
        Admin(client).create_topic("copied", partition_count=3)
    copy = ["produce", "copied", "--format", "json", "--file", str(path), "--bootstrap", broker.bootstrap]
    assert main(copy) == 0
    assert main(["consume", "copied", "--format", "json", "--bootstrap", broker.bootstrap]) == 0
    again = capsys.readouterr().out.replace('"topic":"copied"', '"topic":"filled"')
    assert sorted(again.splitlines()) == sorted(printed.splitlines())


def test_a_group_goes_on_where_it_stands(filled: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    mine = ["--group", "printers"]
    assert len(values(capsys, filled, *mine, "--count", "3")) == 3
    assert len(values(capsys, filled, *mine)) == 2
    assert values(capsys, filled, *mine) == []
    assert len(values(capsys, filled)) == 5, "without the group all is there"


@pytest.mark.parametrize(
    ("dialect", "listener"),
    [
        ("kafka", "tank"),
        ("kafka", "fluvio-sc"),
        ("kafka", "fluvio-spu"),
        ("rustlog", "tank"),
        ("flymq", "fluvio-sc"),
        ("tank", "shared"),
        ("fluvio", "shared"),
        ("fluvio", "fluvio-spu"),
    ],
)
def test_who_speaks_another_dialect_than_the_port_is_told_so(
    dialect: str, listener: str, broker: onelog.Broker, capsys: pytest.CaptureFixture[str]
) -> None:
    at = ["--bootstrap", broker.address(listener), "--timeout", "0.3"]
    assert main(["consume", "greetings", "--dialect", dialect, *at]) == 1
    said = capsys.readouterr().err
    assert "no broker answers" not in said
    assert said.endswith(
        "It may speak another dialect there: tank on 11011, fluvio on 9003, the others on 9092, "
        "unless told otherwise.\n"
    )


def test_where_nobody_listens_no_other_dialect_is_guessed(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert main(["consume", "greetings", "--bootstrap", f"127.0.0.1:{port}", "--timeout", "0.3"]) == 1
    said = capsys.readouterr().err
    assert f"no broker answers at 127.0.0.1:{port}" in said
    assert "dialect" not in said


@pytest.mark.parametrize("dialect", ["kafka", "rustlog", "rustlog-binary", "tank", "flymq", "fluvio"])
def test_a_topic_that_is_not_there_is_said_with_what_to_do(
    dialect: str, broker: onelog.Broker, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["consume", "nosuch", *through(dialect, broker)]) == 1
    assert "`onelog topics list`" in capsys.readouterr().err
