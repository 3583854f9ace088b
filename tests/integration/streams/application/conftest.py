"""One broker for all tests of a process, and topics for each application."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from itertools import count
from pathlib import Path

import pytest

from millstream.testing.broker import Broker
from tests.integration.streams.application.instances import Instances

_NUMBERS = count()


SOON = {
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.heartbeat.interval.ms": "500",
    "group.streams.min.heartbeat.interval.ms": "500",
    "group.streams.assignment.interval.ms": "0",
    "group.streams.min.session.timeout.ms": "3000",
    "group.streams.session.timeout.ms": "3000",
    "broker.rack": "a",
}
"""Settings of a broker whose groups share their tasks at once, and soon miss a member that was killed."""


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    with Broker(in_process=False, settings=SOON) as running:
        yield running


@pytest.fixture
async def instances(broker: Broker, tmp_path: Path) -> AsyncIterator[Instances]:
    async with Instances.open(
        broker.bootstrap_servers, tmp_path, f"app-{next(_NUMBERS)}"
    ) as instances:
        yield instances
