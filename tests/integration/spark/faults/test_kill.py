"""SIGKILL of an application on Spark, of its parts and of its broker: outputs and state are exactly once, and nothing is left behind.

Processes are killed at named steps of tasks. `make soak` has the whole matrix.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream.streams.runtime.steps import Step
from tests.support.kills.orders import PLANNED, Order, Orders, Victim
from tests.support.kills.run import Run
from tests.support.kills.shapes import SHAPES, check_nothing_is_open
from tests.support.kills.watched_broker import watched_broker

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1000)]

LIMIT = 600
DRIVER, JVM, WORKER, HOST, BROKER = (
    Victim.DRIVER,
    Victim.JVM,
    Victim.WORKER,
    Victim.HOST,
    Victim.BROKER,
)
SESSIONS = (
    (
        Order(HOST, Step.OFFSETS_SENT, 2),
        Order(WORKER, Step.PRODUCED),
        Order(HOST, PLANNED),
        Order(DRIVER, PLANNED),
    ),
    (Order(HOST, Step.COMMITTED, 2), Order(HOST, Step.RESTORED), Order(JVM, Step.OFFSETS_SENT, 2)),
    (Order(HOST, Step.STORED), Order(BROKER, Step.PRODUCED), Order(HOST, Step.FENCED)),
)
"""The orders of each session. The last one goes on to the end of the work."""


@pytest.fixture
def directory() -> Iterator[Path]:
    """With a short name: those of Unix sockets may have 107 characters."""
    made = Path(tempfile.mkdtemp(prefix="kill"))
    yield made
    shutil.rmtree(made)


def test_an_application_killed_again_and_again_is_exactly_once(directory: Path) -> None:
    shape = SHAPES["flights"]
    orders = Orders(directory / "orders")
    with watched_broker(orders.broker) as servers:
        asyncio.run(shape.prepare(servers))
        for wanted in SESSIONS:
            orders.write(wanted)
            with Run.of_application("flights", servers, directory, LIMIT) as run:
                is_done = run.finish()
                assert run.remains() == []
            assert orders.left() == [], wanted
            assert is_done == (wanted is SESSIONS[-1])
        assert run.files_left() == []
        asyncio.run(shape.check(servers, directory))
        asyncio.run(check_nothing_is_open(servers))
