"""Exchanges captured from TANK's own broker: read, written again, and asked of ours."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from onelog.protocols.tank.framing import HEADER_BYTES, Kind, read_header
from onelog.protocols.tank.messages.bundle import bundles, decode_bundle, encode_bundle, unpacked
from onelog.protocols.tank.messages.fetch import FetchedPartition, FetchResponse, Outcome
from onelog.protocols.tank.messages.forms import REQUESTS, RESPONSES, framed
from onelog.protocols.tank.messages.produce import ProduceResponse
from tests.support.tank_peer import TankHouse

GOLDEN = Path(__file__).parents[2] / "golden" / "tank"
NAMES = sorted(path.stem for path in GOLDEN.glob("*.toml"))
PLAIN = [name for name in NAMES if name[0].isdigit() and name != "01_ping"]
TALKS = [name for name in NAMES if name.startswith("prog_") and name >= "prog_04"]

# What must differ, and why: docs/protocols/tank.md has the same table.
DIFFERENT = {
    "16_fetch_size_1": "theirs begins at an index entry and gives two bundles; ours gives the one asked for",
    "25_status": "counts and times are those of the broker",
    "prog_15_1_get_d_0_2": "theirs tells a wrong last number behind a sparse bundle",
    "prog_17_0_reload_config": "theirs wants a file; ours has nothing left to read, and says so",
    "prog_33_java_tool_report": "it waits; at the end ours says the first number, theirs 0",
}


def hexed(name: str, side: str) -> bytes:
    return bytes.fromhex((GOLDEN / f"{name}.{side}.hex").read_text())


def values(name: str) -> dict[str, Any]:
    return tomllib.loads((GOLDEN / f"{name}.toml").read_text())


def frames(data: bytes) -> Iterator[tuple[int, memoryview]]:
    while data:
        kind, size = read_header(data)
        yield kind, memoryview(data)[HEADER_BYTES : HEADER_BYTES + size]
        data = data[HEADER_BYTES + size :]


@pytest.mark.parametrize("name", NAMES)
def test_a_captured_request_is_read_and_written_as_it_was(name: str) -> None:
    data = hexed(name, "req")
    messages = [REQUESTS[kind](payload) for kind, payload in frames(data)]
    assert b"".join(bytes(part) for message in messages for part in framed(message)) == data


@pytest.mark.parametrize("name", [name for name in NAMES if name != "01_ping"])
def test_a_captured_answer_is_read_and_written_as_it_was(name: str) -> None:
    data = hexed(name, "rsp")
    [(kind, payload)] = frames(data)
    message = RESPONSES[kind](payload)
    assert b"".join(map(bytes, framed(message))) == data


@pytest.mark.parametrize("name", PLAIN)
def test_a_captured_answer_has_the_values_that_were_noted(name: str) -> None:
    noted = values(name)["response"]
    [(kind, payload)] = frames(hexed(name, "rsp"))
    assert (kind, len(payload)) == (noted["id"], noted["length"])
    message = RESPONSES[kind](payload)
    assert message.request_id == noted.get("request", message.request_id)
    if isinstance(message, ProduceResponse):
        assert message.codes == bytes.fromhex(noted["codes"])
    elif isinstance(message, FetchResponse):
        assert "; ".join(shown(message)) == noted["entries"]
        assert "; ".join(weighed(message)) == noted.get("chunks", "")
    else:
        assert payload == bytes.fromhex(noted["payload"])


def test_the_ping_is_the_one_that_was_captured() -> None:
    assert hexed("01_ping", "rsp") == bytes([Kind.PING, 0, 0, 0, 0])


@pytest.mark.parametrize("name", NAMES)
def test_captured_bundles_are_written_again_as_they_were(name: str) -> None:
    for kind, payload in frames(hexed(name, "rsp")):
        if kind == Kind.FETCH:
            for entry in entries(RESPONSES[kind](payload)):
                at = entry.base
                for bundle in bundles(entry.chunk):
                    head = decode_bundle(bundle, where=name).head
                    found = unpacked(bytes(_prefixed(bundle)), base=at, where=name)
                    at = found[-1][0] + 1
                    numbered = [(sequence - 1, record) for sequence, record in found]
                    assert encode_bundle(numbered, is_sparse=head.is_sparse) == bundle


@pytest.mark.parametrize("names", [PLAIN, TALKS], ids=["requests", "programs"])
def test_a_captured_talk_gets_the_captured_answers(house: TankHouse, names: list[str]) -> None:
    """Each begins with the creation of its topic."""
    peer = house.tank()
    answers = {}
    for name in names:
        [answers[name]] = peer.begin(hexed(name, "req"))
        if name == "prog_33_java_tool_report":
            house.advance(5000)
        if name != "prog_27_0_benchmark_p2c_c_3_1":  # which waits for what the next one writes
            answers[name].frame()
    found = {name: answer.frame().hex() for name, answer in answers.items()}
    expected = {name: hexed(name, "rsp").hex() for name in names}
    assert {name for name in names if found[name] != expected[name]} == DIFFERENT.keys() & set(names)


def entries(response: FetchResponse) -> Iterator[FetchedPartition]:
    for topic in response.topics:
        yield from topic.partitions or ()


def shown(response: FetchResponse) -> Iterator[str]:
    """The entries as they were noted."""
    for topic in response.topics:
        name = topic.name.decode()
        if topic.partitions is None:
            yield f"{name}: unknown topic, n={topic.partition_count}"
        for entry in topic.partitions or ():
            if entry.outcome is Outcome.UNKNOWN_PARTITION:
                yield f"{name}/{entry.partition}: e=ff"
                continue
            base = None if entry.outcome is Outcome.FETCHED_SPARSE else entry.base
            line = f"e={entry.outcome:02x} base={base} hwm={entry.last} chunk={len(entry.chunk)}"
            is_out = entry.outcome is Outcome.OUT_OF_RANGE
            more = f" first_available={entry.first_available}" if is_out else ""
            yield f"{name}/{entry.partition}: {line}{more}"


def weighed(response: FetchResponse) -> Iterator[str]:
    """What is in the chunks, as it was noted."""
    for entry in entries(response):
        if entry.chunk:
            found = list(bundles(entry.chunk))
            count = sum(len(decode_bundle(bundle, where="golden").records) for bundle in found)
            yield f"{len(found)} bundles {count} messages"


def _prefixed(bundle: memoryview) -> bytearray:
    out = bytearray()
    length = len(bundle)
    while length > 127:
        out.append(length & 127 | 128)
        length >>= 7
    out.append(length)
    return out + bundle


def test_every_difference_is_on_the_page() -> None:
    page = (GOLDEN.parents[2] / "docs" / "protocols" / "tank.md").read_text()
    assert set(re.findall(r"^\| `((?:\d\d|prog)_\w+)` \|", page, re.MULTILINE)) == set(DIFFERENT)
