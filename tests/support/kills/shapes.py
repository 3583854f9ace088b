"""The applications that are killed: how each is built, what goes in, and what must have come out once.

What comes out of each does not depend on the micro-batches that its input is cut into.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import orjson

from millstream.cli.demo.data import load_flights, load_side_table
from millstream.cli.demo.pipeline import _create_topics, _produce
from millstream.cli.demo.results import read_results
from millstream.cli.demo.topology import BY_AIRLINE, BY_ORIGIN_AND_DAY, flights_topology
from millstream.cli.demo.verification import expected
from millstream.clients import Admin, NewTopic, Producer, RangeReader
from millstream.runtime.system import SystemClock
from millstream.streams import JoinWindows, StreamJoined, StreamsBuilder, StreamsConfig
from millstream.streams.serdes import string
from millstream.streams.topology import Topology

APPLICATION_ID: Final = "killed"
FLIGHTS: Final = 6_000
CACHE_BYTES: Final = 10 << 20
LEFT, RIGHT, JOINED = "left", "right", "joined"
SIDE: Final = 600
KEYS: Final = 60


@dataclass(frozen=True)
class KilledShape:
    """`prepare` creates topics and puts the input, `check` raises AssertionError; both are given the address of the broker."""

    topology: Callable[[], Topology]
    prepare: Callable[[str], Awaitable[None]]
    check: Callable[[str], Awaitable[None]]
    cache_max_bytes: int = 0

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
    async for row in _rows(servers, topic):
        seen.setdefault(row["key"], []).append(orjson.loads(row["value"])["flights"])
    return seen


def join_topology() -> Topology:
    builder = StreamsBuilder()
    left, right = (builder.stream(each, key=string(), value=string()) for each in (LEFT, RIGHT))
    windows = JoinWindows.of(timedelta(hours=1), grace=timedelta(hours=1))
    serdes = StreamJoined(key=string(), value=string(), other_value=string())
    joined = left.join(right, lambda one, other: f"{one}+{other}", windows=windows, joined=serdes)
    joined.to(JOINED, key=string(), value=string())
    return builder.build()


async def put_sides(servers: str) -> None:
    now_ms = SystemClock().now().wall_ms
    async with Admin(bootstrap_servers=servers) as admin:
        wanted = [NewTopic(each, 2) for each in (LEFT, RIGHT, JOINED)]
        (await admin.create_topics(wanted)).raise_errors()
    async with Producer(bootstrap_servers=servers) as producer:
        for number in range(SIDE):
            for side in (LEFT, RIGHT):
                await producer.send(
                    side, b"%d" % number, key=b"%d" % (number % KEYS), timestamp_ms=now_ms + number
                )


async def check_join(servers: str) -> None:
    found = Counter([row["value"].decode() async for row in _rows(servers, JOINED)])
    assert found == Counter(
        f"{one}+{other}" for one in range(SIDE) for other in range(one % KEYS, SIDE, KEYS)
    )


async def check_nothing_is_open(servers: str) -> None:
    """No transaction goes on, and the group has nothing left to read."""
    async with (
        Admin(bootstrap_servers=servers) as admin,
        RangeReader(bootstrap_servers=servers, isolation_level="read_committed") as reader,
    ):
        states = {each.state for each in await admin.list_transactions()}
        assert states <= {"Empty", "CompleteCommit", "CompleteAbort"}
        found = (await admin.list_consumer_group_offsets([APPLICATION_ID])).result(APPLICATION_ID)
        assert found, "it has committed"
        for tp in found:
            assert (await reader.offsets(tp.topic, -1))[tp.partition] == found.result(tp).offset, tp


async def _rows(servers: str, topic: str) -> AsyncIterator[dict[str, Any]]:
    """Key and value of what a read_committed reader sees."""
    async with RangeReader(bootstrap_servers=servers, isolation_level="read_committed") as reader:
        starts, ends = await reader.offsets(topic, -2), await reader.offsets(topic, -1)
        for partition, end in ends.items():
            async for batch in reader.read(topic, partition, starts[partition], end):
                for row in batch.to_pylist():
                    yield row


SHAPES: Final = {
    "flights": KilledShape(flights_topology, put_flights, check_flights),
    "flights with cache": KilledShape(
        flights_topology, put_flights, check_cached_flights, CACHE_BYTES
    ),
    "join": KilledShape(join_topology, put_sides, check_join),
}
