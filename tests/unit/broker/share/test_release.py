"""What a member had is free when its session ends, and what it has in its next one is its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from millstream.broker.config.broker_config import broker_config
from millstream.broker.long_work import LongWork
from millstream.broker.share.sessions import SessionKey, ShareSessionPartition
from millstream.broker.share.share_groups import ShareGroups
from millstream.broker.share.share_partitions import LoadedSharePartition
from millstream.coordinator.share.state import SharePartitionKey, StateChange
from millstream.coordinator.share.state_batch import RecordState
from millstream.model import TopicPartition
from millstream.runtime import Clock
from tests.support.replicated_partition import TOPIC_ID
from tests.unit.broker.share.test_share_partitions import World

ANN = SessionKey("workers", "ann")
FIRST, SECOND = ShareSessionPartition(TOPIC_ID, 0), ShareSessionPartition(TOPIC_ID, 1)
OLD, NEW = 1, 2
"""Connections."""


class SlowWorld(World):
    """Share state is stored once `may_store` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.may_store = asyncio.Event()

    async def write(self, key: SharePartitionKey, epoch: int, change: Any) -> None:
        await self.may_store.wait()
        await super().write(key, epoch, change)


@dataclass
class Nothing:
    """Stands for parts that nobody asks for anything but the number of this broker."""

    broker_id: int = 1


@dataclass
class Services:
    clock: Clock
    wake: Callable[[TopicPartition], None]
    pool: None = None
    long_work: LongWork = field(default_factory=lambda: LongWork(lambda: 0.0))


def share_groups(world: World) -> ShareGroups:
    nothing: Any = Nothing()
    services: Any = Services(world.clock, world.purgatory.wake)
    groups = ShareGroups(
        nothing, broker_config({}), nothing, nothing,
        partitions=nothing, tasks=nothing, services=services,
    )  # fmt: skip
    groups.partitions = world.partitions
    return groups


async def acquired(world: World) -> tuple[LoadedSharePartition, LoadedSharePartition]:
    """Both partitions, of which the member has the records."""
    world.append(2)
    world.replicated.replicate()
    first, second = [
        await world.partitions.load(SharePartitionKey("workers", TOPIC_ID, number), "orders")
        for number in (0, 1)
    ]
    for loaded in (first, second):
        assert await world.fetch(loaded) == [(0, 1)]
    return first, second


def states(loaded: LoadedSharePartition) -> list[tuple[RecordState, bool]]:
    """Of its records, and whether that is being stored."""
    return [(span.state, span.transition is not None) for span in loaded.state._in_flight]


async def turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_all_partitions_are_released_before_one_is_stored() -> None:
    """Else a member that is back would lose what it has acquired since, to somebody beside it."""
    world = SlowWorld()
    groups = share_groups(world)
    first, second = await acquired(world)
    session = groups.sessions.open(
        ANN, OLD, [(FIRST, "orders"), (SECOND, "orders")], has_acknowledgements=False
    )
    groups.sessions.close_connection(OLD)
    releasing = asyncio.ensure_future(groups.release(session))
    await turns()
    assert states(first) == states(second) == [(RecordState.AVAILABLE, True)]
    world.may_store.set()
    await releasing
    written: list[StateChange] = world.writes
    assert len(written) == 2


async def test_a_partition_that_the_member_reads_again_keeps_its_records() -> None:
    world = World()
    groups = share_groups(world)
    first, second = await acquired(world)
    session = groups.sessions.open(
        ANN, OLD, [(FIRST, "orders"), (SECOND, "orders")], has_acknowledgements=False
    )
    groups.sessions.close_connection(OLD)
    groups.sessions.open(ANN, NEW, [(SECOND, "orders")], has_acknowledgements=False)
    await groups.release(session)
    assert (states(first), states(second)) == (
        [(RecordState.AVAILABLE, False)],
        [(RecordState.ACQUIRED, False)],
    )
