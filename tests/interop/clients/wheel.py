"""The Fluvio wheel. Its blocking `next()` holds the interpreter, so what tails works in a process of its own."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import fluvio
from fluvio import ConsumerConfig, Fluvio, FluvioAdmin, FluvioConfig, Isolation, Offset
from fluvio._fluvio_python import Compression, TopicSpec

from tests.interop.clients.harness import CODECS, VALUES, Feature, eventually, expect, main

_PAIRS = [(b"k", value) for value in VALUES]


def _config(address: str) -> Any:
    return FluvioConfig.new(address)


def _admin(address: str) -> Any:
    return FluvioAdmin.connect_with_config(_config(address))


def _client(address: str) -> Any:
    return Fluvio.connect_with_config(_config(address))


def _create(address: str, name: str, partitions: int = 1) -> None:
    _admin(address)._inner.create_topic(name, False, TopicSpec.new_computed(partitions, 1, True))


def _produce(
    client: Any, name: str, pairs: Iterable[tuple[bytes, bytes]] = _PAIRS, **options: Any
) -> list[int]:
    builder = fluvio.TopicProducerConfigBuilder()
    for option, value in options.items():
        builder = getattr(builder, option)(value)
    producer = client.topic_producer_with_config(name, builder.build())
    sent = producer.send_all(list(pairs))
    producer.flush()
    return [one.wait().offset() for one in sent]


def _read(client: Any, name: str, at: Any, partition: int = 0, **options: Any) -> list[Any]:
    """All that is there now."""
    config = ConsumerConfig()
    config.disable_continuous()
    for option, value in options.items():
        getattr(config._inner, option)(value)
    return list(client.partition_consumer(name, partition).stream_with_config(at, config))


def _values(records: Iterable[Any]) -> list[bytes]:
    return [bytes(record.value()) for record in records]


def _codec(codec: str, address: str, name: str) -> None:
    _create(address, name)
    client = _client(address)
    placed = _produce(
        client, name, compression=getattr(Compression, "None_" if codec == "none" else codec.capitalize())
    )
    expect(placed, list(range(100)))
    found = _read(client, name, Offset.beginning())
    expect(_values(found), VALUES)
    expect({bytes(record.key()) for record in found}, {b"k"})


def _isolated(address: str, name: str) -> None:
    _create(address, name)
    client = _client(address)
    expect(_produce(client, name, isolation=Isolation.ReadCommitted), list(range(100)))


def _spot(spot: Callable[[], Any], first: int, address: str, name: str) -> None:
    _create(address, name)
    client = _client(address)
    _produce(client, name)
    found = _read(client, name, spot())
    expect([found[0].offset(), len(found)], [first, 100 - first])


def _small_bytes(address: str, name: str) -> None:
    _create(address, name)
    client = _client(address)
    _produce(client, name)
    expect(_values(_read(client, name, Offset.beginning(), max_bytes=100)), VALUES)


def _partitions(address: str, name: str) -> None:
    _create(address, name, 3)
    client = _client(address)
    _produce(client, name, ((value, value) for value in VALUES))
    found = [_values(_read(client, name, Offset.beginning(), partition)) for partition in range(3)]
    expect(sorted(value for part in found for value in part), sorted(VALUES))
    expect(all(found), True)


def _several(address: str, name: str) -> None:
    _create(address, name, 3)
    client = _client(address)
    _produce(client, name, ((value, value) for value in VALUES))
    builder = fluvio.ConsumerConfigExtBuilder(name)
    builder.disable_continuous()
    builder.offset_start(Offset.beginning())
    expect(sorted(_values(client.consumer_with_config(builder.build()))), sorted(VALUES))


def _tail(address: str, name: str) -> None:
    """A process that waits at the end, told of one record that it has to see before it can wait."""
    _create(address, name)
    client = _client(address)
    _produce(client, name, [(b"", b"first")])
    code = (
        "import sys; from fluvio import *;"
        "s = Fluvio.connect_with_config(FluvioConfig.new(sys.argv[1])).partition_consumer(sys.argv[2], 0)"
        ".stream(Offset.beginning());"
        "[print(bytes(next(s).value()).decode(), flush=True) for _ in range(2)]"
    )
    command = [sys.executable, "-c", code, address, name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) as tailing:
        assert tailing.stdout is not None
        expect(tailing.stdout.readline(), "first\n")
        _produce(client, name, [(b"", b"second")])
        expect(tailing.stdout.readline(), "second\n")


def _kept(address: str, name: str) -> None:
    _create(address, name)
    client = _client(address)
    _produce(client, name)

    def managed() -> Any:
        builder = fluvio.ConsumerConfigExtBuilder(name)
        builder.partition(0)
        builder.disable_continuous()
        builder.offset_start(Offset.beginning())
        builder.offset_consumer(f"{name}-consumer")
        builder.offset_strategy(fluvio.OffsetManagementStrategy.MANUAL)
        return client.consumer_with_config(builder.build())

    stream = managed()
    read = iter(stream)
    expect([next(read).offset() for _ in range(30)], list(range(30)))
    stream.offset_commit()
    stream.offset_flush()
    expect(next(iter(managed())).offset(), 30)


def _offsets(address: str, name: str) -> None:
    _kept(address, name)
    client = _client(address)
    # The wrapper around these is broken in this version.
    found = [each for each in client._inner.consumer_offsets() if each.consumer_id == f"{name}-consumer"]
    expect([each.offset for each in found], [29])
    client.delete_consumer_offset(f"{name}-consumer", name, 0)
    left = [each for each in client._inner.consumer_offsets() if each.consumer_id == f"{name}-consumer"]
    expect(left, [])


def _names(address: str) -> list[Any]:
    return [topic.name() if callable(topic.name) else topic.name for topic in _admin(address).all_topics()]


def _list(address: str, name: str) -> None:
    _create(address, name)
    expect(name in _names(address), True)


def _delete(address: str, name: str) -> None:
    _create(address, name)
    _admin(address).delete_topic(name)
    eventually(lambda: name not in _names(address), "the topic is gone")


def _twice(address: str, name: str) -> None:
    _create(address, name)
    try:
        _create(address, name)
    except Exception as error:  # the wheel has one class for all
        expect("already exists" in str(error), True)
    else:
        raise AssertionError("a topic that exists was made again")


def _unknown(address: str, name: str) -> None:
    try:
        _client(address).topic_producer(name)
    except Exception as error:  # the wheel has one class for all
        expect("not found" in str(error), True)
    else:
        raise AssertionError("a producer for a topic that nobody made")


def _at_once(address: str, name: str) -> None:
    client = _client(address)
    client.topic_producer  # noqa: B018  # its connection is there before the topics are
    for number in range(20):
        _create(address, f"{name}-{number}")
        _produce(client, f"{name}-{number}", [(b"", b"v")])


FEATURES: dict[str, Feature] = {
    **{f"wheel-{codec}": partial(_codec, codec) for codec in CODECS},
    "wheel-isolation": _isolated,
    "wheel-absolute": partial(_spot, lambda: Offset.absolute(42), 42),
    "wheel-from-beginning": partial(_spot, lambda: Offset.from_beginning(10), 10),
    "wheel-from-end": partial(_spot, lambda: Offset.from_end(10), 90),
    "wheel-small-bytes": _small_bytes,
    "wheel-partitions": _partitions,
    "wheel-several": _several,
    "wheel-tail": _tail,
    "wheel-kept": _kept,
    "wheel-offsets": _offsets,
    "wheel-list": _list,
    "wheel-delete": _delete,
    "wheel-twice": _twice,
    "wheel-unknown": _unknown,
    "wheel-at-once": _at_once,
}

if __name__ == "__main__":
    main(FEATURES)
