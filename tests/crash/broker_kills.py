"""SIGKILL of the broker, many times, under load from all five dialects at once.

Writers of each dialect write (`writers.py`), readers that remember where they are follow them
(`followers.py`). What was acknowledged has to be there exactly once, what was not at most once;
in the view of every dialect, at the same place with the same bytes. A Kafka group, a FlyMQ
reader and a Fluvio consumer go on where they were.
"""

import argparse
import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic

from tests.crash.followers import Follower, followers
from tests.crash.views import UNTOLD, Record, views
from tests.crash.writers import PARTITIONS, Tally, Writer, writers
from tests.support.served import Served

PORTS = ("shared", "tank", "fluvio-sc", "fluvio-spu", "console")
FIRST_COMMIT_S = 30.0
TOPICS = (
    "kills-kcat",
    "kills-confluent",
    "kills-rustlog-json",
    "kills-rustlog",
    "kills-tank",
    "kills-flymq",
    "kills-fluvio",
)


def main(argv: list[str] | None = None) -> int:
    """Kill, verify, report; 0 when nothing acknowledged is missing, doubled or turned back."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash.broker_kills")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(argv)
    rng = random.Random(args.seed)
    with tempfile.TemporaryDirectory(prefix="onelog-kills-") as folder:
        served = Served(Path(folder) / "data", ports=dict.fromkeys(PORTS, 0)).start()
        try:
            findings = _run(served, kills=args.kills, rng=rng)
        finally:
            if served.process is not None:
                served.kill()
    for line in findings[:40]:
        print(f"FINDING {line}")
    return 1 if findings else 0


def _run(served: Served, *, kills: int, rng: random.Random) -> list[str]:
    _create_topics(served.bootstrap)
    stop = threading.Event()
    writing, following = writers(served), followers(served)
    runs = [writer.run for writer in writing] + [follower.run for follower in following]
    threads = [threading.Thread(target=run, args=(stop,)) for run in runs]
    for thread in threads:
        thread.start()
    end = time.monotonic() + FIRST_COMMIT_S
    while not all(follower.log.is_under_way for follower in following) and time.monotonic() < end:
        threading.Event().wait(0.1)
    for _ in range(kills):
        threading.Event().wait(rng.uniform(0.2, 0.8))
        served.kill()
        served.start()
    threading.Event().wait(2.0)
    stop.set()
    for thread in threads:
        thread.join(timeout=120)
    findings = [f"{threads[at].name} did not end" for at in range(len(threads)) if threads[at].is_alive()]
    findings += [f"{writer.topic}: {writer.trouble}" for writer in writing if writer.trouble]
    for writer in writing:
        findings += _compared(served, writer, kills)
    for follower in following:
        findings += _followed(follower)
    return findings


def _compared(served: Served, writer: Writer, kills: int) -> Iterator[str]:
    """The log of one writer in everybody's view; the first, librdkafka's, is held against what was told."""
    first, *others = [(name, list(view(writer.topic, PARTITIONS))) for name, view in views(served)]
    yield from _judged(writer.topic, writer.tally, first[1])
    for name, found in others:
        is_told = any(offset != UNTOLD for _, offset, _ in found)
        wanted = first[1] if is_told else [(partition, UNTOLD, value) for partition, _, value in first[1]]
        # The order of partitions is not the same for all, that within a partition is.
        if sorted(found, key=_partition) != sorted(wanted, key=_partition):
            odd = sorted(set(found) ^ set(wanted))[:3]
            yield f"{writer.topic}: {name} sees {len(found)} records, {first[0]} {len(wanted)}; {odd}"
    tally = writer.tally
    print(
        f"{writer.topic}: {len(tally.sent)} sent, {len(tally.acknowledged)} acknowledged over {kills} kills; "
        f"{len(first[1])} there, the same in {1 + len(others)} views"
    )


def _partition(record: Record) -> int:
    return record[0]


def _judged(topic: str, tally: Tally, found: Sequence[Record]) -> list[str]:
    counts = Counter(value.decode() for _, _, value in found)
    places = {value.decode(): (partition, offset) for partition, offset, value in found}
    findings = [f"{topic}: {v!r} is there {n} times" for v, n in counts.items() if n > 1]
    findings += [f"{topic}: {v!r} was never sent" for v in counts.keys() - set(tally.sent)]
    for value, place in tally.acknowledged.items():
        if value not in counts:
            findings.append(f"{topic}: {value!r} was acknowledged at {place} and is missing")
        elif place is not None and places[value] != place:
            findings.append(f"{topic}: {value!r} was acknowledged at {place} and stands at {places[value]}")
    return findings


def _followed(follower: Follower) -> list[str]:
    log = follower.log
    print(
        f"{follower.name}: {len(log.seen)} records seen, went on from what it had committed {log.resumed} times"
    )
    findings = [f"{follower.name}: {line}" for line in log.findings]
    if not log.resumed:
        findings.append(f"{follower.name}: it never went on from a position of its own")
    return findings


def _create_topics(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for made in admin.create_topics([NewTopic(t, PARTITIONS, 1) for t in TOPICS]).values():
        made.result(timeout=30)


if __name__ == "__main__":
    raise SystemExit(main())
