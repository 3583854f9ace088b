"""Thousands of partitions come and go in turns, and whoever asks for one of them does not notice."""

from __future__ import annotations

import asyncio

import pytest

from millstream.errors import NotLeaderOrFollower, UnknownTopicOrPartition
from millstream.metadata.loader import PublishedImage
from millstream.records.builder import build_batch
from millstream.records.record import Record
from millstream.runtime.system import SystemClock
from tests.patience import LONG_ENOUGH_S, until
from tests.support.simulated_disk import SimFileSystem
from tests.unit.broker.node.test_broker_part import Running, node


async def test_thousands_of_new_partitions_are_hosted_in_turns_or_when_somebody_asks() -> None:
    disk = SimFileSystem()

    def hosted_of(running: Running) -> int:
        return sum(name.topic == "many" for name, _ in running.services.partitions.all())

    async with node(disk) as running:
        at_once: list[int] = []
        last: list[bool] = []

        def look(_published: object) -> None:
            at_once.append(hosted_of(running))
            if running.services.metadata.image.topic("many"):
                last.append(running.services.partitions.get("many", 999).is_leader)

        running.parts._controller.subscribe(look)
        await running.create("many", partitions=1_000)
        assert (at_once[0], last[0]) == (0, True)
        with pytest.raises(UnknownTopicOrPartition):
            running.services.partitions.get("many", 1_000)
        async with asyncio.timeout(LONG_ENOUGH_S):
            while hosted_of(running) < 1_000:  # noqa: ASYNC110 - it tells nobody
                await asyncio.sleep(0)
    async with node(disk) as running:
        assert hosted_of(running) == 1_000


async def test_thousands_of_deleted_partitions_leave_at_once_and_their_files_in_turns() -> None:
    """Nobody can use them, their name is free, and a node that stops meanwhile leaves nothing behind."""
    disk = SimFileSystem()
    held: list[int] = []
    async with node(disk) as running:

        def look(published: PublishedImage) -> None:
            if published.delta.topics.deleted():
                held.append(sum(1 for directory in running.directories for _ in directory))

        running.parts._controller.subscribe(look)
        for _ in range(2):
            await running.create("many", partitions=1_000)
            await until(lambda: len(list(running.services.partitions.all())) == 1_000)
            await until(lambda: not len(running.parts.new_logs))
            former = running.services.partitions.get("many", 999)
            assert running.append("many", b"old", 999) == 0
            await running.delete("many")
            with pytest.raises(UnknownTopicOrPartition):
                running.services.partitions.get("many", 999)
            with pytest.raises(NotLeaderOrFollower, match="no broker leads"):
                former.append(memoryview(build_batch([Record(timestamp=1)])), SystemClock().now())
        assert min(held) > 900, "the loop did not wait for a thousand files"
    async with node(disk) as running:
        assert not [name for name in disk.list("data") if "many" in name and "delete" not in name]
