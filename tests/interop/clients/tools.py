"""Kafka's own command line tools, each in a JVM of its own, as its shell scripts start them."""

from functools import partial

from tests.interop.clients.harness import CODECS, VALUES, Feature, eventually, expect, main, ran

LINES = [value.strip() for value in VALUES]
CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
TOPICS = "org.apache.kafka.tools.TopicCommand"
CONFIGS = "kafka.admin.ConfigCommand"
GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
OFFSETS = "org.apache.kafka.tools.GetOffsetShell"


def _at(tool: str, bootstrap: str, *arguments: str, stdin: bytes = b"") -> str:
    return ran(tool, "--bootstrap-server", bootstrap, *arguments, stdin=stdin)


def _create(bootstrap: str, name: str, partitions: int = 1, *more: str) -> None:
    _at(TOPICS, bootstrap, "--create", "--topic", name, "--partitions", str(partitions), *more)


def _produce(bootstrap: str, name: str, *options: str) -> None:
    _at(PRODUCER, bootstrap, "--topic", name, *options, stdin=b"\n".join(LINES) + b"\n")


def _read(bootstrap: str, name: str, count: int, *options: str) -> list[bytes]:
    wanted = ["--topic", name, "--max-messages", str(count), "--timeout-ms", "20000", *options]
    return _at(CONSUMER, bootstrap, *wanted).encode().splitlines()


def _round_trip(options: list[str], bootstrap: str, name: str) -> None:
    _create(bootstrap, name)
    _produce(bootstrap, name, *options)
    expect(_read(bootstrap, name, 100, "--from-beginning"), LINES)


def _from_offset(bootstrap: str, name: str) -> None:
    _create(bootstrap, name)
    _produce(bootstrap, name)
    expect(_read(bootstrap, name, 1, "--partition", "0", "--offset", "42"), LINES[42:43])


def _committed_reads(bootstrap: str, name: str) -> None:
    _create(bootstrap, name)
    _produce(bootstrap, name)
    expect(len(_read(bootstrap, name, 100, "--from-beginning", "--isolation-level", "read_committed")), 100)


def _offset(bootstrap: str, name: str, at: str) -> list[str]:
    return _at(OFFSETS, bootstrap, "--topic", name, "--time", at).split()


def _ends(bootstrap: str, name: str) -> None:
    _create(bootstrap, name)
    _produce(bootstrap, name)
    found = [_offset(bootstrap, name, at) for at in ("earliest", "latest")]
    expect(found, [[f"{name}:0:0"], [f"{name}:0:100"]])


def _by_time(bootstrap: str, name: str) -> None:
    _create(bootstrap, name)
    _produce(bootstrap, name)
    expect(_offset(bootstrap, name, "1"), [f"{name}:0:0"])


def _max_time(bootstrap: str, name: str) -> None:
    _create(bootstrap, name)
    _produce(bootstrap, name)
    (found,) = _offset(bootstrap, name, "max-timestamp")
    expect(0 <= int(found.split(":")[-1]) < 100, True)


def _delete(bootstrap: str, name: str) -> None:
    _create(bootstrap, name)
    _at(TOPICS, bootstrap, "--delete", "--topic", name)
    eventually(lambda: name not in _at(TOPICS, bootstrap, "--list").split(), "the topic is gone")


def _describe(bootstrap: str, name: str) -> None:
    _create(bootstrap, name, 3)
    found = _at(TOPICS, bootstrap, "--describe", "--topic", name)
    expect([found.count("Leader: "), found.count("Isr: "), "PartitionCount: 3" in found], [3, 3, True])


def _grow(bootstrap: str, name: str) -> None:
    _create(bootstrap, name, 2)
    _at(TOPICS, bootstrap, "--alter", "--topic", name, "--partitions", "5")
    expect("PartitionCount: 5" in _at(TOPICS, bootstrap, "--describe", "--topic", name), True)


def _settings(bootstrap: str, name: str, *options: str) -> str:
    wanted = ["--describe", "--entity-type", "topics", "--entity-name", name, *options]
    return _at(CONFIGS, bootstrap, *wanted)


def _configs(bootstrap: str, name: str) -> None:
    _create(bootstrap, name, 1, "--config", "retention.ms=7200000")
    found = _settings(bootstrap, name, "--all")
    expect(["retention.ms=7200000" in found, "cleanup.policy=delete" in found], [True, True])


def _broker_configs(bootstrap: str, name: str) -> None:
    found = _at(CONFIGS, bootstrap, "--describe", "--entity-type", "brokers", "--all")
    expect("message.max.bytes=" in found, True)


def _alter(bootstrap: str, name: str) -> None:
    _create(bootstrap, name)
    resource = ["--alter", "--entity-type", "topics", "--entity-name", name]
    _at(CONFIGS, bootstrap, *resource, "--add-config", "retention.ms=7200000")
    expect("retention.ms=7200000" in _settings(bootstrap, name), True)
    _at(CONFIGS, bootstrap, *resource, "--delete-config", "retention.ms")
    expect("retention.ms=7200000" in _settings(bootstrap, name), False)


