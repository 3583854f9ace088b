"""SIGKILL of an application on Spark, of its parts and of its broker: outputs and state are exactly once, and nothing is left behind.

Processes are killed at named steps of tasks. `make soak` has the whole matrix, with moments by chance.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from millstream.cli.demo.data import load_flights, load_side_table
from millstream.cli.demo.pipeline import _create_topics, _produce
from millstream.cli.demo.results import read_results
from millstream.cli.demo.topology import APPLICATION_ID, BY_AIRLINE, BY_ORIGIN_AND_DAY
from millstream.cli.demo.verification import TopologyResults, expected
from millstream.clients import Admin, RangeReader
from millstream.streams.runtime.steps import Step
from tests.support.kills.orders import Order, Orders, Victim
from tests.support.kills.run import Run
from tests.support.kills.watched_broker import watched_broker

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1000)]

FLIGHTS = 6_000
LIMIT = 600
DRIVER, JVM, WORKER, HOST, BROKER = (
    Victim.DRIVER,
    Victim.JVM,
    Victim.WORKER,
    Victim.HOST,
    Victim.BROKER,
)
SESSIONS = (
    (Order(HOST, Step.OFFSETS_SENT, 2), Order(WORKER, Step.PRODUCED), Order(DRIVER, Step.PRODUCED)),
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
    table = load_flights(FLIGHTS)
    orders = Orders(directory / "orders")
    with watched_broker(orders.broker) as broker:
        asyncio.run(_create_topics(broker.bootstrap_servers))
        asyncio.run(_produce(broker.bootstrap_servers, table, lambda _: None))
        for wanted in SESSIONS:
            orders.write(wanted)
            run = Run(broker.bootstrap_servers, directory, LIMIT)
            is_done = run.finish()
            assert run.wait_for_orphans() == []
            assert orders.left() == [], wanted
            assert is_done == (wanted is SESSIONS[-1])
        assert run.files_left() == []
        results = asyncio.run(read_results(broker.bootstrap_servers))
        assert results == expected(table, load_side_table("airlines"))
        asyncio.run(check_every_update_is_there_once(broker.bootstrap_servers, results))
        asyncio.run(check_nothing_is_open(broker.bootstrap_servers))


async def check_every_update_is_there_once(servers: str, results: TopologyResults) -> None:
    """A key's n-th update says n flights: one to n must be found, and nothing twice."""
    async with RangeReader(bootstrap_servers=servers, isolation_level="read_committed") as reader:
        for topic in (BY_AIRLINE, BY_ORIGIN_AND_DAY):
            seen: dict[bytes, list[int]] = {}
            starts, ends = await reader.offsets(topic, -2), await reader.offsets(topic, -1)
            for partition, end in ends.items():
                async for batch in reader.read(topic, partition, starts[partition], end):
                    for row in batch.to_pylist():
                        counted = orjson.loads(row["value"])["flights"]
                        seen.setdefault(row["key"], []).append(counted)
            for numbers in seen.values():
                assert numbers == list(range(1, len(numbers) + 1))
            keys = results.airlines if topic == BY_AIRLINE else results.windows
            assert len(seen) == len(keys)


async def check_nothing_is_open(servers: str) -> None:
    """No transaction goes on, and the group has nothing left to read."""
    async with (
        Admin(bootstrap_servers=servers) as admin,
        RangeReader(bootstrap_servers=servers, isolation_level="read_committed") as reader,
    ):
        states = {each.state for each in await admin.list_transactions()}
        assert states <= {"Empty", "CompleteCommit", "CompleteAbort"}
        found = (await admin.list_consumer_group_offsets([APPLICATION_ID])).result(APPLICATION_ID)
        for tp in found:
            assert (await reader.offsets(tp.topic, -1))[tp.partition] == found.result(tp).offset, tp
