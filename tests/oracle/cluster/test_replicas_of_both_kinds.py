"""Partitions with replicas on Apache Kafka's nodes and on ours: each kind leads, each follows the other, and leaders are killed.

Three replicas, two of them in sync, Kafka's time-outs. Idempotent producers of both kinds write all the time; afterwards nothing
that was acknowledged is lost or there twice, and all replicas are the same bytes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.oracle.cluster.loads import Loads, everything
from tests.oracle.cluster.nodes import LONG_S, Kind, Node, Nodes
from tests.oracle.cluster.replicas import (
    REPLICATED,
    all_in_sync,
    described,
    equal,
    lead,
    leaders,
    reassign,
    replicated,
)
from tests.support.kafka_node import NEEDS_KAFKA

pytestmark = [*NEEDS_KAFKA, pytest.mark.timeout(900)]
ALL = (1, 2, 3)
PARTITIONS = 3
ROTATED = ([1, 2, 3], [2, 3, 1], [3, 1, 2])
MIXES = (
    (Kind.KAFKA, Kind.KAFKA, Kind.OURS),
    (Kind.OURS, Kind.OURS, Kind.KAFKA),
)


@pytest.fixture(scope="module", params=MIXES, ids="-".join)
def nodes(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Nodes]:
    members = [Node(number, kind) for number, kind in zip(ALL, request.param, strict=True)]
    with Nodes(tmp_path_factory.mktemp("nodes"), members, settings=REPLICATED) as running:
        yield running
        assert running.complaints() == []


async def test_each_kind_leads_and_follows_the_other(nodes: Nodes, tmp_path: Path) -> None:
    topic = await replicated(nodes, ROTATED, **{"segment.bytes": "1048576"})
    async with Loads(nodes, topic, PARTITIONS, tmp_path) as loads:
        for kind in (*Kind, *Kind):
            await lead(nodes, topic, nodes.of_kind(kind)[0])
            await loads.go_on()
    loads.check(await everything(nodes, topic, PARTITIONS))
    await equal(nodes, topic)


async def test_leaders_are_killed(nodes: Nodes, tmp_path: Path) -> None:
    """One of each kind while it leads everything, and then whoever leads a partition."""
    topic = await replicated(nodes, ROTATED)
    async with Loads(nodes, topic, PARTITIONS, tmp_path) as loads:
        for number in (nodes.of_kind(Kind.OURS)[0], nodes.of_kind(Kind.KAFKA)[0]):
            await lead(nodes, topic, number)
            await loads.go_on()
            await killed(nodes, topic, number, loads)
        for partition in range(PARTITIONS):
            await killed(nodes, topic, (await leaders(nodes, topic))[partition], loads)
    loads.check(await everything(nodes, topic, PARTITIONS))
    await equal(nodes, topic)


async def killed(nodes: Nodes, topic: str, number: int, loads: Loads) -> None:
    """Until others lead in its place, and it is in sync again."""
    await asyncio.to_thread(nodes.kill, number)
    await described(nodes, topic, lambda found: all(p.leader not in {number, -1} for p in found))
    await loads.go_on()
    await asyncio.to_thread(nodes.start, number)
    await all_in_sync(nodes, topic)
    await loads.go_on()


async def test_a_partition_moves_between_the_kinds(nodes: Nodes, tmp_path: Path) -> None:
    """From a node of one kind to one of the other and back, with one replica and with two."""
    theirs, ours = nodes.of_kind(Kind.KAFKA)[0], nodes.of_kind(Kind.OURS)[0]
    third = next(number for number in ALL if number not in {theirs, ours})
    topic = await replicated(nodes, [[theirs, third]] * 2, **{"min.insync.replicas": "1"})
    async with Loads(nodes, topic, 2, tmp_path) as loads:
        for at in (ours, theirs, ours):
            await reassign(nodes, topic, 0, [at])
            await loads.go_on()
            await reassign(nodes, topic, 1, [at, third])
            await loads.go_on()
        for replicas in ([ours, theirs, third], [third], [theirs, ours]):
            await reassign(nodes, topic, 1, replicas)
            await loads.go_on()
    loads.check(await everything(nodes, topic, 2))
    await equal(nodes, topic)
    for number in ALL:
        for partition, replicas in ((0, {ours}), (1, {theirs, ours})):
            await gone_or_there(nodes, number, f"{topic}-{partition}", is_there=number in replicas)


async def gone_or_there(nodes: Nodes, number: int, partition: str, *, is_there: bool) -> None:
    """A directory that is to go gets another name until file.delete.delay.ms is over."""
    deadline = time.monotonic() + LONG_S
    while (nodes.data(number) / partition).exists() != is_there:
        assert time.monotonic() < deadline, f"node {number} and {partition}"
        await asyncio.sleep(0.1)