def _delete_records(bootstrap: str, name: str) -> None:
    _create(bootstrap, name)
    _produce(bootstrap, name)
    wanted = '{"version":1,"partitions":[{"topic":"%s","partition":0,"offset":40}]}' % name  # noqa: UP031  # braces
    tool = "org.apache.kafka.tools.DeleteRecordsCommand"
    _at(tool, bootstrap, "--offset-json-file", "/dev/stdin", stdin=wanted.encode())
    expect(_offset(bootstrap, name, "earliest"), [f"{name}:0:40"])


def _log_dirs(bootstrap: str, name: str) -> None:
    _create(bootstrap, name)
    _produce(bootstrap, name)
    found = _at("org.apache.kafka.tools.LogDirsCommand", bootstrap, "--describe", "--topic-list", name)
    expect([f'"{name}-0"' in found.replace(" ", ""), '"size":0' in found], [True, False])


def _cluster(bootstrap: str, name: str) -> None:
    found = ran("org.apache.kafka.tools.ClusterTool", "cluster-id", "--bootstrap-server", bootstrap)
    expect("Cluster ID: " in found, True)


def _member(bootstrap: str, name: str) -> None:
    """A group that has read ten records and is empty again."""
    _create(bootstrap, name)
    _produce(bootstrap, name)
    options = ["--from-beginning", "--group", name]
    expect(_read(bootstrap, name, 10, *options), LINES[:10])


def _group_join(bootstrap: str, name: str) -> None:
    _create(bootstrap, name, 3)
    _produce(bootstrap, name)
    found = _read(bootstrap, name, 100, "--from-beginning", "--group", name)
    expect(sorted(found), sorted(LINES))


def _resume(bootstrap: str, name: str) -> None:
    _member(bootstrap, name)
    expect(_read(bootstrap, name, 1, "--group", name), LINES[10:11])


def _group_list(bootstrap: str, name: str) -> None:
    _member(bootstrap, name)
    found = [line.split() for line in _at(GROUPS, bootstrap, "--list", "--state").splitlines()]
    expect([line[-1] for line in found if line[0] == name], ["Empty"])


def _group_describe(bootstrap: str, name: str) -> None:
    _member(bootstrap, name)
    found = _at(GROUPS, bootstrap, "--describe", "--group", name, "--state")
    expect(["Empty" in found, name in found], [True, True])


def _group_offsets(bootstrap: str, name: str) -> None:
    _member(bootstrap, name)
    lines = _at(GROUPS, bootstrap, "--describe", "--group", name).splitlines()
    row = next(line.split() for line in lines if line.startswith(name))
    numbers = [word for word in row if word.isdigit()]
    expect(numbers[:4], ["0", "10", "100", "90"])


def _group_reset(bootstrap: str, name: str) -> None:
    _member(bootstrap, name)
    how = ["--reset-offsets", "--group", name, "--topic", name, "--to-offset", "3", "--execute"]
    _at(GROUPS, bootstrap, *how)
    expect(_read(bootstrap, name, 1, "--group", name), LINES[3:4])


def _group_delete_offsets(bootstrap: str, name: str) -> None:
    _member(bootstrap, name)
    found = _at(GROUPS, bootstrap, "--delete-offsets", "--group", name, "--topic", name)
    expect("Successful" in found, True)


def _group_delete(bootstrap: str, name: str) -> None:
    _member(bootstrap, name)
    _at(GROUPS, bootstrap, "--delete", "--group", name)
    expect(name in _at(GROUPS, bootstrap, "--list").split(), False)


FEATURES: dict[str, Feature] = {
    **{f"produce-{codec}": partial(_round_trip, ["--compression-codec", codec]) for codec in CODECS},
    **{
        f"acks-{acks}": partial(
            _round_trip,
            ["--producer-property", f"acks={acks}", "--producer-property", "enable.idempotence=false"],
        )
        for acks in ("0", "1", "all")
    },
    "idempotent": partial(_round_trip, ["--producer-property", "enable.idempotence=true"]),
    "fetch-from": _from_offset,
    "fetch-committed": _committed_reads,
    "offsets-ends": _ends,
    "offsets-time": _by_time,
    "offsets-max-time": _max_time,
    "topic-create": _create,
    "topic-delete": _delete,
    "topic-describe": _describe,
    "topic-grow": _grow,
    "configs-describe": _configs,
    "configs-broker": _broker_configs,
    "configs-alter": _alter,
    "delete-records": _delete_records,
    "log-dirs": _log_dirs,
    "cluster": _cluster,
    "group-join": _group_join,
    "group-resume": _resume,
    "group-list": _group_list,
    "group-describe": _group_describe,
    "group-offsets": _group_offsets,
    "group-reset": _group_reset,
    "group-delete-offsets": _group_delete_offsets,
    "group-delete": _group_delete,
}

if __name__ == "__main__":
    main(FEATURES)
