"""Very many partitions follow the metadata in turns, and whoever asks for one before its turn cannot tell."""

from __future__ import annotations

import pytest

from millstream.controller.configs.alter_configs import INCREMENTAL_ALTER_CONFIGS
from millstream.errors import (
    UnknownTopicOrPartition,
)
from millstream.protocol.generated.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.patience import LONG_ENOUGH_S, until
from tests.support.simulated_disk import SimFileSystem
from tests.unit.broker.node.test_broker_part import node

MANY = 250
"""Partitions, so that they follow the metadata in turns."""


async def test_whoever_asks_for_one_of_very_many_deleted_partitions_is_told_at_once() -> None:
    async with node(SimFileSystem()) as running:
        await running.create("t", MANY)
        running.append("t", b"x", MANY - 1)
        await running.delete("t")
        partitions = running.services.partitions
        left = len(list(partitions.all()))
        with pytest.raises(UnknownTopicOrPartition):
            partitions.get("t", MANY - 1)
        assert len(list(partitions.all())) == left - 1
        await until(lambda: not list(partitions.all()))


async def test_a_topic_of_very_many_partitions_that_comes_back_at_once_is_empty() -> None:
    disk = SimFileSystem()
    async with node(disk) as running:
        await running.create("t", MANY)
        running.append("t", b"x", MANY - 1)
        await running.delete("t")
        await running.create("t", MANY)
        topic = running.services.metadata.image.topics.by_name["t"]
        hosted = running.services.partitions.get("t", MANY - 1)
        assert (hosted.topic_id, hosted.log_end_offset) == (topic.topic_id, 0)
    async with node(disk) as again:
        assert len(list(again.services.partitions.all())) == MANY


async def test_very_many_deleted_partitions_are_gone_when_the_node_has_stopped() -> None:
    disk = SimFileSystem()
    async with node(disk) as running:
        await running.create("t", MANY)
        await running.delete("t")
        assert list(running.services.partitions.all()) != []
    assert [
        each for each in disk.list("data") if each.startswith("t-") and not each.endswith("-delete")
    ] == []


async def test_very_many_partitions_are_given_away_when_the_node_leaves() -> None:
    async with node(SimFileSystem()) as running:
        await running.create("t", MANY)
        partition = running.services.partitions.get("t", MANY - 1)
        assert partition.is_leader
        assert await running.parts.leave(LONG_ENOUGH_S)
        assert not running.services.partitions.get("t", MANY - 1).is_leader
        assert running.leaders("t") == [-1] * MANY


async def test_very_many_topics_follow_a_new_default_in_turns_and_when_they_are_asked_for() -> None:
    default = AlterConfigsResource(4, "", [AlterableConfig("log.retention.ms", 0, "1234")])
    request = IncrementalAlterConfigsRequest([default])
    names = [f"t{number}" for number in range(60)]
    async with node(SimFileSystem()) as running:
        for name in names:
            await running.create(name)
        await running.services.controller.ask(INCREMENTAL_ALTER_CONFIGS, request)
        partitions = running.services.partitions
        logs = {place.topic: each.log for place, each in partitions.all()}
        assert logs["t59"].config.retention_ms != 1234
        assert partitions.get("t59", 0).log.config.retention_ms == 1234
        await until(lambda: {log.config.retention_ms for log in logs.values()} == {1234})
