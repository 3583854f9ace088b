"""Who needs a producer id waits for the controller, and nobody else does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from millstream.broker.coordination.transaction_coordination import TransactionCoordination
from millstream.broker.transactions.producer_ids import ProducerIds
from millstream.coordinator.result import NODE_ITSELF
from millstream.coordinator.transaction.context import TransactionCoordinatorConfig
from millstream.errors import CoordinatorLoadInProgress, NotController
from millstream.model import BrokerId
from millstream.protocol.generated.allocate_producer_ids import AllocateProducerIdsResponse


class Controller:
    """Answers once it is there; `is_away`: with a refusal."""

    def __init__(self, *, is_away: bool = False) -> None:
        self.is_there = asyncio.Event()
        self._is_away = is_away

    async def ask(self, _api: object, _request: object) -> AllocateProducerIdsResponse:
        await self.is_there.wait()
        if self._is_away:
            raise NotController
        return AllocateProducerIdsResponse(producer_id_start=7, producer_id_len=1)


class Shards:
    """Answers a request by what it asks for: an id, or none."""

    def __init__(self, ids: ProducerIds) -> None:
        self._answers: dict[object, Callable[[], object]] = {"new": ids.take, "end": lambda: "done"}

    async def ask(
        self, _transactional_id: str, request: object, _expected: object, _caller: object
    ) -> object:
        return self._answers[request]()


class Tasks:
    def __init__(self) -> None:
        self.running: list[asyncio.Task[None]] = []

    def start(self, coroutine: Coroutine[None, None, None], name: str) -> None:
        self.running.append(asyncio.get_running_loop().create_task(coroutine, name=name))


def coordination(controller: Any) -> TransactionCoordination:  # Any: a controller of one API
    ids = ProducerIds(controller, BrokerId(1))
    nothing: Any = None
    made = TransactionCoordination(
        TransactionCoordinatorConfig(), BrokerId(1), ids, nothing,
        partitions=nothing, tasks=Tasks(), services=nothing,
    )  # fmt: skip
    shards: Any = Shards(ids)
    made.shards = shards
    return made


async def ask(made: TransactionCoordination, request: str) -> object:
    return await made.ask("id", request, object, NODE_ITSELF)


async def test_a_transaction_ends_though_ids_are_used_up_and_no_controller_is_there() -> None:
    """As in Kafka: an election, or a quorum that is lost, holds up only whoever is new."""
    assert await ask(coordination(Controller()), "end") == "done"


async def test_who_needs_an_id_waits_until_the_controller_has_given_some() -> None:
    controller = Controller()
    made = coordination(controller)
    asked = asyncio.ensure_future(ask(made, "new"))
    await asyncio.sleep(0)
    assert not asked.done()
    controller.is_there.set()
    assert await asked == 7


async def test_who_needs_an_id_and_gets_none_is_told_to_ask_again() -> None:
    controller = Controller(is_away=True)
    controller.is_there.set()
    with pytest.raises(CoordinatorLoadInProgress, match="no producer id is at hand"):
        await ask(coordination(controller), "new")


async def test_an_id_that_is_missed_when_nobody_waits_for_it_is_there_the_next_time() -> None:
    """A transaction that takes too long is ended by a timer, which tries again."""
    controller = Controller()
    made = coordination(controller)
    for _ in range(2):
        with pytest.raises(CoordinatorLoadInProgress):
            made._take_producer_id()
    tasks: Any = made._tasks
    assert len(tasks.running) == 1
    controller.is_there.set()
    await asyncio.wait(tasks.running)
    assert made._take_producer_id() == 7
