"""The look-up that a deserializer needs before it can go on, as of a schema: one at a time, in a task of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import final

from millstream.clients.core.serialization import LookupNeeded
from millstream.clients.core.values import ConsumerRecord
from millstream.net.client.tasks import TaskScope


@final
class LookUp:
    """Goes on behind a poll() that is too short for it; the next one waits for the same."""

    def __init__(self, scope: TaskScope, now_ms: Callable[[], int]) -> None:
        self._scope = scope
        self._now_ms = now_ms
        self._task: asyncio.Task[None] | None = None
        self.record: ConsumerRecord | None = None
        """The record that the last one was begun for. Between two calls another may have come to the front, which is
        not to blame: it is read again, and looks up what it needs itself."""

    async def wait(
        self, needed: LookupNeeded, record: ConsumerRecord | None, deadline_ms: int
    ) -> asyncio.Task[None] | None:
        """Returns the look-up once it has ended, well or not; None where it has not by the deadline."""
        if self._task is None:
            self._task = self._scope.start(_learn(needed), str(needed), awaited=True)
            self.record = record
        remaining_ms = max(0, deadline_ms - self._now_ms())
        done, _ = await asyncio.wait((self._task,), timeout=remaining_ms / 1000)
        if not done:
            return None
        task, self._task = self._task, None
        self._scope.check()
        return task


async def _learn(needed: LookupNeeded) -> None:
    await needed.look_up()
