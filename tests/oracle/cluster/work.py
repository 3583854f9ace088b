"""Work that the tests of mixed clusters have in common: topics on chosen nodes, records, leaders of the quorum."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import subprocess
import time
from collections.abc import Callable, Sequence
from typing import Final

from millstream.clients import (
    Admin,
    Consumer,
    NewTopic,
    Producer,
    ShareConsumer,
    TopicPartition,
)
from millstream.errors import KafkaError, MillstreamError
from tests.oracle.cluster.nodes import LONG_S, Kind, Nodes
from tests.support.kafka_node import CLASSPATH

TOOLS: Final = "org.apache.kafka.tools"
_CHANGES_OF_LEADER_MAX: Final = 20
_numbers = itertools.count(time.time_ns() // 1_000_000)


def new_name(what: str) -> str:
    return f"{what}-{next(_numbers)}"


async def created(nodes: Nodes, leaders: Sequence[int], **configs: str) -> str:
    """Returns a new topic with a partition on each of these nodes, once all nodes know it."""
    name = new_name("topic")
    topic = NewTopic(name, assignments=[[each] for each in leaders], configs=configs)
    async with Admin(bootstrap_servers=nodes.bootstrap_servers) as admin:
        (await admin.create_topics([topic])).raise_errors()
    for number in nodes.running:
        if nodes.is_broker(number):
            await known(nodes.client_address(number), name, list(leaders))
    return name


async def known(bootstrap: str, topic: str, leaders: Sequence[int]) -> None:
    """Until the node at an address knows a topic with these leaders."""
    found: object = None
    try:
        async with asyncio.timeout(LONG_S), Admin(bootstrap_servers=bootstrap) as admin:
            while found != list(leaders):
                with contextlib.suppress(KafkaError):
                    described = (await admin.describe_topics([topic])).result(topic)
                    found = [partition.leader for partition in described.partitions]
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError(f"{bootstrap} has {topic} with leaders {found}") from None


async def produced(
    bootstrap: str, topic: str, values: Sequence[str], partitions: int, **settings: object
) -> None:
    async with Producer(bootstrap_servers=bootstrap, **settings) as producer:
        for number, value in enumerate(values):
            await producer.send(topic, value.encode(), partition=number % partitions)


async def consumed(
    bootstrap: str, topic: str, group: str, count: int, **settings: object
) -> list[str]:
    """Whatever the group has not committed yet; it commits that."""
    found: list[str] = []
    async with (
        asyncio.timeout(LONG_S),
        Consumer(
            bootstrap_servers=bootstrap, group_id=group, auto_offset_reset="earliest", **settings
        ) as consumer,
    ):
        consumer.subscribe([topic])
        while len(found) < count:
            found += [r.value.decode() for r in await consumer.poll(timeout_ms=500) if r.value]
        await consumer.commit()
    return sorted(found)


async def committed(bootstrap: str, topic: str, partitions: int) -> list[list[str]]:
    """What a reader of committed records finds up to the end of each partition."""
    async with (
        asyncio.timeout(LONG_S),
        Consumer(
            bootstrap_servers=bootstrap,
            isolation_level="read_committed",
            auto_offset_reset="earliest",
        ) as consumer,
    ):
        assigned = [TopicPartition(topic, number) for number in range(partitions)]
        consumer.assign(assigned)
        ends = await ends_of_logs(bootstrap, assigned)
        values: list[list[str]] = [[] for _ in assigned]
        while any([await consumer.position(tp) < ends[tp] for tp in assigned]):
            for record in await consumer.poll(timeout_ms=500):
                values[record.partition].append((record.value or b"").decode())
    return values


async def ends_of_logs(
    bootstrap: str, partitions: Sequence[TopicPartition]
) -> dict[TopicPartition, int]:
    """High watermarks, which open transactions do not hold back."""
    async with Consumer(bootstrap_servers=bootstrap) as consumer:
        return dict(await consumer.end_offsets(list(partitions)))


async def shared(bootstrap: str, topic: str, group: str, count: int) -> list[str]:
    """As many records as a new member of the share group gets, all accepted."""
    found: list[str] = []
    async with (
        asyncio.timeout(LONG_S),
        ShareConsumer(bootstrap_servers=bootstrap, group_id=group) as consumer,
    ):
        consumer.subscribe([topic])
        while len(found) < count:
            found += [r.value.decode() for r in await consumer.poll(timeout_ms=500) if r.value]
        await consumer.commit()
    return sorted(found)


async def quorum_leader(nodes: Nodes, *, other_than: int = -1) -> int:
    """Who leads the quorum, once somebody does."""
    async with (
        asyncio.timeout(LONG_S),
        Admin(bootstrap_servers=nodes.bootstrap_servers) as admin,
    ):
        while True:
            with contextlib.suppress(MillstreamError):
                leader = (await admin.describe_metadata_quorum(timeout_ms=3_000)).leader_id
                if leader not in {-1, other_than}:
                    return leader
            await asyncio.sleep(0.1)


async def led_by(nodes: Nodes, kind: Kind) -> int:
    """Kills and stops leaders of the quorum in turns, and starts them again, until one of this kind leads."""
    return await _led_by(nodes, lambda leader: nodes.kind(leader) is kind)


async def led_by_node(nodes: Nodes, number: int) -> None:
    await _led_by(nodes, lambda leader: leader == number)


async def _led_by(nodes: Nodes, is_wanted: Callable[[int], bool]) -> int:
    for change in range(_CHANGES_OF_LEADER_MAX):
        leader = await quorum_leader(nodes)
        if is_wanted(leader):
            return leader
        await asyncio.to_thread(nodes.kill if change % 2 else nodes.stop, leader)
        await quorum_leader(nodes, other_than=leader)
        await asyncio.to_thread(nodes.start, leader)
    raise AssertionError(f"node {leader} leads after {_CHANGES_OF_LEADER_MAX} changes")


async def restarted(nodes: Nodes, number: int, *, is_killed: bool) -> None:
    await asyncio.to_thread(nodes.kill if is_killed else nodes.stop, number)
    await asyncio.to_thread(nodes.start, number)


def said(nodes: Nodes, number: int, what: str) -> None:
    """Until a node has written this to its log."""
    deadline = time.monotonic() + LONG_S
    while what not in nodes.log(number):
        assert time.monotonic() < deadline, nodes.log(number)[-4_000:]
        time.sleep(0.1)


def tool(name: str, *arguments: str, fails: bool | None = False, timeout_s: float = LONG_S) -> str:
    """What one of Kafka's tools prints, errors too; `fails` tells whether it should, None that it may."""
    done = subprocess.run(
        ["java", "-XX:TieredStopAtLevel=1", "-cp", CLASSPATH, name, *arguments],
        capture_output=True, text=True, timeout=timeout_s, check=False,
    )  # fmt: skip
    assert fails is None or (done.returncode != 0) == fails, done.stdout + done.stderr
    return done.stdout + done.stderr
