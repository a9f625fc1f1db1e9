"""The cross matrix is whole, and the page says what the run found."""

import pytest

from tests.conformance.driver import Expression, Kind, Message, Read
from tests.conformance.drivers import rustlog, tank
from tests.conformance.matrix import BEGIN, END, PAGE, Row, placed, run, table


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return run()


def test_what_each_dialect_wrote_every_other_reads_before_and_after_a_restart(rows: list[Row]) -> None:
    assert not [(row.topic, row.whole) for row in rows if not row.is_whole()]


def test_the_page_says_what_the_run_found(rows: list[Row]) -> None:
    """Run `python -m tests.conformance.matrix --write` when it does not."""
    page = PAGE.read_text(encoding="utf-8")
    assert placed(page, table(rows)) == page


class Echo:
    """A reader of fixed messages."""

    def __init__(self, *messages: Message) -> None:
        self._found = [Read(m) for m in messages]

    def read(self, topic: str, offset: int = 0, *, partition: int = 0) -> list[Read]:
        return self._found


WRITTEN = [Message(b"a", b"k"), Message(b"b")]


@pytest.mark.parametrize(
    ("reader", "seen", "cell"),
    [
        (tank.KIND, WRITTEN, "2"),
        (rustlog.JSON, [Message(b"a"), Message(b"b")], "2, 1 in part"),
        (rustlog.JSON, WRITTEN, "**1, then 1, of 2**"),
        (tank.KIND, WRITTEN[:1], "**1, then 1, of 2**"),
        (tank.KIND, [*WRITTEN, Message(b"c")], "**-1, then -1, of 2**"),
    ],
)
def test_a_cell_counts_what_came_as_it_should(reader: Kind, seen: list[Message], cell: str) -> None:
    row = Row(tank.KIND, "none", WRITTEN)
    row.judge(reader, Echo(*seen))
    row.judge(reader, Echo(*seen))
    assert row.cell(reader) == cell
    assert row.is_whole() == ("**" not in cell)


def test_a_record_lost_by_the_restart_is_not_whole() -> None:
    row = Row(tank.KIND, "none", WRITTEN)
    row.judge(tank.KIND, Echo(*WRITTEN))
    row.judge(tank.KIND, Echo())
    assert row.cell(tank.KIND) == "**2, then 0, of 2**"
    assert not row.is_whole()


def test_a_section_replaces_the_one_that_stands_there() -> None:
    new = f"{BEGIN}new{END}"
    assert placed(f"# Page\n\n{BEGIN}old{END}\n\nmore\n", new) == f"# Page\n\n{new}\n\nmore\n"
    assert placed("# Page\n", new) == f"# Page\n\n{new}\n"


def test_what_an_expression_cannot_say_is_left_away() -> None:
    said = Message(None, b"K" * 256, (("h", b""),))
    assert Expression().of(said) == said
    assert tank.KIND.expression.of(said) == Message(b"")
    assert Expression(empty_keys=False).of(Message(b"v", b"")) == Message(b"v")
    assert not Expression(nothing_at_all=False).holds(Message(None))
