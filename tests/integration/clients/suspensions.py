"""Cancels a coroutine at its n-th suspension: when it begins to wait there, or when what it waits for has just come.

A plain run takes some of the suspensions only; `make faults` takes all.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import os
from collections.abc import Awaitable, Callable, Generator
from enum import Enum
from typing import TypeVar

import pytest

from millstream.clients import Producer, TopicPartition
from tests.patience import LONG_ENOUGH_S
from tests.support.clients.raw_client import RawClient

Result = TypeVar("Result")


class Moment(Enum):
    BEGINS_TO_WAIT = "begins to wait"
    HAS_WAITED = "has waited"
    """What it waited for is there, but the task has not run yet: a cancellation now must not lose it."""


STEPS_MAX = 200
STRIDE = int(os.environ.get("MILLSTREAM_CANCEL_STRIDE", "8"))
FIRST_STEPS = {Moment.BEGINS_TO_WAIT: 1, Moment.HAS_WAITED: 1 + STRIDE // 2}
MOMENTS = pytest.mark.parametrize("moment", Moment, ids=lambda moment: moment.name.lower())


class CancelledAt(Awaitable[Result]):
    """Await it in the task that is to be cancelled. `reached` tells whether the call suspended so many times."""

    def __init__(self, call: Awaitable[Result], step: int, moment: Moment) -> None:
        self._call = call
        self._step = step
        self._moment = moment
        self.reached = False

    def __await__(self) -> Generator[object, object, Result]:
        task = asyncio.current_task()
        assert task is not None
        steps = self._call.__await__()
        suspensions = 0
        error: BaseException | None = None
        while True:
            try:
                awaited = steps.throw(error) if error is not None else next(steps)
            except StopIteration as done:
                result: Result = done.value
                return result
            suspensions += 1
            if suspensions == self._step:
                self.reached = True
                self._arrange(awaited, task)
            error = None
            try:
                yield awaited
            except BaseException as thrown:  # noqa: BLE001 - thrown into the call
                error = thrown

    def _arrange(self, awaited: object, task: asyncio.Task[object]) -> None:
        if self._moment is Moment.BEGINS_TO_WAIT:
            task.cancel()
        elif isinstance(awaited, asyncio.Future):
            awaited.add_done_callback(lambda _: task.cancel())  # before the task's own callback
        else:
            asyncio.get_running_loop().call_soon(task.cancel)


async def cancelled_at(call: Awaitable[object], step: int, moment: Moment) -> bool:
    """False when the call ended before that. Asserts that a call that was cancelled says so."""
    attempt = CancelledAt(call, step, moment)

    async def run() -> None:
        await attempt

    try:
        await asyncio.create_task(run())
    except asyncio.CancelledError:
        assert attempt.reached, "cancelled by nobody"
    else:
        assert not attempt.reached, "the call swallowed its cancellation"
    return attempt.reached


def nothing_is_left_running() -> bool:
    gc.collect()
    return asyncio.all_tasks() == {asyncio.current_task()}


async def check_at_each_step(moment: Moment, attempt: Callable[[int], Awaitable[bool]]) -> None:
    """`attempt(n)` cancels at the n-th suspension and says whether there was one. Nothing may be left running then.

    What other tests of this process have left is not looked at: a collection of all of it takes a second late in a run, at each step.
    """
    gc.freeze()
    for step in itertools.count(FIRST_STEPS[moment], STRIDE):
        async with asyncio.timeout(LONG_ENOUGH_S):
            reached = await attempt(step)
        assert nothing_is_left_running()
        if not reached:
            break
        assert step < STEPS_MAX, "the call never ends"


async def create(bootstrap: str, topic: str, values: int = 0) -> TopicPartition:
    with RawClient(bootstrap) as raw:
        raw.create_topic(topic)
    if values:
        async with Producer(bootstrap_servers=bootstrap) as producer:
            for number in range(values):
                await producer.send(topic, b"%d" % number)
    return TopicPartition(topic, 0)
