"""What `benchmarks.wheel` has the Fluvio wheel do, in a process that has it; times in ms, one line each.

python -m benchmarks.wheel_side create ADDRESS COUNT     until the admin's answer, until a producer knows it
python -m benchmarks.wheel_side tail ADDRESS COUNT       `ready`, then the way of each record to a waiting reader
python -m benchmarks.wheel_side send ADDRESS COUNT       records, each with the time at which it left
"""

import sys
import time
from typing import Any

from fluvio import Fluvio, FluvioAdmin, FluvioConfig, Offset
from fluvio._fluvio_python import TopicSpec

TOPIC = "wheel-tailed"
PAUSE_S = 0.02


def create(config: Any, count: int) -> None:
    """Another connection than the admin's, which was there before the topic was."""
    admin, client = FluvioAdmin.connect_with_config(config), Fluvio.connect_with_config(config)
    for number in range(count):
        name, begin = f"wheel-made-{number}", time.perf_counter()
        admin._inner.create_topic(name, False, TopicSpec.new_computed(1, 1, True))
        made = time.perf_counter()
        client.topic_producer(name)
        print(f"{(made - begin) * 1000:.3f} {(time.perf_counter() - begin) * 1000:.3f}", flush=True)


def tail(config: Any, count: int) -> None:
    stream = Fluvio.connect_with_config(config).partition_consumer(TOPIC, 0).stream(Offset.beginning())
    next(stream)
    print("ready", flush=True)
    for _ in range(count):
        sent_ns = int(bytes(next(stream).value()))
        print(f"{(time.time_ns() - sent_ns) / 1e6:.3f}", flush=True)


def send(config: Any, count: int) -> None:
    producer = Fluvio.connect_with_config(config).topic_producer(TOPIC)
    for _ in range(count):
        producer.send_string(str(time.time_ns()))
        producer.flush()
        time.sleep(PAUSE_S)


if __name__ == "__main__":
    what, address, number = sys.argv[1:]
    {"create": create, "tail": tail, "send": send}[what](FluvioConfig.new(address), int(number))
