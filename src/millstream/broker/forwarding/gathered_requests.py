"""Gathers what many ask of another broker: one request is in flight to each broker, and what is asked
meanwhile goes with the next.

The answer to such a request waits for the replicas of the broker that is asked, and a connection is answered in order:
asked one by one, each would wait for the replicas of all before it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Final, Generic, TypeVar

from millstream.broker.services import BackgroundTasks
from millstream.errors import MillstreamError
from millstream.model import BrokerId

TOGETHER_MAX: Final = 500
"""Ours: asked in one request, so that its answer is no long work for either side."""

ItemT = TypeVar("ItemT")
AnswerT = TypeVar("AnswerT")
_Waiting = list[tuple[ItemT, "asyncio.Future[AnswerT]"]]


class GatheredRequests(Generic[ItemT, AnswerT]):
    def __init__(
        self,
        send: Callable[[BrokerId, Sequence[ItemT]], Awaitable[Sequence[AnswerT]]],
        key_of: Callable[[ItemT], Hashable],
        tasks: BackgroundTasks,
        name: str,
    ) -> None:
        """`send` returns the answers in the order of what is asked, or raises a MillstreamError.

        No two of a request have the same key.
        """
        self._send = send
        self._key_of = key_of
        self._tasks = tasks
        self._name = name
        self._waiting: dict[BrokerId, _Waiting[ItemT, AnswerT]] = {}
        """Of the brokers that a request is in flight to."""

    async def ask(self, broker_id: BrokerId, item: ItemT) -> AnswerT:
        """Raises what `send` raises for all that went together."""
        answer: asyncio.Future[AnswerT] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.get(broker_id)
        if waiting is not None:
            waiting.append((item, answer))
        else:
            self._waiting[broker_id] = [(item, answer)]
            self._tasks.start(self._send_all(broker_id), f"{self._name} of broker {broker_id}")
        return await answer

    async def _send_all(self, broker_id: BrokerId) -> None:
        """Until nothing waits. Who asks again while this ends begins anew."""
        while self._waiting[broker_id]:
            await self._send_together(broker_id, self._take(broker_id))
        del self._waiting[broker_id]

    def _take(self, broker_id: BrokerId) -> _Waiting[ItemT, AnswerT]:
        taken: dict[Hashable, tuple[ItemT, asyncio.Future[AnswerT]]] = {}
        left: _Waiting[ItemT, AnswerT] = []
        for each in self._waiting[broker_id]:
            if each[1].cancelled():
                continue
            key = self._key_of(each[0])
            if key in taken or len(taken) >= TOGETHER_MAX:
                left.append(each)
            else:
                taken[key] = each
        self._waiting[broker_id] = left
        return list(taken.values())

    async def _send_together(self, broker_id: BrokerId, taken: _Waiting[ItemT, AnswerT]) -> None:
        try:
            answers = await self._send(broker_id, [item for item, _ in taken])
        except MillstreamError as error:
            for _, waiting in taken:
                if not waiting.done():
                    waiting.set_exception(error)
            return
        for (_, waiting), answer in zip(taken, answers, strict=True):
            if not waiting.done():
                waiting.set_result(answer)
