"""What tests of groups do again and again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from millstream.clients import Admin, Consumer, NewTopic, RebalanceListener, TopicPartition
from tests.patience import LONG_ENOUGH_S

Entry = tuple[str, set[int]]


async def topic_with_partitions(bootstrap: str, name: str, partitions: int) -> str:
    async with Admin(bootstrap_servers=bootstrap) as admin:
        (await admin.create_topics([NewTopic(name, partitions)])).raise_errors()
    return name


async def until_shared(consumers: list[Consumer], partitions: int) -> None:
    """Poll all until each has its part."""

    def shared() -> bool:
        parts = [consumer.assignment() for consumer in consumers]
        return all(parts) and sum(map(len, parts)) == partitions == len(set().union(*parts))

    await polled_until(consumers, shared)


async def polled_until(consumers: list[Consumer], done: Callable[[], bool]) -> None:
    async with asyncio.timeout(LONG_ENOUGH_S):
        while not done():
            for consumer in consumers:
                await consumer.poll(timeout_ms=50)


class Diary(RebalanceListener):
    """Partition numbers that the listener was told of, in order."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    @property
    def moves(self) -> list[Entry]:
        """Without the assignments that brought nothing new."""
        return [entry for entry in self.entries if entry[1]]

    async def on_partitions_revoked(self, partitions: set[TopicPartition]) -> None:
        self.entries.append(("revoked", {p.partition for p in partitions}))

    async def on_partitions_lost(self, partitions: set[TopicPartition]) -> None:
        self.entries.append(("lost", {p.partition for p in partitions}))

    async def on_partitions_assigned(self, partitions: set[TopicPartition]) -> None:
        self.entries.append(("assigned", {p.partition for p in partitions}))
