import json
from pathlib import Path

import pytest

from onelog.cli.main import main
from onelog.config import load


def test_every_setting_is_shown_with_where_it_came_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "onelog.toml"
    file.write_text("[broker]\npartition_count_default = 3\n", encoding="utf-8")
    monkeypatch.setenv("ONELOG_SERVE_DATA", "elsewhere")
    assert main(["config", "--config", str(file), "--json"]) == 0
    shown = {v["setting"]: v for v in map(json.loads, capsys.readouterr().out.splitlines())}
    assert sorted(shown) == sorted(v.name for v in load(environ={}).values)
    assert (
        shown["broker.partition_count_default"]["value"],
        shown["broker.partition_count_default"]["from"],
    ) == (
        3,
        str(file),
    )
    assert shown["serve.data"]["from"] == "ONELOG_SERVE_DATA"
    assert shown["broker.note_bytes_max"]["unit"] == "bytes"


def test_people_get_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config"]) == 0
    assert capsys.readouterr().out.splitlines()[0].split()[:3] == ["setting", "value", "default"]


def test_a_wrong_file_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "--config", str(tmp_path / "none.toml")]) == 1
    assert capsys.readouterr().err.count("\n") == 1
