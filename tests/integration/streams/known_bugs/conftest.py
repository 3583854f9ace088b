"""One broker for all tests of a process, tasks that run on it one at a time, and instances of an application.

Each module shows that applications do not have certain bugs that Kafka Streams has had: a test tells the id of the bug and its sequence of events.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from itertools import count
from pathlib import Path

import pytest

from millstream.testing.broker import Broker
from tests.integration.streams.application.instances import Instances
from tests.integration.streams.runtime.world import World

_NUMBERS = count()
_SETTINGS = {
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.heartbeat.interval.ms": "500",
    "group.streams.min.heartbeat.interval.ms": "500",
    "group.streams.assignment.interval.ms": "0",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "100",
}


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    with Broker(in_process=False, settings=_SETTINGS) as running:
        yield running


@pytest.fixture
async def world(broker: Broker, tmp_path: Path) -> AsyncIterator[World]:
    async with World.open(
        broker.bootstrap_servers, tmp_path / "here", f"bug-{next(_NUMBERS)}"
    ) as world:
        yield world


@pytest.fixture
async def instances(broker: Broker, tmp_path: Path) -> AsyncIterator[Instances]:
    async with Instances.open(
        broker.bootstrap_servers, tmp_path, f"bug-{next(_NUMBERS)}"
    ) as instances:
        yield instances
