"""Calls of a transaction that come at a time: one waits for the other, and looks again."""

from __future__ import annotations

import asyncio
import threading
from typing import cast

import pytest

from millstream.clients.cluster.cluster import Cluster
from millstream.clients.config import ProducerConfig
from millstream.clients.core.illegal_state import IllegalState
from millstream.clients.producer.transaction import transactions as calls
from millstream.clients.producer.transaction.core.transaction import (
    ProducerTransactionState,
    Transaction,
)
from millstream.clients.producer.transaction.transactions import Transactions
from millstream.model import TopicPartition
from millstream.net.client.tasks import TaskScope
from tests.patience import LONG_ENOUGH_S


class World:
    """An open transaction, its records, which are sent, and a coordinator that ends it when it may."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.lock = threading.Lock()
        self.transaction = Transaction("id")
        self.transaction.restart()
        self.transaction.complete_initialization((7, 0))
        self.transaction.begin(is_implicit=True)
        self.transaction.admit(TopicPartition("t", 0))
        self.may_end = asyncio.Event()
        self.ends: list[bool] = []
        self.is_settled = asyncio.Event()
        self.is_settled.set()

        async def end(_deadline_ms: int, *, committed: bool) -> tuple[int, int]:
            self.ends.append(committed)
            await self.may_end.wait()
            return 7, 1

        self.calls = Transactions(
            ProducerConfig(),
            cast("Cluster", self),
            self.transaction,
            self,
            TaskScope("producer"),
        )
        monkeypatch.setattr(self.calls._coordinators, "end", end)

    def now_ms(self) -> int:
        return 0

    async def settle_all(self, deadline_ms: int) -> None:
        await self.is_settled.wait()

    def wake(self) -> None: ...


async def test_who_closes_while_a_commit_is_under_way_aborts_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    world = World(monkeypatch)
    committing = asyncio.create_task(world.calls.commit())
    await asyncio.sleep(0)
    leaving = asyncio.create_task(world.calls.leave(None))
    await asyncio.sleep(0)
    world.may_end.set()
    await asyncio.gather(committing, leaving)
    assert world.ends == [True]
    assert world.transaction.state is ProducerTransactionState.READY
    assert not caplog.records


async def test_a_close_that_does_not_wait_does_not_wait_for_a_commit_either(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(calls, "_LEAVE_MS", 1)
    world = World(monkeypatch)
    committing = asyncio.create_task(world.calls.commit())
    await asyncio.sleep(0)
    async with asyncio.timeout(LONG_ENOUGH_S):
        await world.calls.leave(0)
    assert "another call of the transaction has not come to its end" in caplog.text
    committing.cancel()
    await asyncio.wait([committing])


async def test_a_transaction_that_is_handed_over_takes_no_record_that_it_would_not_send(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Sent by another task while the giver waits for what it has: it would be in no transaction."""
    world = World(monkeypatch)
    world.is_settled.clear()
    giving = asyncio.create_task(world.calls.hand_over())
    await asyncio.sleep(0)
    with pytest.raises(IllegalState, match="is being handed over"):
        world.transaction.check_open()
    world.is_settled.set()
    assert (await giving).producer_id == 7
