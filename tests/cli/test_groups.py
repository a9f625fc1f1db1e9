import json
import time
from collections.abc import Iterator

import pytest

import onelog
from onelog.cli.arguments import Start, Where
from onelog.cli.main import main, parser_of
from onelog.client.kafka.admin import Admin
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.group_consumer import GroupConsumer
from onelog.client.kafka.joining import MemberTimes
from onelog.client.kafka.positions import Positions
from onelog.client.kafka.producer import Producer
from onelog.protocols.kafka.errors import Code
from onelog.records.record import Record
from tests.support.fake_kafka import FakeKafka

TIMES = MemberTimes(session_s=6.0, rebalance_s=10.0)
NOW_MS = time.time_ns() // 1_000_000


@pytest.fixture(scope="module")
def client(broker: onelog.Broker) -> Iterator[KafkaClient]:
    """Of a cluster with a topic of 3 and 5 records, a second apart."""
    with KafkaClient(broker.bootstrap, timeout_s=10) as client:
        Admin(client).create_topic("orders", partition_count=2)
        for partition, count in enumerate((3, 5)):
            said = [Record(None, b"%d" % i, NOW_MS + 1000 * i) for i in range(count)]
            Producer(client).send("orders", said, partition=partition)
        yield client


def said(capsys: pytest.CaptureFixture[str], broker: onelog.Broker, action: str, *words: str) -> str:
    assert main(["groups", action, "--bootstrap", broker.bootstrap, *words]) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def positions(client: KafkaClient, group: str) -> dict[int, int]:
    return {partition: at.offset for (_, partition), at in sorted(Positions(client).of(group).items())}


@pytest.mark.parametrize(
    ("words", "known"),
    [
        (["list", "--json"], {"action": "list", "json": True}),
        (["describe", "a", "b"], {"names": ["a", "b"], "json": False}),
        (
            ["reset", "g", "--to", "earliest"],
            {"name": "g", "to": Start(Where.EARLIEST), "topic": None, "partition": None, "dry_run": False},
        ),
        (
            ["reset", "g", "--to", "-5", "--topic", "a", "--topic", "b", "--partition", "1", "--dry-run"],
            {"to": Start(Where.FROM_END, 5), "topic": ["a", "b"], "partition": [1], "dry_run": True},
        ),
        (["delete", "a", "b", "--bootstrap", "h:1"], {"names": ["a", "b"], "bootstrap": "h:1"}),
    ],
)
def test_arguments_become_values(words: list[str], known: dict[str, object]) -> None:
    args = vars(parser_of("groups").parse_args(words))
    assert {name: args[name] for name in known} == known


@pytest.mark.parametrize(
    "words",
    [[], ["make"], ["describe"], ["delete"], ["reset", "g"], ["reset", "g", "--to", "soon"], ["reset"]],
)
def test_wrong_usage_is_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["groups", *words]) == 2
    assert capsys.readouterr().err.startswith("usage: onelog groups")


def test_a_group_is_listed_and_described_with_its_lag(
    broker: onelog.Broker, client: KafkaClient, capsys: pytest.CaptureFixture[str]
) -> None:
    Positions(client).commit("idle", {("orders", 0): 1, ("orders", 1): 5})
    assert ["idle", "Empty"] in [line.split()[:2] for line in said(capsys, broker, "list").splitlines()]
    listed = [json.loads(line) for line in said(capsys, broker, "list", "--json").splitlines()]
    assert "idle" in [group["name"] for group in listed]
    assert said(capsys, broker, "describe", "idle").splitlines() == [
        "idle  Empty",
        "TOPIC   PARTITION  POSITION  END  LAG",
        "orders  0          1         3    2",
        "orders  1          5         5    0",
    ]
    described = json.loads(said(capsys, broker, "describe", "idle", "--json"))
    assert (described["state"], described["members"], described["lag"]) == ("Empty", [], 2)
    assert described["positions"][0] == {
        "topic": "orders",
        "partition": 0,
        "position": 1,
        "start": 0,
        "end": 3,
        "lag": 2,
    }


def test_members_are_described_and_keep_a_group_from_reset_and_deletion(
    broker: onelog.Broker, client: KafkaClient, capsys: pytest.CaptureFixture[str]
) -> None:
    with GroupConsumer(client, "busy", ["orders"], times=TIMES) as consumer:
        consumer.poll()
        consumer.commit()
        lines = said(capsys, broker, "describe", "busy").splitlines()
        assert lines[0] == "busy  Stable  range"
        assert lines[2].split()[1:] == ["onelog", "/127.0.0.1", "orders/0,1"]
        (member,) = json.loads(said(capsys, broker, "describe", "busy", "--json"))["members"]
        assert member["holds"] == [{"topic": "orders", "partition": p} for p in (0, 1)]
        at = ["--bootstrap", broker.bootstrap]
        assert main(["groups", "reset", "busy", "--to", "earliest", *at]) == 1
        told = capsys.readouterr().err
        assert "group 'busy' has 1 member; stop them first" in told
        assert "One that crashed goes by itself when its session is over" in told
        assert main(["groups", "delete", "busy", *at]) == 1
        assert "NON_EMPTY_GROUP" in capsys.readouterr().err
    assert positions(client, "busy") == {0: 3, 1: 5}
    assert said(capsys, broker, "delete", "busy") == ""
    assert "busy" not in said(capsys, broker, "list").split()


