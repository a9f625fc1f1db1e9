"""From offsets to work: starts, limits, ranges, and what counts as lost data.

Pure: gets what the log holds as values and returns values. It touches neither the network nor
Spark, and gives the same ranges for the same offsets, so that a batch that is run again after
a crash reads the same records.
"""

from dataclasses import dataclass

from onelog.spark.offsets import EARLIEST, LATEST, Offsets, Place
from onelog.spark.options import Position, Spot


class PlanningError(ValueError):
    """Offsets that do not fit the topics: what was found, what was expected."""


@dataclass(frozen=True)
class Range:
    """Records of one partition, from start to before end."""

    place: Place
    start: int
    end: int


@dataclass(frozen=True)
class Loss:
    """Records that were to be read and are not there any more, or never were."""

    place: Place
    what: str

    def __str__(self) -> str:
        return f"{self.place}: {self.what}"


def resolved(position: Position, *, earliest: Offsets, latest: Offsets, what: str) -> Offsets:
    """A position as offsets: every partition of the log, and none beside."""
    if isinstance(position, Spot):
        return dict(earliest if position is Spot.EARLIEST else latest)
    missing = sorted(set(latest) - set(position))
    unknown = sorted(set(position) - set(latest))
    if missing or unknown:
        raise PlanningError(
            f"{what} has to name every partition that is read, and no other: "
            f"missing {', '.join(map(str, missing)) or 'none'}; unknown {', '.join(map(str, unknown)) or 'none'}."
        )
    spots = {EARLIEST: earliest, LATEST: latest}
    return {place: spots[at][place] if at in spots else at for place, at in position.items()}


def limited(start: Offsets, latest: Offsets, rows_max: int) -> Offsets:
    """How far to go with at most so many rows: each partition gets its share of what waits.

    A share below one row counts as one, or a partition with little beside one with much
    would never be read.
    """
    waiting = {p: max(0, end - start.get(p, 0)) for p, end in latest.items()}
    total = sum(waiting.values())
    if total <= rows_max:
        return {p: max(end, start.get(p, 0)) for p, end in latest.items()}
    ends: Offsets = {}
    for place, rows in waiting.items():
        share = rows_max * rows // total
        ends[place] = start.get(place, 0) + min(rows, max(share, 1 if rows else 0))
    return ends


def ends(begun: Offsets, latest: Offsets, rows_max: int | None) -> Offsets:
    """Where the next batch ends. Offsets do not go back while the log is the same one.

    A log that ends before what was read was made anew (whether that may be is judged elsewhere):
    this batch reads nothing of it, and the next one begins at its first record.
    """
    wanted = latest if rows_max is None else limited(begun, latest, rows_max)
    found = {place: max(at, begun.get(place, 0)) for place, at in {**begun, **wanted}.items()}
    anew = [place for place in begun if latest.get(place, begun[place]) < begun[place]]
    return {**found, **dict.fromkeys(anew, 0)}


def ranges(start: Offsets, end: Offsets) -> list[Range]:
    """What to read between two offsets, in the order of partitions; empty ones are left out.

    A partition that only the end has is new: it is read from its first record on.
    """
    return [
        Range(place, start.get(place, 0), end[place])
        for place in sorted(end)
        if end[place] > start.get(place, 0)
    ]


def losses(start: Offsets, *, earliest: Offsets, latest: Offsets) -> list[Loss]:
    """What of a wanted start the log does not have."""
    found: list[Loss] = []
    for place, offset in sorted(start.items()):
        if place not in latest:
            found.append(Loss(place, "the partition is gone; the topic was deleted or made anew"))
        elif offset > latest[place]:
            found.append(Loss(place, _ahead(offset, latest[place])))
        elif offset < earliest[place]:
            found.append(Loss(place, _aged(offset, earliest[place])))
    return found


def survived(start: Offsets, *, earliest: Offsets, latest: Offsets) -> Offsets:
    """The start that is left when losses are to be borne."""
    return {
        place: min(max(offset, earliest[place]), latest[place])
        for place, offset in start.items()
        if place in latest
    }


def refusal(found: list[Loss]) -> str:
    """What is said when data was lost and that is not to be borne."""
    return (
        "data was lost: " + "; ".join(map(str, found)) + ". The rows cannot be read. "
        "Set failOnDataLoss to false to go on with what is there."
    )


def _aged(offset: int, earliest: int) -> str:
    return f"offset {offset} is wanted; the log begins at {earliest} (retention or deletion)"


def _ahead(offset: int, latest: int) -> str:
    return f"offset {offset} is wanted; the log ends at {latest} (the topic was made anew)"
