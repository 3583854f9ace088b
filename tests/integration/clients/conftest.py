"""One broker for all tests of a process; topics have names of their own.

With MILLSTREAM_KAFKA_BOOTSTRAP=HOST:PORT the same tests run against an Apache Kafka.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterator

import pytest

from millstream.testing.broker import Broker

_numbers = itertools.count(time.time_ns() // 1_000_000)


@pytest.fixture(scope="session")
def bootstrap() -> Iterator[str]:
    kafka = os.environ.get("MILLSTREAM_KAFKA_BOOTSTRAP")
    if kafka:
        yield kafka
        return
    with Broker(in_process=False, settings={"num.partitions": "1"}) as broker:
        yield broker.bootstrap_servers


@pytest.fixture
def new_topic() -> Callable[[], str]:
    return lambda: f"topic-{next(_numbers)}"
