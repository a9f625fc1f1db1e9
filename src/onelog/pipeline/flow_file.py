"""A pipeline from its TOML file. Every refusal names the file, the place, what was found and expected.

Unknown keys are refused with the nearest known one, so that a slip of the pen is not a silent
default. A table's path is relative to where the command runs, a step's Python file to the
pipeline's own file, because that is where each of them lives.
"""

import dataclasses
import difflib
import importlib.util
import sys
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

from onelog.pipeline.errors import FlowError
from onelog.pipeline.flow import (
    BOOTSTRAP,
    MASTER,
    RECORDS_PER_BATCH_MAX,
    TRIGGER,
    DeltaSink,
    Expect,
    Flow,
    Mode,
    Otherwise,
    Pipeline,
    Start,
    Step,
    Watermark,
)

E = TypeVar("E", bound=Enum)

_KINDS = {str: "a text", int: "a whole number", list: "a list", dict: "a table"}


class _Table:
    """One table of the file while it is read. Owned by the function that reads it."""

    def __init__(self, where: str, found: Any, known: Collection[str]) -> None:
        if not isinstance(found, dict):
            raise FlowError(f"{where}: found {found!r}; expected a table with {', '.join(known)}")
        for key in found:
            if key not in known:
                raise FlowError(f"{where}: unknown key {key!r}{_nearest(key, known)}")
        self.where = where
        self.found = found

    def get(self, key: str, kind: type[Any], default: Any) -> Any:
        if key not in self.found:
            return default
        value = self.found[key]
        if type(value) is not kind:
            raise FlowError(f"{self.where}: {key} = {value!r}; expected {_KINDS[kind]}.")
        return value

    def need(self, key: str, kind: type[Any], example: str) -> Any:
        if key not in self.found:
            raise FlowError(f"{self.where}: {key} is missing; expected {key} = {example}.")
        return self.get(key, kind, None)

    def texts(self, key: str) -> tuple[str, ...]:
        values = self.get(key, list, [])
        for value in values:
            if not isinstance(value, str):
                raise FlowError(f"{self.where}: {key} holds {value!r}; expected a list of texts.")
        return tuple(values)

    def choice(self, key: str, kind: type[E], default: E) -> E:
        value = self.get(key, str, default.value)
        names = [member.value for member in kind]
        if value not in names:
            raise FlowError(f"{self.where}: {key} = {value!r}{_nearest(value, names)}")
        return kind(value)


def load(path: str) -> Pipeline:
    """Read a pipeline's file."""
    try:
        found = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise FlowError(f"{path}: {error.strerror}; expected the pipeline's TOML file.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FlowError(f"{path}: {error}; expected TOML.") from error
    return parse(found, where=path, folder=Path(path).parent)


def parse(found: Mapping[str, Any], *, where: str, folder: Path) -> Pipeline:
    """A pipeline from what a TOML file holds."""
    table = _Table(where, found, ("bootstrap", "trigger", "spark", "flow"))
    spark = _Table(f"{where}: [spark]", table.get("spark", dict, {}), ("master", "conf"))
    conf = spark.get("conf", dict, {})
    for key, value in conf.items():
        if not isinstance(value, str):
            raise FlowError(f"{where}: [spark] conf {key!r} = {value!r}; expected a text, in quotes.")
    flows = table.need("flow", list, "[[flow]] tables")
    with _placed(where):
        return Pipeline(
            flows=tuple(_flow(where, number, flow, folder) for number, flow in enumerate(flows, 1)),
            bootstrap=table.get("bootstrap", str, BOOTSTRAP),
            trigger=table.get("trigger", str, TRIGGER),
            master=spark.get("master", str, MASTER),
            conf=conf,
        )


@contextmanager
def _placed(where: str) -> Iterator[None]:
    """What a value refuses by itself, with the file in front; what already names it stays as it is."""
    try:
        yield
    except FlowError as error:
        text = str(error)
        raise FlowError(text if text.startswith(where) else f"{where}: {text}") from None


def _flow(where: str, number: int, found: Any, folder: Path) -> Flow:
    known = [field.name for field in dataclasses.fields(Flow)]
    name = found.get("name") if isinstance(found, dict) else None
    table = _Table(f"{where}: flow {name!r}" if name else f"{where}: flow {number}", found, known)
    with _placed(where):
        return Flow(
            name=table.need("name", str, '"orders"'),
            topics=table.texts("topics"),
            schema=table.get("schema", str, None),
            malformed=table.choice("malformed", Otherwise, Otherwise.DEAD_LETTER),
            expect=tuple(_expect(table.where, entry) for entry in table.get("expect", list, [])),
            steps=tuple(_step(table.where, entry, folder) for entry in table.get("steps", list, [])),
            watermark=_watermark(table),
            sink=_sink(table),
            start=table.choice("start", Start, Start.EARLIEST),
            records_per_batch_max=table.get("records_per_batch_max", int, RECORDS_PER_BATCH_MAX),
            checkpoint=table.get("checkpoint", str, None),
        )


def _expect(where: str, found: Any) -> Expect:
    table = _Table(f"{where}: expect", found, ("rule", "else"))
    return Expect(
        rule=table.need("rule", str, '"cents >= 0"'),
        otherwise=table.choice("else", Otherwise, Otherwise.DEAD_LETTER),
    )


def _watermark(flow: _Table) -> Watermark | None:
    if "watermark" not in flow.found:
        return None
    table = _Table(f"{flow.where}: watermark", flow.found["watermark"], ("column", "delay"))
    return Watermark(column=table.need("column", str, '"at"'), delay=table.need("delay", str, '"10 minutes"'))


def _sink(flow: _Table) -> DeltaSink:
    found = flow.need("sink", dict, '{ delta = "tables/orders" }')
    table = _Table(f"{flow.where}: sink", found, ("delta", "mode", "key"))
    return DeltaSink(
        path=table.need("delta", str, '"tables/orders"'),
        mode=table.choice("mode", Mode, Mode.APPEND),
        key=table.texts("key"),
    )


def _step(where: str, found: Any, folder: Path) -> Step:
    if isinstance(found, str):
        return found
    table = _Table(f"{where}: steps", found, ("python",))
    said = table.need("python", str, '"steps.py:function"')
    file, colon, function = said.rpartition(":")
    if not colon or not file.endswith(".py"):
        raise FlowError(f'{table.where}: python = {said!r}; expected "file.py:function".')
    return python_step(folder / file, function, where=table.where)


def python_step(file: Path, function: str, *, where: str) -> Callable[[Any], Any]:
    """The function of a file, loaded as a module of its own that travels to executors by value."""
    spec = importlib.util.spec_from_file_location(f"_onelog_step_{file.stem}", file)
    if spec is None or spec.loader is None or not file.exists():
        raise FlowError(f"{where}: {file} is not there; expected a Python file beside the pipeline's.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    step = getattr(module, function, None)
    if not callable(step):
        names = [name for name in vars(module) if not name.startswith("_")]
        raise FlowError(f"{where}: {file} has no function {function!r}{_nearest(function, names)}")
    return step  # type: ignore[no-any-return]  # callable() says no more than that


def _nearest(found: str, known: Collection[str]) -> str:
    close = difflib.get_close_matches(found, known, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; known are {', '.join(known)}." if known else "; there is none at all."
