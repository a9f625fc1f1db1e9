"""kcat: the oldest librdkafka that is driven here. Topics are made by asking for them."""

from functools import partial

from tests.interop.clients.harness import CODECS, VALUES, Feature, expect, main, ran

LINES = [value.strip() for value in VALUES]
INPUT = b"".join(b"k:%s\n" % line for line in LINES)


def _produce(bootstrap: str, name: str, *options: str) -> None:
    ran("-b", bootstrap, "-P", "-t", name, "-K", ":", "-H", "h=1", *options, stdin=INPUT)


def _read(bootstrap: str, name: str, *options: str) -> list[str]:
    text = ran("-b", bootstrap, "-C", "-t", name, "-e", "-q", "-f", "%h %k %s\n", *options)
    return text.splitlines()


def _round_trip(options: list[str], bootstrap: str, name: str) -> None:
    _produce(bootstrap, name, *options)
    expect(_read(bootstrap, name), [f"h=1 k {line.decode()}" for line in LINES])


def _from_offset(bootstrap: str, name: str) -> None:
    _produce(bootstrap, name)
    expect(len(_read(bootstrap, name, "-o", "42")), 58)


def _committed_reads(bootstrap: str, name: str) -> None:
    _produce(bootstrap, name)
    expect(len(_read(bootstrap, name, "-X", "isolation.level=read_committed")), 100)


def _offset(bootstrap: str, name: str, at: str) -> int:
    return int(ran("-b", bootstrap, "-Q", "-t", f"{name}:0:{at}").split()[-1])


def _ends(bootstrap: str, name: str) -> None:
    _produce(bootstrap, name)
    expect([_offset(bootstrap, name, at) for at in ("-2", "-1")], [0, 100])


def _by_time(bootstrap: str, name: str) -> None:
    _produce(bootstrap, name)
    first = ran("-b", bootstrap, "-C", "-t", name, "-q", "-c", "1", "-f", "%T")
    expect([_offset(bootstrap, name, at) for at in (first, str(int(first) + 10**9))], [0, -1])


def _describe(bootstrap: str, name: str) -> None:
    _produce(bootstrap, name)
    expect(f'topic "{name}" with 1 partitions' in ran("-b", bootstrap, "-L", "-t", name), True)


def _group(assignor: str, bootstrap: str, name: str) -> None:
    _produce(bootstrap, name)
    options = ["-X", "auto.offset.reset=earliest", "-X", f"partition.assignment.strategy={assignor}"]
    text = ran("-b", bootstrap, "-G", name, "-e", "-q", "-f", "%s\n", *options, name)
    expect(text.encode().splitlines(), LINES)


def _resume(bootstrap: str, name: str) -> None:
    _produce(bootstrap, name)
    options = ["-q", "-X", "auto.offset.reset=earliest"]
    ran("-b", bootstrap, "-G", name, "-c", "30", *options, name)
    left = ran("-b", bootstrap, "-G", name, "-e", "-f", "%o\n", *options, name).split()
    expect([left[0], left[-1]], ["30", "99"])


FEATURES: dict[str, Feature] = {
    **{f"produce-{codec}": partial(_round_trip, ["-z", codec]) for codec in CODECS},
    **{f"acks-{acks}": partial(_round_trip, ["-X", f"acks={acks}"]) for acks in ("0", "1", "all")},
    "idempotent": partial(_round_trip, ["-X", "enable.idempotence=true"]),
    "fetch-from": _from_offset,
    "fetch-committed": _committed_reads,
    "offsets-ends": _ends,
    "offsets-time": _by_time,
    "topic-describe": _describe,
    "group-join": partial(_group, "range"),
    "group-cooperative": partial(_group, "cooperative-sticky"),
    "group-resume": _resume,
}

if __name__ == "__main__":
    main(FEATURES)
