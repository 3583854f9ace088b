"""Partitions with several replicas in a mixed cluster: how they are made, led by a node, moved, and compared on the disks."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from millstream.clients import Admin, NewTopic, TopicPartition
from millstream.clients.admin.topics.descriptions import PartitionDescription
from millstream.errors import ElectionNotNeeded, MillstreamError
from millstream.protocol.enums import ElectionType
from tests.oracle.cluster.nodes import LONG_S, Kind, Nodes
from tests.oracle.cluster.work import ends_of_logs, new_name, restarted

REPLICATED: Final = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "share.coordinator.state.topic.replication.factor": "3",
    "share.coordinator.state.topic.min.isr": "2",
    "broker.session.timeout.ms": "9000",
    "broker.heartbeat.interval.ms": "2000",
}
"""Settings for `Nodes`: three replicas of everything, two of them in sync, and Kafka's own time-outs."""


async def replicated(nodes: Nodes, assignments: Sequence[Sequence[int]], **configs: str) -> str:
    """Returns a new topic whose partitions have these replicas, once all of them are in sync."""
    name = new_name("topic")
    topic = NewTopic(name, assignments=[list(each) for each in assignments], configs={**configs})
    async with Admin(bootstrap_servers=nodes.bootstrap_servers) as admin:
        (await admin.create_topics([topic])).raise_errors()
    await all_in_sync(nodes, name)
    return name


async def described(
    nodes: Nodes, topic: str, check: Callable[[Sequence[PartitionDescription]], object]
) -> Sequence[PartitionDescription]:
    """Returns the partitions of a topic once they pass the check."""
    found: Sequence[PartitionDescription] = ()
    try:
        async with (
            asyncio.timeout(LONG_S),
            Admin(bootstrap_servers=nodes.bootstrap_servers) as admin,
        ):
            while not found or not check(found):
                with contextlib.suppress(MillstreamError):
                    found = (await admin.describe_topics([topic])).result(topic).partitions
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise AssertionError(f"{topic} is {found}") from None
    return found


async def all_in_sync(nodes: Nodes, topic: str) -> None:
    await described(
        nodes, topic, lambda found: all(set(each.isr) == set(each.replicas) for each in found)
    )


async def leaders(nodes: Nodes, topic: str) -> list[int]:
    found = await described(nodes, topic, lambda each: each)
    return [each.leader for each in sorted(found, key=lambda each: each.partition)]


async def reassign(nodes: Nodes, topic: str, partition: int, replicas: Sequence[int]) -> None:
    """Returns when a partition has these replicas, all of them in sync."""
    key = TopicPartition(topic, partition)
    async with asyncio.timeout(LONG_S), Admin(bootstrap_servers=nodes.bootstrap_servers) as admin:
        (await admin.alter_partition_reassignments({key: list(replicas)})).raise_errors()
        await _moved(admin, [key])
    await described(
        nodes,
        topic,
        lambda found: any(
            each.partition == partition
            and each.replicas == tuple(replicas)
            and set(each.isr) == set(replicas)
            for each in found
        ),
    )


async def _moved(admin: Admin, partitions: Iterable[TopicPartition]) -> None:
    """Until no reassignment of these is under way."""
    deadline = time.monotonic() + LONG_S
    while ongoing := await admin.list_partition_reassignments(partitions):
        assert time.monotonic() < deadline, ongoing
        await asyncio.sleep(0.1)


async def lead(nodes: Nodes, topic: str, leader: int, then: int | None = None) -> None:
    """Has a node lead all partitions of a topic: it becomes the first of their replicas, and is elected as that; `then` is the next."""
    orders = {}
    for each in await described(nodes, topic, lambda found: found):
        others = [number for number in each.replicas if number != leader]
        others.sort(key=lambda number: number != then)
        orders[TopicPartition(topic, each.partition)] = [leader, *others]
    async with asyncio.timeout(LONG_S), Admin(bootstrap_servers=nodes.bootstrap_servers) as admin:
        (await admin.alter_partition_reassignments(orders)).raise_errors()
        await _moved(admin, orders)
        results = await admin.elect_leaders(ElectionType.PREFERRED, orders)
        unmoved = {
            key: error
            for key, error in results.errors().items()
            if not isinstance(error, ElectionNotNeeded)
        }
        assert not unmoved, unmoved
    await described(nodes, topic, lambda found: all(each.leader == leader for each in found))


def content(nodes: Nodes, number: int, partition: str) -> bytes:
    files = sorted((nodes.data(number) / partition).glob("*.log"))
    return b"".join(file.read_bytes() for file in files)


def epochs(nodes: Nodes, number: int, partition: str, end: int) -> tuple[tuple[int, int], ...]:
    """The epochs of a replica that have records. One that leads notes its own before there are any."""
    path = nodes.data(number) / partition / "leader-epoch-checkpoint"
    pairs = (line.split() for line in path.read_text().splitlines()[2:])
    return tuple((int(epoch), int(start)) for epoch, start in pairs if int(start) < end)


async def equal(nodes: Nodes, topic: str) -> None:
    """Until all replicas of each partition are the same bytes; and the same epochs, of which ours write down what changed when they stop."""
    partitions = await described(nodes, topic, lambda found: found)
    for each in partitions:
        await _same_bytes(nodes, f"{topic}-{each.partition}", each.replicas)
    for number in nodes.of_kind(Kind.OURS):
        await restarted(nodes, number, is_killed=False)
    await all_in_sync(nodes, topic)
    keys = [TopicPartition(topic, each.partition) for each in partitions]
    ends = await ends_of_logs(nodes.bootstrap_servers, keys)
    for each, key in zip(partitions, keys, strict=True):
        found = {number: epochs(nodes, number, str(key), ends[key]) for number in each.replicas}
        assert len(set(found.values())) == 1, f"{key} has the epochs {found}"


async def _same_bytes(nodes: Nodes, partition: str, replicas: Sequence[int]) -> None:
    deadline = time.monotonic() + LONG_S
    while len(set((found := {n: content(nodes, n, partition) for n in replicas}).values())) != 1:
        assert time.monotonic() < deadline, f"{partition} differs: {_difference(found)}"
        await asyncio.sleep(0.2)
    assert b"" not in found.values(), f"{partition} is empty"


def _difference(found: Mapping[int, bytes]) -> str:
    lengths = range(max(map(len, found.values())))
    same = next(n for n in lengths if len({each[n : n + 1] for each in found.values()}) > 1)
    return f"sizes {[(n, len(each)) for n, each in found.items()]}, the same up to byte {same}"
