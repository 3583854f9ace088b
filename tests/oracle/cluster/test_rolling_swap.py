"""A cluster of Apache Kafka's becomes one of ours node by node, on the same directories and under load, and back again."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from itertools import chain
from pathlib import Path

import pytest

from millstream.clients import Admin, OffsetAndMetadata, Producer, TopicPartition
from millstream.clients.admin import AlterConfig, ConfigResource, ConfigResourceType
from tests.integration.clients.groups.group_members import join_streams_group
from tests.oracle.cluster.loads import Loads, everything
from tests.oracle.cluster.members import PROTOCOLS, Group
from tests.oracle.cluster.nodes import Kind, Node, Nodes
from tests.oracle.cluster.replicas import REPLICATED, all_in_sync, equal, replicated
from tests.oracle.cluster.work import committed, consumed, new_name, produced, shared
from tests.support.kafka_node import NEEDS_KAFKA

pytestmark = [*NEEDS_KAFKA, pytest.mark.timeout(1_800)]
ALL = (1, 2, 3)
ROTATED = ([1, 2, 3], [2, 3, 1], [3, 1, 2])
INTERNAL = ("__consumer_offsets", "__transaction_state", "__share_group_state")


@pytest.mark.parametrize("is_killed", [False, True], ids=["stopped", "killed"])
async def test_there_and_back(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, is_killed: bool
) -> None:
    members = [Node(number, Kind.KAFKA) for number in ALL]
    directory = tmp_path_factory.mktemp("nodes")
    with Nodes(directory, members, settings=REPLICATED, is_dynamic=is_killed) as nodes:
        topic = await replicated(nodes, ROTATED, **{"segment.bytes": "1048576"})
        world = World(nodes)
        await world.begin()
        async with AsyncExitStack() as stack:
            loads = await stack.enter_async_context(Loads(nodes, topic, 3, tmp_path))
            groups = [Group(nodes, topic, protocol, tmp_path) for protocol in PROTOCOLS]
            for group in groups:
                await stack.enter_async_context(group)
                await group.finds(loads.values())
            for number in (*ALL, *ALL):
                await asyncio.to_thread(nodes.kill if is_killed else nodes.stop, number)
                await loads.go_on()
                await asyncio.to_thread(nodes.take_over, number)
                for name in (topic, world.topic, *INTERNAL):
                    await all_in_sync(nodes, name)
                await loads.go_on()
                await world.go_on()
                for group in groups:
                    await group.finds(loads.values())
        loads.check(await everything(nodes, topic, 3))
        await world.check()
        await equal(nodes, topic)
        await equal(nodes, world.topic)
        assert nodes.complaints() == []


class World:
    """Transactions, a share group, committed offsets and settings, which are all there after each step."""

    def __init__(self, nodes: Nodes) -> None:
        self.topic = ""
        self._nodes = nodes
        self._servers = nodes.bootstrap_servers
        self._share = new_name("share")
        self._idle = new_name("idle")
        self._streams = new_name("streams")
        self._turn = 0
        self._committed: list[str] = []
        self._shared_topic = ""

    async def begin(self) -> None:
        self.topic = await replicated(self._nodes, ROTATED, **{"retention.ms": "900000000"})
        self._shared_topic = await replicated(self._nodes, ROTATED)
        async with Admin(bootstrap_servers=self._servers) as admin:
            earliest = AlterConfig("share.auto.offset.reset", "earliest")
            resource = ConfigResource(ConfigResourceType.GROUP, self._share)
            (await admin.incremental_alter_configs({resource: [earliest]})).raise_errors()
            (await admin.alter_consumer_group_offsets(self._idle, self._offsets())).raise_errors()
        # A transaction stays open while a node is replaced, which on a busy machine takes longer than the minute that is the default.
        self._producer = Producer(
            bootstrap_servers=self._servers,
            transactional_id=new_name("txn"),
            transaction_timeout_ms=600_000,
        )
        await self._producer.init_transactions()
        await self._write()
        await self._share_some()

    async def go_on(self) -> None:
        """A producer that was there before goes on; one aborts; what was committed is read; nothing else is changed."""
        self._turn += 1
        await self._producer.commit_transaction()
        await self._write()
        await self._share_some()
        resource = ConfigResource(ConfigResourceType.TOPIC, self.topic)
        async with Admin(bootstrap_servers=self._servers) as admin:
            listed = await admin.list_consumer_group_offsets([self._idle])
            assert listed.result(self._idle) == self._offsets()
            configs = (await admin.describe_configs([resource])).result(resource)
            assert configs["retention.ms"].value == "900000000"
            member = await join_streams_group(admin, self._streams, self._shared_topic)
            described = (await admin.describe_streams_groups([self._streams])).result(self._streams)
            assert member in {each.member_id for each in described.members}
        once = new_name("once")
        assert len(await consumed(self._servers, self._shared_topic, once, 30 * self._turn)) > 0

    async def check(self) -> None:
        await self._producer.commit_transaction()
        await self._producer.close()
        found = Counter(chain.from_iterable(await committed(self._servers, self.topic, 3)))
        assert found == Counter(self._committed)

    def _offsets(self) -> dict[TopicPartition, OffsetAndMetadata]:
        return {
            TopicPartition(self.topic, number): OffsetAndMetadata(number + 7, f"m{number}", number)
            for number in range(3)
        }

    async def _write(self) -> None:
        """A transaction that is aborted, and one that stays open until `go_on`."""
        for word in ("aborted", "committed"):
            await self._producer.begin_transaction()
            for number in range(30):
                value = f"{word} {self._turn} {number}"
                await self._producer.send(self.topic, value.encode(), partition=number % 3)
                if word == "committed":
                    self._committed.append(value)
            await self._producer.flush()
            if word == "aborted":
                await self._producer.abort_transaction()

    async def _share_some(self) -> None:
        values = sorted(f"{self._turn}.{number:03}" for number in range(30))
        await produced(self._servers, self._shared_topic, values, 3)
        assert await shared(self._servers, self._shared_topic, self._share, 30) == values
