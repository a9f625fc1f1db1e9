"""Records of every shape, and what becomes of their bytes when something goes wrong."""

from hypothesis import strategies as st

from onelog.records import packing
from onelog.records.record import Header, Record

INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
TIMES = st.one_of(INT64, st.integers(0, 2_000_000_000_000))
BYTES = st.one_of(st.none(), st.binary(max_size=80), st.binary(min_size=120, max_size=140))
# No lone surrogates: they have no UTF-8.
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
HEADERS = st.lists(st.builds(Header, NAMES, BYTES), max_size=3).map(tuple)
RECORDS = st.builds(Record, BYTES, BYTES, TIMES, HEADERS)
BATCHES = st.lists(RECORDS, min_size=1, max_size=8)


@st.composite
def offset_deltas(draw: st.DrawFn, count: int) -> list[int]:
    """Where so many records stand, with gaps."""
    steps = draw(st.lists(st.integers(1, 200_000_000), min_size=count, max_size=count))
    total, deltas = -1, []
    for step in steps:
        total += step
        deltas.append(total)
    return deltas


@st.composite
def broken_bytes(draw: st.DrawFn) -> tuple[bytes, int]:
    """(bytes, count) that are nearly, or not at all, so many records."""
    if draw(st.booleans()):
        return draw(st.binary(max_size=60)), draw(st.integers(0, 9))
    records = draw(BATCHES)
    data = packing.pack(records, draw(TIMES), None)
    count = max(0, len(records) + draw(st.sampled_from([0, 0, 0, 1, -1])))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(data)))
        match draw(st.sampled_from(["set", "cut", "insert", "drop"])):
            case "set" if at < len(data):
                data[at] = draw(st.integers(0, 255))
            case "cut":
                del data[at:]
            case "insert":
                data[at:at] = draw(st.binary(min_size=1, max_size=3))
            case _:
                del data[at : at + 1]
    return bytes(data), count
