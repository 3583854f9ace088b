"""A group says that it is not ready only while its topics are not, whoever asks, and whenever."""

from __future__ import annotations

import asyncio

from millstream.protocol.enums import GroupState
from millstream.streams.application.kafka_streams import KafkaStreams
from tests.integration.streams.application.instances import PARTITIONS, Instances
from tests.patience import until

TASKS = 2 * PARTITIONS


async def states_until_stopped(instances: Instances, stop: asyncio.Event) -> set[GroupState]:
    """Returns every state that the group is described and listed in."""
    seen = set()
    while not stop.is_set():
        described = await instances.admin.describe_streams_groups([instances.application])
        seen.add(described.result(instances.application).state)
        seen |= {
            each.state
            for each in await instances.admin.list_groups(types=["streams"])
            if each.group_id == instances.application
        }
    return seen


def sizes(*apps: KafkaStreams) -> list[int]:
    return [sum(map(len, app.tasks.values())) for app in apps]


async def test_a_group_whose_topics_are_there_is_never_said_to_be_not_ready(
    instances: Instances,
) -> None:
    """KAFKA-19661: groups were listed and described as NOT_READY while they were stable.

    1. A member heartbeats, and the coordinator configures the topology that the group has, which no record keeps. 2. Lists and descriptions
    show the group as its last committed records make it, which lacks that, and say NOT_READY. Ours follows from records alone: the epoch of
    the topology that was validated is one of them.
    """
    stop = asyncio.Event()
    first, second = instances.new(), instances.new()
    async with first:
        await until(lambda: sizes(first) == [TASKS])
        asking = asyncio.create_task(states_until_stopped(instances, stop))
        async with second:
            await until(lambda: sizes(first, second) == [TASKS // 2] * 2)
        await until(lambda: sizes(first) == [TASKS])
        stop.set()
        seen = await asking
    assert GroupState.STABLE in seen
    assert GroupState.NOT_READY not in seen
