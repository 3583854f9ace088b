"""A shard that a thread has while a transaction of many offsets ends."""

from __future__ import annotations

import asyncio
import threading

import pytest

from millstream.records.control import TransactionMarker
from tests.patience import LONG_ENOUGH_S
from tests.unit.broker.coordination.test_coordinator_partition import (
    World,
    commit,
    position,
    stored_record,
    submit,
    turns,
)


@pytest.fixture
def world() -> World:
    return World()


async def test_the_loop_goes_on_while_a_transaction_of_many_offsets_ends(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests wait meanwhile: the shard has one owner at a time."""
    monkeypatch.setattr("millstream.broker.coordination.coordinator_partition.ENDED_AT_ONCE", 0)
    world.write(stored_record(5))
    owner = {"producer_id": 7, "producer_epoch": 0, "is_transactional": True}
    world.write(stored_record(9), base_sequence=0, **owner)
    may_go_on, has_begun = threading.Event(), threading.Event()
    async with world.serving() as coordinator:
        await turns()
        end = coordinator.shard.replay_end_transaction

        def end_when_told(producer_id: int, *, committed: bool) -> None:
            has_begun.set()
            assert may_go_on.wait(LONG_ENOUGH_S), "the test has forgotten it"
            end(producer_id, committed=committed)

        monkeypatch.setattr(coordinator.shard, "replay_end_transaction", end_when_told)
        ending = asyncio.create_task(
            coordinator.end_transaction(TransactionMarker(7, 1, 0, True, 2))
        )
        assert await asyncio.to_thread(has_begun.wait, LONG_ENOUGH_S)
        later = submit(coordinator, commit(11))
        await turns()
        assert (coordinator.is_lent, later.done(), position(coordinator)) == (True, False, 5)
        may_go_on.set()
        await asyncio.gather(ending, later)
        assert (position(coordinator), coordinator.is_lent) == (11, False)


async def test_a_shard_is_lent_until_its_thread_has_ended_though_whoever_asked_has_gone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The transaction's coordinator hangs up while a marker of many offsets is replayed: no operation meets the thread."""
    monkeypatch.setattr("millstream.broker.coordination.coordinator_partition.ENDED_AT_ONCE", 0)
    owner = {"producer_id": 7, "producer_epoch": 0, "is_transactional": True}
    world.write(stored_record(9), base_sequence=0, **owner)
    may_go_on, has_begun = threading.Event(), threading.Event()
    async with world.serving() as coordinator:
        await turns()
        end = coordinator.shard.replay_end_transaction

        def end_when_told(producer_id: int, *, committed: bool) -> None:
            has_begun.set()
            assert may_go_on.wait(LONG_ENOUGH_S), "the test has forgotten it"
            end(producer_id, committed=committed)

        monkeypatch.setattr(coordinator.shard, "replay_end_transaction", end_when_told)
        marker = TransactionMarker(7, 1, 0, True, 2)
        ending = asyncio.create_task(coordinator.end_transaction(marker))
        assert await asyncio.to_thread(has_begun.wait, LONG_ENOUGH_S)
        ending.cancel()
        later = submit(coordinator, commit(11))
        await turns()
        assert (coordinator.is_lent, later.done()) == (True, False)
        may_go_on.set()
        await asyncio.wait([ending, later])
        assert (ending.cancelled(), position(coordinator)) == (True, 11)


async def test_a_marker_that_waits_for_the_thread_counts_though_whoever_asked_has_gone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is in the log: a shard that did not hear of it would keep the offsets pending until it is loaded anew."""
    monkeypatch.setattr("millstream.broker.coordination.coordinator_partition.ENDED_AT_ONCE", 0)
    owner = {"producer_id": 7, "producer_epoch": 0, "is_transactional": True}
    world.write(stored_record(9), base_sequence=0, **owner)
    may_go_on = threading.Event()
    async with world.serving() as coordinator:
        await turns()
        busy = asyncio.create_task(coordinator._services.pool.plan(may_go_on.wait))
        await turns()
        marker = TransactionMarker(7, 1, 0, True, 2)
        ending = asyncio.create_task(coordinator.end_transaction(marker))
        await turns()
        ending.cancel()
        await turns()
        may_go_on.set()
        await asyncio.wait([busy, ending])
        await turns()
        assert (ending.cancelled(), position(coordinator)) == (True, 9)