def test_what_a_member_holds_without_a_position_is_described_with_the_lag_that_it_stands_for(
    broker: onelog.Broker, client: KafkaClient, capsys: pytest.CaptureFixture[str]
) -> None:
    with GroupConsumer(client, "begun", ["orders"], times=TIMES) as consumer:
        consumer.poll()
        assert consumer.commit({("orders", 1): 4})
        assert [line.split() for line in said(capsys, broker, "describe", "begun").splitlines()[-2:]] == [
            ["orders", "0", "-", "3", "3"],
            ["orders", "1", "4", "5", "1"],
        ]
        described = json.loads(said(capsys, broker, "describe", "begun", "--json"))
        assert (described["positions"][0]["position"], described["lag"]) == (None, 4)


@pytest.mark.parametrize(
    ("to", "expected"),
    [
        ("earliest", {0: 0, 1: 0}),
        ("latest", {0: 3, 1: 5}),
        ("2", {0: 2, 1: 2}),
        ("-1", {0: 2, 1: 4}),
        (f"@{NOW_MS + 500}", {0: 1, 1: 1}),
        (f"@{NOW_MS + 3000}", {0: 3, 1: 3}),
    ],
)
def test_a_group_goes_on_where_it_is_told(
    broker: onelog.Broker,
    client: KafkaClient,
    capsys: pytest.CaptureFixture[str],
    to: str,
    expected: dict[int, int],
) -> None:
    Positions(client).commit("moved", {("orders", 0): 1})
    rows = [line.split() for line in said(capsys, broker, "reset", "moved", "--to", to).splitlines()]
    assert rows[0] == ["TOPIC", "PARTITION", "FROM", "TO"]
    assert rows[1] == ["orders", "0", "1", str(expected[0])]
    assert positions(client, "moved") == expected


def test_a_group_without_positions_gets_them_where_it_is_told(
    broker: onelog.Broker, client: KafkaClient, capsys: pytest.CaptureFixture[str]
) -> None:
    at = ["--bootstrap", broker.bootstrap]
    assert main(["groups", "reset", "fresh", "--to", "latest", *at]) == 1
    assert "say with --topic" in capsys.readouterr().err
    wanted = ["fresh", "--to", "latest", "--topic", "orders", "--partition", "1"]
    assert said(capsys, broker, "reset", *wanted, "--dry-run").splitlines()[1].split() == [
        "orders",
        "1",
        "-",
        "5",
    ]
    assert positions(client, "fresh") == {}
    said(capsys, broker, "reset", *wanted)
    assert positions(client, "fresh") == {1: 5}


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["--to", "4"], "orders/0: asked for offset 4; the log holds 0 to 3"),
        (["--to", "0", "--partition", "7"], "orders/7: the topic has 2 partitions"),
    ],
)
def test_where_there_is_nothing_a_group_cannot_go_on(
    broker: onelog.Broker,
    client: KafkaClient,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    found: str,
) -> None:
    asked = ["groups", "reset", "lost", "--topic", "orders", "--bootstrap", broker.bootstrap, *words]
    assert main(asked) == 1
    assert found in capsys.readouterr().err
    assert positions(client, "lost") == {}


def test_a_group_that_is_not_there_is_said_to_be_so(
    broker: onelog.Broker, client: KafkaClient, capsys: pytest.CaptureFixture[str]
) -> None:
    for action in ("describe", "delete"):
        assert main(["groups", action, "nobody", "--bootstrap", broker.bootstrap]) == 1
        assert "GROUP_ID_NOT_FOUND" in capsys.readouterr().err


def test_a_cluster_without_groups_lists_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with FakeKafka() as fake:
        assert main(["groups", "list", "--bootstrap", fake.bootstrap]) == 0
        assert capsys.readouterr().out == ""


def test_a_group_that_may_not_be_looked_at_is_not_reset(capsys: pytest.CaptureFixture[str]) -> None:
    with FakeKafka() as fake:
        fake.fault("DescribeGroups", Code.GROUP_AUTHORIZATION_FAILED)
        assert main(["groups", "reset", "g", "--to", "earliest", "--bootstrap", fake.bootstrap]) == 1
        assert "GROUP_AUTHORIZATION_FAILED" in capsys.readouterr().err
        assert fake.positions == {}
