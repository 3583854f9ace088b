"""The applications that are killed: how each is built, what goes in, and what must have come out once.

What comes out of each does not depend on the micro-batches that its input is cut into.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import orjson

from millstream.cli.demo.data import load_flights, load_side_table
from millstream.cli.demo.pipeline import _create_topics, _produce
from millstream.cli.demo.results import read_results
from millstream.cli.demo.topology import BY_AIRLINE, BY_ORIGIN_AND_DAY, flights_topology
from millstream.cli.demo.verification import expected
from millstream.clients import Admin, RangeReader
from millstream.streams import StreamsConfig
from millstream.streams.topology import Topology
from tests.patience import WAITS_FOR_CLUSTER, eventually
from tests.support.kills.driven import APPLICATION_ID, DrivenShape, read
from tests.support.kills.driven_shapes import CACHE_BYTES, DRIVEN

FLIGHTS: Final = 6_000
CONTINUOUS: Final = "continuous"
ENDED: Final = {"Empty", "CompleteCommit", "CompleteAbort"}


@dataclass(frozen=True)
class KilledShape:
    """`prepare` creates topics and puts the input, `check` raises AssertionError; both are given the address of the broker."""

    topology: Callable[[], Topology]
    prepare: Callable[[str], Awaitable[None]]
    check_outputs: Callable[[str], Awaitable[None]]
    cache_max_bytes: int = 0
    limit: int = 60
    """Records of a micro-batch."""

    async def check(self, servers: str, _directory: Path) -> None:
        await self.check_outputs(servers)

    @property
    def config(self) -> StreamsConfig:
        return StreamsConfig(application_id=APPLICATION_ID, cache_max_bytes=self.cache_max_bytes)


async def put_flights(servers: str) -> None:
    await _create_topics(servers)
    await _produce(servers, load_flights(FLIGHTS), lambda _: None)


async def check_flights(servers: str) -> None:
    """A key's n-th update says n flights: one to n must be found in this order, and nothing twice."""
    await _check_results(servers)
    for topic in (BY_AIRLINE, BY_ORIGIN_AND_DAY):
        for numbers in (await _counted(servers, topic)).values():
            assert numbers == list(range(1, len(numbers) + 1))


async def check_cached_flights(servers: str) -> None:
    """Some of the updates are held back; those that come are in order, and none comes twice."""
    await _check_results(servers)
    for topic in (BY_AIRLINE, BY_ORIGIN_AND_DAY):
        for numbers in (await _counted(servers, topic)).values():
            assert numbers == sorted(set(numbers))


async def _check_results(servers: str) -> None:
    results = await read_results(servers)
    assert results == expected(load_flights(FLIGHTS), load_side_table("airlines"))


async def _counted(servers: str, topic: str) -> dict[bytes, list[int]]:
    seen: dict[bytes, list[int]] = {}
    async for row in read(servers, topic):
        seen.setdefault(row["key"], []).append(orjson.loads(row["value"])["flights"])
    return seen


async def check_nothing_is_open(servers: str) -> None:
    """No transaction goes on, and the group has nothing left to read."""
    async with (
        Admin(**WAITS_FOR_CLUSTER, bootstrap_servers=servers) as admin,
        RangeReader(
            **WAITS_FOR_CLUSTER, bootstrap_servers=servers, isolation_level="read_committed"
        ) as reader,
    ):

        async def have_ended() -> bool:
            return {each.state for each in await admin.list_transactions()} <= ENDED

        await eventually(have_ended)  # a commit is answered before all of its markers are written
        found = (await admin.list_consumer_group_offsets([APPLICATION_ID])).result(APPLICATION_ID)
        assert found, "it has committed"
        for tp in found:
            assert (await reader.offsets(tp.topic, -1))[tp.partition] == found.result(tp).offset, tp


SHAPES: Final[Mapping[str, KilledShape | DrivenShape]] = {
    **DRIVEN,
    "flights": KilledShape(flights_topology, put_flights, check_flights),
    "flights with cache": KilledShape(
        flights_topology, put_flights, check_cached_flights, CACHE_BYTES
    ),
}
