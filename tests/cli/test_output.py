import io

from onelog.cli.output import Progress, json_line, table
from tests.support.hand_clock import HandClock


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_columns_are_as_wide_as_what_is_in_them() -> None:
    assert table([["a", "12345"], ["bcd", ""]], header=["X", "Y"]) == "X    Y\na    12345\nbcd"


def test_json_is_one_line_and_keeps_letters() -> None:
    assert json_line({"a": "ä\n", "b": None}) == '{"a":"ä\\n","b":null}'


def test_progress_is_silent_in_a_pipe() -> None:
    stream, clock = io.StringIO(), HandClock()
    progress = Progress(stream=stream, clock=clock)
    clock.now_s += 1
    progress.say("half")
    progress.end("done")
    assert stream.getvalue() == ""


def test_progress_is_written_over_a_few_times_a_second() -> None:
    stream, clock = Terminal(), HandClock()
    progress = Progress(stream=stream, clock=clock)
    for count in range(100):
        clock.now_s += 0.01
        progress.say(f"{count} records")
    progress.end("done")
    said = stream.getvalue()
    assert said.count("\r") == 5
    assert said.endswith("\rdone      \n")


def test_progress_without_a_last_word_leaves_no_line_behind() -> None:
    stream, clock = Terminal(), HandClock()
    progress = Progress(stream=stream, clock=clock)
    clock.now_s += 1
    progress.say("12")
    progress.end()
    assert stream.getvalue() == "\r12\r  \r"
    assert progress.elapsed_s() == 1
