"""What the drivers in Python share. A driver tries one feature of its client and ends with

    0   it works        4   this client has no such call        anything else   it does not

`python -m tests.interop.clients.CLIENT FEATURE BOOTSTRAP NAME`: topics and groups that a
feature makes are called NAME, or begin with it. A driver of a program has its command before
FEATURE. The last line on stderr says why it does not
work. A driver imports its client and nothing of ours.
"""

import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

PATIENCE_S = 25.0
NO_SUCH_CALL = 4
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
VALUES = [b"value %d " % number * 20 for number in range(100)]

Feature = Callable[[str, str], None]


def main(features: Mapping[str, Feature]) -> None:
    """Try the feature that the command line names."""
    feature, bootstrap, name = sys.argv[-3:]
    if feature not in features:
        raise SystemExit(NO_SUCH_CALL)
    try:
        features[feature](bootstrap, name)
    except Exception as error:  # whatever a client raises is the red cell's reason
        traceback.print_exc()
        said = str(error).strip().splitlines() or [""]
        print(f"{type(error).__name__}: {said[0]}", file=sys.stderr)
        raise SystemExit(1) from None


def ran(*arguments: str, stdin: bytes = b"") -> str:
    """Run the program that is driven with these arguments; what it printed."""
    command = [*sys.argv[1:-3], *arguments]
    done = subprocess.run(command, input=stdin, capture_output=True, timeout=PATIENCE_S * 3, check=False)
    if done.returncode != 0:
        said = (done.stdout + done.stderr).decode(errors="replace").strip()
        raise AssertionError(f"exit code {done.returncode}: {said[-300:]}")
    return done.stdout.decode()


def expect(found: object, wanted: object) -> None:
    """They are equal, or the cell is red and says so."""
    if found != wanted:
        raise AssertionError(f"found {found!r:.200}, expected {wanted!r:.200}")


@dataclass
class Member:
    """One member of a group under `tests.interop.group_mix`: `NAME` is TOPIC,PROTOCOL,INSTANCE.

    It tells on stdout what it owns and what it processes, one line each, until SIGTERM. The
    generation of a record is that of the last assignment: what counts is who thinks to own it.
    """

    topic: str
    protocol: str
    instance: str
    generation: int = -1
    owned: set[int] = field(default_factory=set)
    stopped: bool = False

    @classmethod
    def named(cls, name: str) -> "Member":
        topic, protocol, instance = name.split(",")
        made = cls(topic, protocol, instance)

        def stop(*_: object) -> None:
            made.stopped = True

        signal.signal(signal.SIGTERM, stop)
        return made

    def assigned(self, generation: int, partitions: Iterable[int]) -> None:
        """Everything that it owns now."""
        self.generation, self.owned = generation, set(partitions)
        print("owns", generation, *sorted(self.owned), flush=True)

    def revoked(self, partitions: Iterable[int]) -> None:
        """Not any more."""
        self.owned -= set(partitions)
        print("owns", self.generation, *sorted(self.owned), flush=True)

    def processed(self, partition: int, offset: int) -> None:
        """One record, before it is committed."""
        print("record", self.generation, partition, offset, flush=True)


def eventually(holds: Callable[[], bool], what: str) -> None:
    """It holds within the patience that a cell has."""
    end = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > end:
            raise AssertionError(f"not within {PATIENCE_S:g} s: {what}")


def shared(owned: Mapping[str, set[int]], partitions: int) -> bool:
    """Each member has some of the partitions, all are owned, and none twice."""
    everything = [partition for part in owned.values() for partition in part]
    return all(owned.values()) and sorted(everything) == list(range(partitions))
