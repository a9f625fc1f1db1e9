from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from onelog.client.kafka.client import KafkaClient
from onelog.client.retry import Retrier, RetryPolicy
from tests.support.fake_kafka import FakeKafka
from tests.support.hand_clock import HandClock

Cluster = Callable[..., tuple[FakeKafka, KafkaClient]]


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A fake cluster and a client of it that never really sleeps."""
    with ExitStack() as stack:

        def make(**options: Any) -> tuple[FakeKafka, KafkaClient]:
            fake = stack.enter_context(FakeKafka(**options))
            clock = HandClock()
            retrier = Retrier(RetryPolicy(timeout_s=5.0), clock=clock, sleep=clock.sleep)
            client = stack.enter_context(KafkaClient(fake.bootstrap, retrier=retrier))
            return fake, client

        yield make
