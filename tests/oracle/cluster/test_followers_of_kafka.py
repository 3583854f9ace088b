"""Replicas of ours behind leaders that are Apache Kafka's: what a leader acknowledges is in the same bytes on the disk of the follower."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator

import pytest

from millstream.clients import Admin, NewTopic, Producer, TopicPartition
from tests.oracle.cluster.nodes import LONG_S, Kind, Node, Nodes
from tests.oracle.cluster.work import new_name
from tests.support.kafka_node import NEEDS_KAFKA

pytestmark = [*NEEDS_KAFKA, pytest.mark.timeout(600)]
KAFKA, OURS, CONTROLLER = 1, 2, 101
PARTITIONS = 3


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    members = [
        Node(CONTROLLER, Kind.KAFKA, "controller"),
        Node(KAFKA, Kind.KAFKA, "broker"),
        Node(OURS, Kind.OURS, "broker"),
    ]
    with Nodes(tmp_path_factory.mktemp("nodes"), members) as running:
        yield running
        assert running.complaints() == []


async def replicated(nodes: Nodes, **configs: str) -> str:
    name = new_name("topic")
    topic = NewTopic(name, assignments=[[KAFKA, OURS]] * PARTITIONS, configs=configs)
    async with Admin(bootstrap_servers=nodes.bootstrap_servers) as admin:
        (await admin.create_topics([topic])).raise_errors()
    return name


async def write(nodes: Nodes, topic: str, count: int, *, by: int = KAFKA) -> None:
    async with (
        asyncio.timeout(LONG_S),
        Producer(bootstrap_servers=nodes.client_address(by)) as producer,
    ):
        for number in range(count):
            await producer.send(topic, b"%06d" % number * 5, partition=number % PARTITIONS)


def content(nodes: Nodes, number: int, partition: str) -> bytes:
    files = sorted((nodes.data(number) / partition).glob("*.log"))
    return b"".join(file.read_bytes() for file in files)


def epochs(nodes: Nodes, number: int, partition: str) -> str:
    return (nodes.data(number) / partition / "leader-epoch-checkpoint").read_text()


def have_the_same_epochs(nodes: Nodes, topic: str) -> None:
    """Ours writes down with its next flush what changed, at the latest when it stops; Kafka does so at once."""
    assert nodes.stop(OURS) == 0
    for number in range(PARTITIONS):
        name = f"{topic}-{number}"
        assert epochs(nodes, OURS, name) == epochs(nodes, KAFKA, name)
    nodes.start(OURS)


async def until(check: Callable[[], object], what: str) -> None:
    end = time.monotonic() + LONG_S
    while not check():
        assert time.monotonic() < end, what
        await asyncio.sleep(0.1)


async def equal(nodes: Nodes, topic: str) -> None:
    """Until both logs of each partition hold the same bytes, and some."""
    for number in range(PARTITIONS):
        name = f"{topic}-{number}"
        await until(
            lambda name=name: content(nodes, OURS, name) == content(nodes, KAFKA, name) != b"",  # type: ignore[misc]
            f"{name} differs",
        )


async def in_sync(nodes: Nodes, topic: str, *members: int) -> None:
    async with (
        asyncio.timeout(LONG_S),
        Admin(bootstrap_servers=nodes.client_address(max(nodes.running & {KAFKA, OURS}))) as admin,
    ):
        while True:
            described = (await admin.describe_topics([topic])).result(topic)
            if all(set(members) == set(each.isr) for each in described.partitions):
                return
            await asyncio.sleep(0.1)


async def test_what_is_acknowledged_is_here(nodes: Nodes) -> None:
    topic = await replicated(nodes, **{"min.insync.replicas": "2", "segment.bytes": "1048576"})
    await write(nodes, topic, 30_000)
    await in_sync(nodes, topic, KAFKA, OURS)
    for number in range(PARTITIONS):
        name = f"{topic}-{number}"
        assert content(nodes, OURS, name) == content(nodes, KAFKA, name) != b""
    have_the_same_epochs(nodes, topic)


async def test_transactions_are_replicated(nodes: Nodes) -> None:
    topic = await replicated(nodes)
    async with (
        asyncio.timeout(LONG_S),
        Producer(
            bootstrap_servers=nodes.client_address(KAFKA), transactional_id=new_name("id")
        ) as producer,
    ):
        await producer.init_transactions()
        for number in range(6):
            await producer.begin_transaction()
            for partition in range(PARTITIONS):
                await producer.send(topic, b"x", partition=partition)
            await (producer.commit_transaction() if number % 2 else producer.abort_transaction())
    await equal(nodes, topic)


async def test_a_replica_that_was_killed_catches_up_and_is_in_sync_again(nodes: Nodes) -> None:
    topic = await replicated(nodes)
    await write(nodes, topic, 3_000)
    nodes.kill(OURS)
    await write(nodes, topic, 3_000)
    nodes.start(OURS)
    await in_sync(nodes, topic, KAFKA, OURS)
    await write(nodes, topic, 300)
    await equal(nodes, topic)


async def test_records_that_are_deleted_at_the_leader_are_deleted_here(nodes: Nodes) -> None:
    """Kafka answers once every live replica has moved its log start, which ours tells with its next fetch."""
    topic = await replicated(nodes)
    await write(nodes, topic, 3_000)
    async with (
        asyncio.timeout(LONG_S),
        Admin(bootstrap_servers=nodes.client_address(KAFKA)) as admin,
    ):
        deleted = await admin.delete_records({TopicPartition(topic, 0): 500})
        deleted.raise_errors()
    nodes.stop(OURS)
    nodes.start(OURS)
    await write(nodes, topic, 300)
    await equal(nodes, topic)


async def test_a_log_that_diverged_is_cut_where_the_leaders_begins_to_differ(nodes: Nodes) -> None:
    """Ours leads alone, is killed, and the other one is elected without what was written meanwhile."""
    topic = await replicated(nodes, **{"unclean.leader.election.enable": "true"})
    await write(nodes, topic, 3_000)
    nodes.kill(KAFKA)
    await in_sync(nodes, topic, OURS)
    await write(nodes, topic, 900, by=OURS)
    nodes.kill(OURS)
    nodes.start(KAFKA)
    await in_sync(nodes, topic, KAFKA)
    await write(nodes, topic, 600)
    nodes.start(OURS)
    await equal(nodes, topic)
    have_the_same_epochs(nodes, topic)
