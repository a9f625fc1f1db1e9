from pathlib import Path

import pytest

from onelog.cli.main import main

FILE = '[[flow]]\nname = "orders"\ntopics = ["orders"]\nsink = { delta = "t" }\n'


def test_a_file_that_is_wrong_is_one_line_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "pipeline.toml"
    path.write_text(FILE.replace("topics", "topic"))
    assert main(["pipeline", "run", str(path)]) == 1
    assert (
        capsys.readouterr().err
        == f"onelog: {path}: flow 'orders': unknown key 'topic'; did you mean 'topics'?\n"
    )


def test_a_flow_that_is_not_in_the_file_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "pipeline.toml"
    path.write_text(FILE)
    assert main(["pipeline", "run", str(path), "--flow", "order"]) == 1
    assert "--flow order: there is no such flow; known are orders." in capsys.readouterr().err


def test_wrong_usage_is_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline"]) == 2
    assert main(["pipeline", "run", "x", "--bootstrap", "nowhere"]) == 2
    capsys.readouterr()
