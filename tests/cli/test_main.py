import argparse
import subprocess
import sys
from types import ModuleType

import pytest

from onelog.cli import main
from onelog.cli.output import CommandFailed
from onelog.client.errors import ClientError
from onelog.errors import UnknownTopic


def install(monkeypatch: pytest.MonkeyPatch, run: object) -> None:
    """A command `sing` whose module is made here."""
    module = ModuleType("tests_sing")

    def add(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--loud", action="store_true")

    module.add = add  # type: ignore[attr-defined]  # a module made by hand
    module.run = run  # type: ignore[attr-defined]  # a module made by hand
    monkeypatch.setitem(sys.modules, "tests_sing", module)
    monkeypatch.setattr(
        main, "COMMANDS", {**main.COMMANDS, "sing": main.Command("tests_sing", "sing a song")}
    )


def raising(error: BaseException) -> object:
    def run(args: argparse.Namespace) -> int:
        raise error

    return run


def test_help_lists_every_command_and_imports_none(capsys: pytest.CaptureFixture[str]) -> None:
    code = (
        "import sys; from onelog.cli.main import main, COMMANDS; code = main(['--help']);"
        "assert not [c.module for c in COMMANDS.values() if c.module in sys.modules]; sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for name, command in main.COMMANDS.items():
        assert f"  {name} " in done.stdout
        assert command.help in done.stdout


def test_version_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("onelog ")


@pytest.mark.parametrize("words", [[], ["topicz"], ["--nonsense"], ["sing", "--quiet"], ["sing", "a"]])
def test_wrong_usage_ends_with_2_and_a_word_on_stderr(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(monkeypatch, lambda args: 0)
    assert main.main(words) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "onelog" in said.err


def test_a_slip_of_the_pen_gets_the_nearest_command(capsys: pytest.CaptureFixture[str]) -> None:
    main.main(["topicz"])
    assert "did you mean 'topics'?" in capsys.readouterr().err


def test_the_arguments_reach_the_command_and_its_code_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, lambda args: 7 if args.loud else 0)
    assert main.main(["sing"]) == 0
    assert main.main(["sing", "--loud"]) == 7


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            UnknownTopic(topic="x"),
            "onelog: topic 'x' does not exist. Create it, or look at `onelog topics list`.\n",
        ),
        (ClientError("no broker\nanswers."), "onelog: no broker answers.\n"),
        (CommandFailed("orders: no."), "onelog: orders: no.\n"),
        (
            FileNotFoundError(2, "No such file or directory", "f.txt"),
            "onelog: f.txt: No such file or directory.\n",
        ),
    ],
)
def test_an_error_is_one_line_on_stderr_and_1(
    error: Exception, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(monkeypatch, raising(error))
    assert main.main(["sing"]) == 1
    assert capsys.readouterr() == ("", said)


def test_ctrl_c_is_130_without_a_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(monkeypatch, raising(KeyboardInterrupt()))
    assert main.main(["sing"]) == 130
    assert capsys.readouterr() == ("", "")


def test_a_reader_that_has_gone_is_met_in_silence() -> None:
    code = (
        "import sys, types; from onelog.cli import main; m = types.ModuleType('sing');"
        "m.add = lambda p: None; m.run = lambda a: [print('x' * 1000) for _ in range(1000)] and 0;"
        "sys.modules['sing'] = m; main.COMMANDS['sing'] = main.Command('sing', 'sing');"
        "sys.exit(main.main(['sing']))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as singer:
        assert singer.stdout is not None
        assert singer.stderr is not None
        singer.stdout.read(10)
        singer.stdout.close()
        assert singer.wait(30) == 141
        assert singer.stderr.read() == b""


def test_every_command_tells_its_arguments_where_spark_is_not_installed() -> None:
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['pyspark', 'pyarrow', 'deltalake', 'duckdb']));"
        "from onelog.cli.main import COMMANDS, parser_of; [parser_of(name) for name in COMMANDS]"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
