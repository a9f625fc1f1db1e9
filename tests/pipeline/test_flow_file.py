from pathlib import Path

import pytest

from onelog.pipeline.errors import FlowError
from onelog.pipeline.flow import DeltaSink, Expect, Mode, Otherwise, Start, Watermark
from onelog.pipeline.flow_file import load

WHOLE = """
bootstrap = "10.0.0.1:9092"
trigger = "5 seconds"

[spark]
master = "local[2]"
conf = { "spark.driver.memory" = "2g" }

[[flow]]
name   = "orders"
topics = ["orders"]
schema = "id bigint, customer string, cents bigint, at timestamp"
malformed = "drop"
expect = [{ rule = "cents >= 0", else = "fail" }]
steps  = ["select * from input", { python = "steps.py:doubled" }]
watermark = { column = "at", delay = "10 minutes" }
sink   = { delta = "tables/orders", mode = "upsert", key = ["id"] }
start  = "latest"
records_per_batch_max = 1000
checkpoint = "checkpoints/orders"
"""

LEAST = """
[[flow]]
name = "orders"
topics = ["orders"]
sink = { delta = "t" }
"""


def written(folder: Path, text: str) -> str:
    (folder / "steps.py").write_text("def doubled(df):\n    return df.union(df)\n")
    (folder / "empty.py").touch()
    path = folder / "pipeline.toml"
    path.write_text(text)
    return str(path)


def test_a_whole_file_says_what_python_would(tmp_path: Path) -> None:
    pipeline = load(written(tmp_path, WHOLE))
    assert (pipeline.bootstrap, pipeline.trigger, pipeline.master) == (
        "10.0.0.1:9092",
        "5 seconds",
        "local[2]",
    )
    assert pipeline.conf == {"spark.driver.memory": "2g"}
    (flow,) = pipeline.flows
    assert flow.malformed is Otherwise.DROP
    assert flow.expect == (Expect("cents >= 0", Otherwise.FAIL),)
    assert flow.watermark == Watermark("at", "10 minutes")
    assert flow.sink == DeltaSink("tables/orders", Mode.UPSERT, ("id",))
    assert flow.start is Start.LATEST
    assert flow.records_per_batch_max == 1000
    assert flow.checkpoint_path == "checkpoints/orders"
    assert flow.steps[0] == "select * from input"
    assert getattr(flow.steps[1], "__name__", None) == "doubled"


def test_little_is_needed_for_a_landing(tmp_path: Path) -> None:
    pipeline = load(written(tmp_path, LEAST))
    assert pipeline.bootstrap == "127.0.0.1:9092"
    assert pipeline.flows[0].is_landing


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("topics =", "topic ="), "flow 'orders': unknown key 'topic'; did you mean 'topics'"),
        (("[[flow]]", "[[flows]]"), "unknown key 'flows'; did you mean 'flow'"),
        (('{ delta = "t" }', '{ path = "t" }'), "sink: unknown key 'path'; known are delta, mode, key"),
        (('{ delta = "t" }', '{ delta = "t", mode = "upser" }'), "mode = 'upser'; did you mean 'upsert'"),
        (('"orders"\ntopics', "3\ntopics"), "name = 3; expected a text"),
        (('["orders"]', '"orders"'), "topics = 'orders'; expected a list"),
        (('["orders"]', "[1]"), "topics holds 1; expected a list of texts"),
        (('sink = { delta = "t" }', ""), "sink is missing; expected sink = "),
        (('sink = { delta = "t" }', 'sink = "t"'), "sink = 't'; expected a table"),
        (('name = "orders"', 'name = "a b"'), "flow 'a b': expected a name"),
        (("[[flow]]", "= nonsense"), "expected TOML"),
        (("[[flow]]", 'trigger = "1 secnd"\n[[flow]]'), "trigger = '1 secnd'; expected a span of time like"),
        (
            ('{ delta = "t" }', '{ delta = "t" }\nwatermark = { column = "at", delay = "soon" }'),
            "watermark: delay = 'soon'; expected a span of time",
        ),
    ],
)
def test_a_slip_is_told_with_file_place_and_remedy(
    tmp_path: Path, change: tuple[str, str], told: str
) -> None:
    path = written(tmp_path, LEAST.replace(*change))
    with pytest.raises(FlowError) as refusal:
        load(path)
    assert str(refusal.value).startswith(path)
    assert told in str(refusal.value)


@pytest.mark.parametrize(
    ("step", "told"),
    [
        ('{ python = "steps.py:double" }', "has no function 'double'; did you mean 'doubled'"),
        ('{ python = "other.py:f" }', "other.py is not there"),
        ('{ python = "steps" }', 'expected "file.py:function"'),
        ("7", "steps: found 7; expected a table with python"),
        ('{ python = "empty.py:f" }', "has no function 'f'; there is none at all"),
    ],
)
def test_a_step_that_is_not_there_is_told(tmp_path: Path, step: str, told: str) -> None:
    with pytest.raises(FlowError, match=told):
        load(written(tmp_path, LEAST + f"steps = [{step}]\n"))


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(FlowError, match=r"none\.toml: No such file"):
        load(str(tmp_path / "none.toml"))
