"""Brokers of ours whose controllers are Apache Kafka's: a static quorum, a dynamic one, and levels of metadata.version below the newest."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from millstream.clients import Admin, Producer
from millstream.clients.admin import (
    AlterConfig,
    ConfigResource,
    ConfigResourceType,
    NewPartitions,
)
from tests.integration.clients.groups.group_members import (
    join_streams_group,
    leave_streams_group,
)
from tests.oracle.cluster.nodes import LONG_S, Kind, Node, Nodes
from tests.oracle.cluster.work import (
    TOOLS,
    consumed,
    created,
    known,
    new_name,
    produced,
    quorum_leader,
    restarted,
    said,
    shared,
    tool,
)
from tests.support.kafka_node import NEEDS_KAFKA

pytestmark = [*NEEDS_KAFKA, pytest.mark.timeout(600)]
BROKERS = (1, 2)
CONTROLLERS = (101, 102, 103)


def members(controllers: int) -> list[Node]:
    return [
        *(Node(number, Kind.KAFKA, "controller") for number in CONTROLLERS[:controllers]),
        *(Node(number, Kind.OURS, "broker") for number in BROKERS),
    ]


@pytest.fixture(scope="module", params=["static", "dynamic"])
def nodes(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Nodes]:
    is_dynamic = request.param == "dynamic"
    with Nodes(tmp_path_factory.mktemp("nodes"), members(3), is_dynamic=is_dynamic) as running:
        yield running
        assert running.complaints() == []


async def test_topics_configs_and_records(nodes: Nodes) -> None:
    topic = await created(nodes, [1, 2, 1, 2], **{"retention.ms": "1000000"})
    values = sorted(f"v{number}" for number in range(400))
    await produced(nodes.client_address(1), topic, values, 4)
    for protocol in ("classic", "consumer"):
        found = await consumed(
            nodes.client_address(2), topic, new_name("g"), 400, group_protocol=protocol
        )
        assert found == values
    resource = ConfigResource(ConfigResourceType.TOPIC, topic)
    async with Admin(bootstrap_servers=nodes.client_address(2)) as admin:
        changed = AlterConfig("retention.ms", "2000000")
        (await admin.incremental_alter_configs({resource: [changed]})).raise_errors()
        (await admin.create_partitions({topic: NewPartitions(5, [[2]])})).raise_errors()
        await known(nodes.client_address(1), topic, [1, 2, 1, 2, 2])
        described = (await admin.describe_configs([resource])).result(resource)
        assert described["retention.ms"].value == "2000000"
        quorum = await admin.describe_metadata_quorum()
        assert {each.replica_id for each in quorum.voters} == set(CONTROLLERS)
        assert {each.replica_id for each in quorum.observers} == set(BROKERS)
        (await admin.delete_topics([topic])).raise_errors()


async def test_share_groups(nodes: Nodes) -> None:
    topic, group = await created(nodes, [1, 2]), new_name("share")
    async with Admin(bootstrap_servers=nodes.bootstrap_servers) as admin:
        earliest = AlterConfig("share.auto.offset.reset", "earliest")
        resource = ConfigResource(ConfigResourceType.GROUP, group)
        (await admin.incremental_alter_configs({resource: [earliest]})).raise_errors()
    for first in (0, 100):
        values = sorted(f"v{number}" for number in range(first, first + 100))
        await produced(nodes.bootstrap_servers, topic, values, 2)
        assert await shared(nodes.bootstrap_servers, topic, group, 100) == values


async def test_streams_groups(nodes: Nodes) -> None:
    topic, group = await created(nodes, [1, 2]), new_name("streams")
    async with Admin(bootstrap_servers=nodes.bootstrap_servers) as admin:
        member = await join_streams_group(admin, group, topic)
        for number in BROKERS:
            async with Admin(bootstrap_servers=nodes.client_address(number)) as asked:
                described = (await asked.describe_streams_groups([group])).result(group)
                assert [each.member_id for each in described.members] == [member]
        await leave_streams_group(admin, group, member)


@pytest.mark.parametrize("is_killed", [False, True], ids=["stopped", "killed"])
async def test_a_broker_goes_and_comes_back(nodes: Nodes, is_killed: bool) -> None:
    """The other one goes on meanwhile; all that was acknowledged is there afterwards."""
    topic = await created(nodes, [1, 2])
    values = sorted(f"v{number}" for number in range(100))
    await produced(nodes.bootstrap_servers, topic, values, 2)
    if is_killed:
        await asyncio.to_thread(nodes.kill, 1)
    else:
        assert await asyncio.to_thread(nodes.stop, 1) == 0
    async with (
        asyncio.timeout(LONG_S),
        Producer(bootstrap_servers=nodes.client_address(2)) as producer,
    ):
        for number in range(100):
            await producer.send(topic, b"meanwhile %d" % number, partition=1)
    await known(nodes.client_address(2), topic, [-1, 2])
    await asyncio.to_thread(nodes.start, 1)
    await known(nodes.client_address(2), topic, [1, 2])
    meanwhile = [f"meanwhile {number}" for number in range(100)]
    found = await consumed(nodes.bootstrap_servers, topic, new_name("g"), 200)
    assert found == sorted(values + meanwhile)


@pytest.mark.parametrize("is_killed", [False, True], ids=["stopped", "killed"])
async def test_the_active_controller_goes_and_comes_back(nodes: Nodes, is_killed: bool) -> None:
    leader = await quorum_leader(nodes)
    await asyncio.to_thread(nodes.kill if is_killed else nodes.stop, leader)
    topic = await created(nodes, [1, 2])
    assert await quorum_leader(nodes) != leader
    await asyncio.to_thread(nodes.start, leader)
    values = sorted(f"v{number}" for number in range(100))
    await produced(nodes.bootstrap_servers, topic, values, 2)
    assert await consumed(nodes.bootstrap_servers, topic, new_name("g"), 100) == values


@pytest.mark.parametrize("is_running", [False, True], ids=["stopped", "running"])
async def test_a_broker_is_unregistered(nodes: Nodes, is_running: bool) -> None:
    """Kafka forgets a running one, too; it is told so with each heartbeat, goes on, and is one of them again after a restart."""
    await asyncio.to_thread(nodes.add, Node(3, Kind.OURS, "broker"))
    if not is_running:
        await asyncio.to_thread(nodes.stop, 3)
    answer = await asyncio.to_thread(
        tool, f"{TOOLS}.ClusterTool", "unregister", "--bootstrap-server", nodes.client_address(1), "--id", "3"
    )  # fmt: skip
    assert "Broker 3 is no longer registered." in answer
    if is_running:
        await asyncio.to_thread(said, nodes, 3, "refuses the heartbeats of this broker")
        assert await asyncio.to_thread(nodes.stop, 3) == 0
    await asyncio.to_thread(nodes.start, 3)
    await created(nodes, [3, 1])
    await asyncio.to_thread(nodes.remove, 3)


@pytest.mark.parametrize("release", ["3.3", "3.6", "3.7", "3.9", "4.0", "4.1", "4.2"])
async def test_a_controller_below_the_newest_level(
    tmp_path_factory: pytest.TempPathFactory, release: str
) -> None:
    """What a level does not have, no broker uses: the directories of partitions, share groups, the second version of transactions."""
    with Nodes(tmp_path_factory.mktemp("nodes"), members(1), release=release) as nodes:
        topic = await created(nodes, [1, 2])
        values = sorted(f"v{number}" for number in range(100))
        for number, name in enumerate((new_name("txn"), new_name("txn"))):
            async with Producer(
                bootstrap_servers=nodes.bootstrap_servers, transactional_id=name
            ) as producer:
                await producer.init_transactions()
                for commits in (False, True):
                    await producer.begin_transaction()
                    for value in values:
                        await producer.send(topic, value.encode(), partition=number)
                    await (
                        producer.commit_transaction() if commits else producer.abort_transaction()
                    )
        await restarted(nodes, 1, is_killed=True)
        await restarted(nodes, CONTROLLERS[0], is_killed=False)
        found = await consumed(
            nodes.bootstrap_servers, topic, new_name("g"), 200, isolation_level="read_committed"
        )
        assert found == sorted(values * 2)
        async with Admin(bootstrap_servers=nodes.bootstrap_servers) as admin:
            before = (await admin.describe_features()).finalized["metadata.version"].highest
        await asyncio.to_thread(
            tool, f"{TOOLS}.FeatureCommand", "--bootstrap-server", nodes.bootstrap_servers, "upgrade",
            "--release-version", "4.3",
        )  # fmt: skip
        await created(nodes, [1, 2])
        async with Admin(bootstrap_servers=nodes.bootstrap_servers) as admin:
            after = (await admin.describe_features()).finalized["metadata.version"].highest
        assert before < after == 30
        assert nodes.complaints() == []
