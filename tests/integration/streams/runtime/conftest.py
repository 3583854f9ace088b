"""One broker for all tests of a process, and the application that they run on it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from itertools import count
from pathlib import Path

import pytest

from millstream.testing.broker import Broker
from tests.integration.streams.runtime.world import World

_NUMBERS = count()


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    with Broker(in_process=False) as running:
        yield running


@pytest.fixture
async def world(broker: Broker, tmp_path: Path) -> AsyncIterator[World]:
    async with World.open(
        broker.bootstrap_servers, tmp_path / "here", f"app-{next(_NUMBERS)}"
    ) as world:
        yield world
