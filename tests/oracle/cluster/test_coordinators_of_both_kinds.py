"""What coordinators write, at three replicas: one of a kind dies, and one of the other kind goes on from what it finds in its log."""

from __future__ import annotations

import asyncio
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from itertools import chain
from pathlib import Path

import pytest

from millstream.clients import (
    Admin,
    Consumer,
    OffsetAndMetadata,
    Producer,
    TopicPartition,
)
from millstream.clients.admin import AlterConfig, ConfigResource, ConfigResourceType
from millstream.errors import MillstreamError
from tests.integration.clients.groups.group_members import (
    join_share_group,
    join_streams_group,
    leave_share_group,
    leave_streams_group,
)
from tests.oracle.cluster.loads import Loads
from tests.oracle.cluster.members import PROTOCOLS, Group
from tests.oracle.cluster.nodes import LONG_S, Kind, Node, Nodes
from tests.oracle.cluster.replicas import (
    REPLICATED,
    all_in_sync,
    described,
    equal,
    lead,
    replicated,
)
from tests.oracle.cluster.work import TOOLS, committed, new_name, produced, shared
from tests.support.kafka_node import CLASSPATH, NEEDS_KAFKA

pytestmark = [*NEEDS_KAFKA, pytest.mark.timeout(900)]
ALL = (1, 2, 3)
ROTATED = ([1, 2, 3], [2, 3, 1], [3, 1, 2])
MIXES = (
    (Kind.KAFKA, Kind.KAFKA, Kind.OURS),
    (Kind.OURS, Kind.OURS, Kind.KAFKA),
)
OFFSETS = "__consumer_offsets"
TRANSACTIONS = "__transaction_state"
SHARE_STATE = "__share_group_state"
COPIED = 6_000


@pytest.fixture(scope="module", params=MIXES, ids="-".join)
def nodes(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Nodes]:
    members = [Node(number, kind) for number, kind in zip(ALL, request.param, strict=True)]
    with Nodes(tmp_path_factory.mktemp("nodes"), members, settings=REPLICATED) as running:
        yield running
        assert running.complaints() == []


class Passing:
    """A node of each kind, of which one coordinates: it is killed, and the other one, which is the next of the replicas, follows."""

    def __init__(self, nodes: Nodes, topics: Sequence[str]) -> None:
        self._nodes = nodes
        self._topics = topics
        self._pair = [nodes.of_kind(kind)[0] for kind in Kind]

    async def begin(self) -> None:
        await self._lead()

    async def __call__(self) -> None:
        """Returns when the coordinator is dead, and the one of the other kind has its partitions. See `back`."""
        await asyncio.to_thread(self._nodes.kill, self._pair[0])
        for topic in self._topics:
            await described(
                self._nodes, topic, lambda found: all(p.leader == self._pair[1] for p in found)
            )

    async def back(self) -> None:
        """Returns when the dead one is back and in sync, and the other one has the lead."""
        await asyncio.to_thread(self._nodes.start, self._pair[0])
        self._pair.reverse()
        await self._lead()

    async def _lead(self) -> None:
        for topic in self._topics:
            await all_in_sync(self._nodes, topic)
            await lead(self._nodes, topic, *self._pair)


async def test_groups_go_on(nodes: Nodes, tmp_path: Path) -> None:
    """Classic and KIP-848 ones, of members of both clients; and offsets that nobody reads meanwhile are there as they were."""
    topic = await replicated(nodes, ROTATED)
    idle = {
        TopicPartition(topic, number): OffsetAndMetadata(number + 7, f"m{number}", number)
        for number in range(3)
    }
    async with AsyncExitStack() as stack:
        loads = await stack.enter_async_context(Loads(nodes, topic, 3, tmp_path))
        groups = [Group(nodes, topic, protocol, tmp_path) for protocol in PROTOCOLS]
        for group in groups:
            await stack.enter_async_context(group)
            await group.finds(loads.values())
        passing = Passing(nodes, [OFFSETS])
        await passing.begin()
        name = new_name("idle")
        async with Admin(bootstrap_servers=nodes.bootstrap_servers) as admin:
            (await admin.alter_consumer_group_offsets(name, idle)).raise_errors()
        for _ in range(2):
            await passing()
            await loads.go_on()
            for group in groups:
                await group.finds(loads.values())
            async with Admin(bootstrap_servers=nodes.bootstrap_servers) as admin:
                listed = await admin.list_consumer_group_offsets([name])
                assert listed.result(name) == idle
            await passing.back()
            await loads.go_on()
        for group in groups:
            await group.finds(loads.values())
            assert group.both_have_read()
    await equal(nodes, topic)


