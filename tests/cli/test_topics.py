import json

import pytest

import onelog
from onelog.cli.main import main, parser_of
from onelog.cli.topics import id_text
from onelog.model import NO_TOPIC_ID


@pytest.mark.parametrize(
    ("words", "known"),
    [
        (["list", "--json"], {"action": "list", "json": True}),
        (["create", "a"], {"action": "create", "name": "a", "partitions": None, "set": []}),
        (
            ["create", "a", "--partitions", "3", "--set", "x=1", "--set", "y=a=b"],
            {"partitions": 3, "set": [("x", "1"), ("y", "a=b")]},
        ),
        (["describe", "a", "b", "--all"], {"names": ["a", "b"], "all": True}),
        (
            ["alter", "a", "--unset", "x", "--unset", "y"],
            {"unset": ["x", "y"], "set": [], "partitions": None},
        ),
        (["delete", "a", "b", "--bootstrap", "h:1", "--timeout", "2"], {"bootstrap": "h:1", "timeout": 2.0}),
    ],
)
def test_arguments_become_values(words: list[str], known: dict[str, object]) -> None:
    args = vars(parser_of("topics").parse_args(words))
    assert {name: args[name] for name in known} == known


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["make"],
        ["create"],
        ["create", "a", "--partitions", "0"],
        ["create", "a", "--set", "x"],
        ["describe"],
        ["alter", "a"],
        ["delete"],
        ["list", "--bootstrap", "nowhere"],
        ["list", "--timeout", "never"],
    ],
)
def test_wrong_usage_is_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topics", *words]) == 2
    assert capsys.readouterr().err.startswith("usage: onelog topics")


def test_an_id_is_shown_as_kafkas_tools_show_it() -> None:
    assert id_text(NO_TOPIC_ID) == "AAAAAAAAAAAAAAAAAAAAAA"


def test_a_topics_life(broker: onelog.Broker, capsys: pytest.CaptureFixture[str]) -> None:
    def topics(*words: str) -> str:
        assert main(["topics", *words, "--bootstrap", broker.bootstrap]) == 0
        return capsys.readouterr().out

    assert topics("create", "life", "--partitions", "2", "--set", "retention.ms=5000") == ""
    assert "life  " in topics("list")
    listed = [json.loads(line) for line in topics("list", "--json").splitlines()]
    assert [t["partitions"] for t in listed if t["name"] == "life"] == [2]
    shown = topics("describe", "life").splitlines()
    assert shown[0].startswith("life  ")
    assert shown[1].split() == ["PARTITION", "LEADER", "START", "END", "OFFSETS"]
    assert shown[3].split() == ["1", "1", "0", "0", "0"]
    assert shown[5].split() == ["retention.ms", "5000", "topic"]
    topics("alter", "life", "--unset", "retention.ms", "--set", "segment.ms=60000", "--partitions", "3")
    described = json.loads(topics("describe", "life", "--json"))
    assert described["settings"] == {"segment.ms": "60000"}
    assert len(described["partitions"]) == 3
    assert (
        json.loads(topics("describe", "life", "--json", "--all"))["settings"]["retention.ms"] == "604800000"
    )
    topics("create", "life", "--if-not-exists")
    topics("delete", "life")
    assert "life" not in topics("list")


def test_a_refusal_is_one_line_and_1(broker: onelog.Broker, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topics", "describe", "nothing", "--bootstrap", broker.bootstrap]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("onelog: nothing: UNKNOWN_TOPIC_OR_PARTITION (3)")
    assert said.err.count("\n") == 1


def test_no_broker_is_said_with_its_address(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topics", "list", "--bootstrap", "127.0.0.1:1", "--timeout", "0.01"]) == 1
    assert "no broker answers at 127.0.0.1:1: connection refused" in capsys.readouterr().err
