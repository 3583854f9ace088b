"""Admin calls that need several brokers: MILLSTREAM_KAFKA_BOOTSTRAP of a cluster with at least three."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest

from millstream.clients import Admin, NewTopic, OffsetAndMetadata, TopicPartition
from millstream.clients.admin import ElectionType, OffsetSpec
from millstream.errors import InvalidReplicationFactor
from tests.patience import eventually

NewName = Callable[[], str]


@pytest.fixture
async def admin(bootstrap: str) -> AsyncIterator[Admin]:
    async with Admin(bootstrap_servers=bootstrap) as client:
        if len((await client.describe_cluster()).nodes) < 3:
            pytest.skip("the cluster has fewer than three brokers")
        yield client


async def create(admin: Admin, topic: NewTopic) -> None:
    (await admin.create_topics([topic])).raise_errors()

    async def is_there() -> bool:
        return not (await admin.describe_topics([topic.name])).errors()

    await eventually(is_there)


async def test_items_are_spread_over_leaders_and_coordinators(
    admin: Admin, new_topic: NewName
) -> None:
    topic = new_topic()
    await create(admin, NewTopic(topic, 6, 3))
    partitions = [TopicPartition(topic, index) for index in range(6)]
    described = (await admin.describe_topics([topic])).result(topic)
    assert len({each.leader for each in described.partitions}) == 3
    offsets = await admin.list_offsets(dict.fromkeys(partitions, OffsetSpec.LATEST))
    assert [offsets.result(each).offset for each in partitions] == [0] * 6
    groups = [new_topic() for _ in range(20)]
    for group in groups:
        commit = {partitions[0]: OffsetAndMetadata(0)}
        (await admin.alter_consumer_group_offsets(group, commit)).raise_errors()
    listed = await admin.list_consumer_group_offsets(groups)
    assert listed == {group: {partitions[0]: OffsetAndMetadata(0)} for group in groups}
    told = await admin.describe_groups(groups)
    assert len({told.result(group).coordinator for group in groups}) > 1
    assert set(groups) <= {each.group_id for each in await admin.list_groups()}


async def test_replicas_move_to_other_brokers_and_the_preferred_one_leads(
    admin: Admin, new_topic: NewName
) -> None:
    partition = TopicPartition(new_topic(), 0)
    await create(admin, NewTopic(partition.topic, assignments=[[1]]))

    async def replicas_are(*wanted: int) -> bool:
        (found,) = (
            (await admin.describe_topics([partition.topic])).result(partition.topic).partitions
        )
        return (found.replicas, set(found.isr)) == (wanted, set(wanted))

    assert await admin.alter_partition_reassignments({partition: [2, 3]}) == {partition: None}
    await eventually(lambda: replicas_are(2, 3))
    assert await admin.list_partition_reassignments([partition]) == {}
    refused = await admin.alter_partition_reassignments(
        {partition: [1]}, allow_replication_factor_change=False
    )
    assert isinstance(refused[partition], InvalidReplicationFactor)
    (await admin.alter_partition_reassignments({partition: [3, 2]})).raise_errors()
    await eventually(lambda: replicas_are(3, 2))
    assert await admin.elect_leaders(ElectionType.PREFERRED, [partition]) == {partition: None}

    async def three_leads() -> bool:
        (found,) = (
            (await admin.describe_topics([partition.topic])).result(partition.topic).partitions
        )
        return found.leader == 3

    await eventually(three_leads)
