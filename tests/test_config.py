from pathlib import Path

import pytest

from onelog.broker.settings import BrokerSettings
from onelog.config import ConfigError, ServeSettings, load


def test_without_anything_every_setting_is_its_default() -> None:
    assert load(environ={}).section(BrokerSettings) == BrokerSettings()
    assert {v.source for v in load(environ={}).values} == {"default"}


def test_a_flag_beats_the_environment_which_beats_the_file(tmp_path: Path) -> None:
    file = tmp_path / "onelog.toml"
    file.write_text('[serve]\ndata = "a"\nlog_level = "debug"\nlog_format = "json"\n', encoding="utf-8")
    environ = {"ONELOG_SERVE_DATA": "b", "ONELOG_SERVE_LOG_LEVEL": "error"}
    config = load(str(file), environ=environ, flags={"serve.data": "c", "serve.listen": None})
    serve = config.section(ServeSettings)
    assert (serve.data, serve.log_level, serve.log_format) == ("c", "error", "json")
    sources = {v.name: v.source for v in config.values}
    assert sources["serve.data"] == "flag"
    assert sources["serve.log_level"] == "ONELOG_SERVE_LOG_LEVEL"
    assert sources["serve.log_format"] == str(file)
    assert sources["serve.listen"] == "default"


def test_numbers_and_truths_are_read_from_the_environment() -> None:
    environ = {"ONELOG_BROKER_AUTO_CREATE_TOPICS": "no", "ONELOG_BROKER_PARTITION_COUNT_DEFAULT": "7"}
    found = load(environ=environ).section(BrokerSettings)
    assert (found.auto_create_topics, found.partition_count_default) == (False, 7)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[borker]\n", "did you mean 'broker'?"),
        ("[broker]\nauto_create_topic = true\n", "did you mean 'broker.auto_create_topics'?"),
        ("[broker]\nauto_create_topics = 1\n", "expected true or false"),
        ('[broker]\npartition_count_default = "1"\n', "expected a whole number"),
        ("[server]\nconnections_max = -1\n", "expected at least 1"),
        ("broker = 3\n", "is not a section"),
        ("[broker\n", "expected TOML"),
    ],
)
def test_a_file_that_cannot_be_is_refused_with_place_and_remedy(
    tmp_path: Path, text: str, complaint: str
) -> None:
    file = tmp_path / "onelog.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as refusal:
        load(str(file), environ={})
    assert complaint in str(refusal.value)
    assert str(file) in str(refusal.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"missing\.toml"):
        load(str(tmp_path / "missing.toml"), environ={})


def test_a_slip_in_the_environment_is_refused() -> None:
    with pytest.raises(ConfigError, match="did you mean 'ONELOG_SERVE_DATA'"):
        load(environ={"ONELOG_SERVE_DTA": "x"})


def test_other_variables_are_nobodys_business() -> None:
    load(environ={"ONELOG_KERNELS": "plain", "HOME": "/"})


def test_a_value_of_the_wrong_kind_names_its_variable() -> None:
    with pytest.raises(ConfigError, match="ONELOG_BROKER_PARTITION_COUNT_DEFAULT"):
        load(environ={"ONELOG_BROKER_PARTITION_COUNT_DEFAULT": "many"})


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("broker.auto_create_topic", False, "did you mean 'broker.auto_create_topics'?"),
        ("broker.partition_count_default", "5", "expected a whole number"),
    ],
)
def test_a_slip_of_a_program_is_refused_as_one_of_a_person(name: str, value: object, complaint: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        load(environ={}, flags={name: value})
    assert complaint in str(refusal.value)


def test_a_number_that_is_too_small_is_refused_in_the_environment_too() -> None:
    with pytest.raises(ConfigError, match=r"ONELOG_SERVER_CONNECTIONS_MAX: .* expected at least 1"):
        load(environ={"ONELOG_SERVER_CONNECTIONS_MAX": "0"})