async def test_share_and_streams_groups_go_on(nodes: Nodes) -> None:
    """What was accepted does not come again; members that the last coordinator knew the next one knows."""
    topic, share, streams = await replicated(nodes, ROTATED), new_name("share"), new_name("streams")
    async with Admin(bootstrap_servers=nodes.bootstrap_servers) as admin:
        earliest = AlterConfig("share.auto.offset.reset", "earliest")
        resource = ConfigResource(ConfigResourceType.GROUP, share)
        (await admin.incremental_alter_configs({resource: [earliest]})).raise_errors()
    await share_some(nodes, topic, share, 0)
    passing = Passing(nodes, [OFFSETS, SHARE_STATE])
    await passing.begin()
    async with Admin(bootstrap_servers=nodes.bootstrap_servers) as admin:
        for turn in range(1, 3):
            member = await join_streams_group(admin, streams, topic)
            share_member, _ = await join_share_group(admin, f"{share}-members", topic)
            before = (await admin.describe_streams_groups([streams])).result(streams)
            await share_some(nodes, topic, share, 2 * turn - 1)
            await passing()
            await share_some(nodes, topic, share, 2 * turn)
            after = (await admin.describe_streams_groups([streams])).result(streams)
            assert before.coordinator != after.coordinator
            assert after._replace(coordinator=before.coordinator) == before
            await leave_streams_group(admin, streams, member)
            await leave_share_group(admin, f"{share}-members", share_member)
            await passing.back()
        offsets = (await admin.list_share_group_offsets([share])).result(share)
        assert {each.partition for each in offsets} == {0, 1, 2}
        assert sum(each.lag for each in offsets.values()) == 0


async def share_some(nodes: Nodes, topic: str, group: str, turn: int) -> None:
    values = sorted(f"{turn}.{number:03}" for number in range(30))
    await produced(nodes.bootstrap_servers, topic, values, 3)
    assert await shared(nodes.bootstrap_servers, topic, group, len(values)) == values


async def test_copies_are_made_exactly_once(nodes: Nodes, tmp_path: Path) -> None:
    """Kafka's TransactionalMessageCopier and one of ours, through coordinators of transactions and of groups that are killed."""
    source, sink = await replicated(nodes, ROTATED), await replicated(nodes, ROTATED)
    values = [f"{number:06}" for number in range(3 * COPIED)]
    await produced(nodes.bootstrap_servers, source, values, 3)
    async with (
        Admin(bootstrap_servers=nodes.bootstrap_servers) as admin,
        Producer(
            bootstrap_servers=nodes.bootstrap_servers, transactional_id=new_name("first")
        ) as producer,
    ):
        offsets = {TopicPartition(source, 0): OffsetAndMetadata(0)}
        (await admin.alter_consumer_group_offsets(new_name("first"), offsets)).raise_errors()
        await producer.init_transactions()
    passing = Passing(nodes, [TRANSACTIONS, OFFSETS])
    await passing.begin()
    theirs = [copier_of_kafka(nodes, source, sink, number, tmp_path) for number in range(2)]
    ours = asyncio.create_task(copied_by_ours(nodes, source, sink, 2))
    await asyncio.sleep(3)
    for _ in range(2):
        await passing()
        assert [process.poll() for process in theirs] == [None, None]
        assert not ours.done()
        await asyncio.sleep(5)
        await passing.back()
    for number, process in enumerate(theirs):
        code = await asyncio.to_thread(process.wait, 2 * LONG_S)
        assert code == 0, (tmp_path / f"copier-{number}").read_text()[-3_000:]
    await asyncio.wait_for(ours, LONG_S)
    found = Counter(chain.from_iterable(await committed(nodes.bootstrap_servers, sink, 3)))
    assert {value: count for value, count in found.items() if count > 1} == {}
    assert set(values) - set(found) == set()
    await equal(nodes, sink)


def copier_of_kafka(
    nodes: Nodes, source: str, sink: str, partition: int, directory: Path
) -> subprocess.Popen[bytes]:
    name = new_name("copier")
    command = [
        "java", "-XX:TieredStopAtLevel=1", "-Xmx128m", "-cp", CLASSPATH, f"{TOOLS}.TransactionalMessageCopier",
        "--broker-list", nodes.bootstrap_servers, "--input-topic", source, "--input-partition", str(partition),
        "--output-topic", sink, "--transactional-id", name, "--consumer-group", name,
        "--transaction-size", "10", "--max-messages", str(COPIED), "--transaction-timeout", "60000",
        "--enable-random-aborts", "--use-group-metadata",
    ]  # fmt: skip
    with (directory / f"copier-{partition}").open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=log)


async def copied_by_ours(nodes: Nodes, source: str, sink: str, partition: int) -> None:
    """Whatever fails, it begins anew from what is committed."""
    name, key = new_name("ours"), TopicPartition(source, partition)
    while True:
        try:
            async with (
                Producer(
                    bootstrap_servers=nodes.bootstrap_servers, transactional_id=name
                ) as producer,
                Consumer(
                    bootstrap_servers=nodes.bootstrap_servers,
                    group_id=name,
                    auto_offset_reset="earliest",
                    enable_auto_commit=False,
                    max_poll_records=10,
                ) as consumer,
            ):
                await producer.init_transactions()
                consumer.assign([key])
                while await consumer.position(key) < COPIED:
                    await copy_some(consumer, producer, sink, partition)
                return
        except MillstreamError:
            await asyncio.sleep(0.1)


async def copy_some(consumer: Consumer, producer: Producer, sink: str, partition: int) -> None:
    records = await consumer.poll(timeout_ms=500)
    if not records:
        return
    await producer.begin_transaction()
    for record in records:
        await producer.send(sink, record.value, partition=partition)
    ends = {
        TopicPartition(record.topic, record.partition): OffsetAndMetadata(record.offset + 1)
        for record in records
    }
    await producer.send_offsets_to_transaction(ends, consumer.group_metadata())
    await producer.commit_transaction()
