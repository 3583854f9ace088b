"""Records that were given up get their dead letters once, also where the spout is closed meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, cast

import pytest

from millstream.clients.core.values import ConsumerRecord
from millstream.clients.spout.core.attempts import FailOutcome, GivenUp
from millstream.clients.spout.core.emitted_records import EmittedRecords
from millstream.clients.spout.core.settings import SpoutConfig
from millstream.clients.spout.dead_letters import DeadLetters, Settlement
from millstream.clients.spout.message import SpoutHooks


class World:
    """A record that had all its retries, and dead letters that are written when they may be."""

    def __init__(self) -> None:
        self.written: list[int] = []
        self.told: list[int] = []
        self.error: Exception | None = None
        self.may_write = asyncio.Event()
        self.records = EmittedRecords(SpoutConfig(retries_max=0))
        record: ConsumerRecord[Any, Any] = ConsumerRecord("t", 0, 7, 0)
        self.records.receive([record])
        attempt = self.records.next(0)
        assert attempt is not None
        assert self.records.fail(attempt, 0, None, None) is FailOutcome.GIVEN_UP
        self.settlement = Settlement(
            self.records,
            SpoutHooks(on_max_retry=lambda record, _: self.told.append(record.offset)),
            cast("DeadLetters", self),
        )

    async def send(self, given_up: Iterable[GivenUp]) -> None:
        self.written += [each.attempt.record.offset for each in given_up]
        await self.may_write.wait()
        if self.error is not None:
            raise self.error

    async def close(self) -> None: ...

    async def cancelled_settle(self) -> None:
        """As of a pump whose spout is closed while it waits for the cluster."""
        settling = asyncio.create_task(self.settlement.settle())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        settling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await settling


async def test_a_close_while_dead_letters_are_written_waits_for_them_and_counts_them() -> None:
    world = World()
    await world.cancelled_settle()
    world.may_write.set()
    await world.settlement.settle()
    await world.settlement.close()
    assert (world.written, world.told) == ([7], [7])
    assert world.records.counts.dead_lettered == 1
    assert world.records.to_commit() == {world.records.idle_partitions()[0]: 8}


async def test_a_close_is_told_that_a_dead_letter_could_not_be_written() -> None:
    world = World()
    world.error = ValueError("no such topic")
    await world.cancelled_settle()
    world.may_write.set()
    with pytest.raises(ValueError, match="no such topic"):
        await world.settlement.settle()
    assert world.records.counts.dead_lettered == 0


async def test_a_settlement_that_is_closed_leaves_no_task_behind() -> None:
    world = World()
    await world.cancelled_settle()
    await world.settlement.close()
    assert asyncio.all_tasks() == {asyncio.current_task()}
