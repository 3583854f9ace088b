"""Quorums of three combined nodes of which one or two are Apache Kafka's: each kind leads, and the other follows what it writes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Mapping

import pytest

from millstream.clients import Admin, NewTopic
from millstream.clients.admin import AlterConfig, ConfigResource, ConfigResourceType, ConfigSource
from millstream.errors import KafkaError
from tests.oracle.cluster.nodes import LONG_S, Kind, Node, Nodes
from tests.oracle.cluster.work import (
    consumed,
    created,
    led_by,
    new_name,
    produced,
    quorum_leader,
)
from tests.support.kafka_node import NEEDS_KAFKA

pytestmark = [*NEEDS_KAFKA, pytest.mark.timeout(600)]
ALL = (1, 2, 3)
MIXES = (
    (Kind.OURS, Kind.KAFKA, Kind.OURS),
    (Kind.KAFKA, Kind.OURS, Kind.KAFKA),
)
SNAPSHOTS = {
    "metadata.log.max.record.bytes.between.snapshots": "2000",
    "metadata.max.retention.bytes": "1",
    "metadata.log.segment.bytes": "8388608",
}
"""A snapshot every few topics, and the log before it is given up."""


@pytest.fixture(scope="module", params=MIXES, ids="-".join)
def nodes(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Nodes]:
    members = [Node(number, kind) for number, kind in zip(ALL, request.param, strict=True)]
    with Nodes(
        tmp_path_factory.mktemp("nodes"), members, is_dynamic=True, settings=SNAPSHOTS
    ) as running:
        yield running
        assert running.complaints() == []


async def told(bootstrap: str) -> Mapping[str, object]:
    """All topics as one node describes them, with what of their configs was changed."""
    async with asyncio.timeout(LONG_S), Admin(bootstrap_servers=bootstrap) as admin:
        names = sorted(await admin.list_topics())
        resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
        topics = await admin.describe_topics(names)
        configs = await admin.describe_configs(resources)
        return {
            resource.name: (
                topics.result(resource.name),
                {
                    name: entry.value
                    for name, entry in configs.result(resource).items()
                    if entry.source is ConfigSource.TOPIC_CONFIG
                },
            )
            for resource in resources
        }


async def all_tell_the_same(nodes: Nodes) -> Mapping[str, object]:
    """Returns what all nodes say, as soon as they do."""
    found: list[Mapping[str, object]] = []
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LONG_S):
            while True:
                with contextlib.suppress(KafkaError):
                    found = [await told(nodes.client_address(n)) for n in sorted(nodes.running)]
                    if all(each == found[0] for each in found):
                        return found[0]
                await asyncio.sleep(0.2)
    raise AssertionError(f"the nodes do not agree: {found}")


async def changed_by_leader(nodes: Nodes) -> str:
    """A topic that is there to stay with a config, and one that is deleted."""
    topic = await created(nodes, ALL, **{"retention.ms": "1000000"})
    gone = await created(nodes, ALL)
    resource = ConfigResource(ConfigResourceType.TOPIC, topic)
    async with Admin(bootstrap_servers=nodes.bootstrap_servers) as admin:
        alter = AlterConfig("segment.ms", "3000000")
        (await admin.incremental_alter_configs({resource: [alter]})).raise_errors()
        (await admin.delete_topics([gone])).raise_errors()
    return topic


async def test_each_kind_leads_and_all_follow(nodes: Nodes) -> None:
    topics = set()
    for kind in (Kind.OURS, Kind.KAFKA, Kind.OURS):
        leader = await led_by(nodes, kind)
        topic = await changed_by_leader(nodes)
        topics.add(topic)
        values = sorted(f"v{number}" for number in range(300))
        await produced(nodes.bootstrap_servers, topic, values, 3)
        assert await consumed(nodes.bootstrap_servers, topic, new_name("g"), 300) == values
        assert topics <= (await all_tell_the_same(nodes)).keys()
        assert await quorum_leader(nodes) == leader


@pytest.mark.parametrize("kind", list(Kind))
async def test_a_follower_of_the_other_kind_takes_a_snapshot(nodes: Nodes, kind: Kind) -> None:
    """The leader has given up the log that the follower would go on with."""
    leader = await led_by(nodes, kind)
    follower = nodes.of_kind(kind.other)[0]
    await asyncio.to_thread(nodes.stop, follower)
    async with Admin(bootstrap_servers=nodes.client_address(leader)) as admin:
        end = (await admin.describe_metadata_quorum()).high_watermark
        while first_offset(nodes, leader) <= end:
            topic = NewTopic(new_name("topic"), assignments=[[leader]] * 2)
            (await admin.create_topics([topic])).raise_errors()
            await asyncio.sleep(0.2)
    assert await quorum_leader(nodes) == leader
    await asyncio.to_thread(nodes.start, follower)
    await all_tell_the_same(nodes)
    assert first_offset(nodes, follower, "log") > end  # begun again behind the snapshot


def first_offset(nodes: Nodes, number: int, suffix: str = "checkpoint") -> int:
    """A log begins with its oldest snapshot."""
    log = nodes.data(number) / "__cluster_metadata-0"
    return min((int(path.name[:20]) for path in log.glob(f"*.{suffix}")), default=0)


async def test_a_node_is_handed_over_to_the_other_kind_and_back(nodes: Nodes) -> None:
    """On its own directory: the same voter, with the records of its partitions."""
    topic = await created(nodes, ALL)
    values = sorted(f"v{number}" for number in range(300))
    await produced(nodes.bootstrap_servers, topic, values, 3)
    for number in (2, 3):
        for _ in range(2):
            await asyncio.to_thread(nodes.stop, number)
            await asyncio.to_thread(nodes.take_over, number)
            await created(nodes, ALL)
            assert await consumed(nodes.bootstrap_servers, topic, new_name("g"), 300) == values
            await led_by(nodes, nodes.kind(number))
            await all_tell_the_same(nodes)
