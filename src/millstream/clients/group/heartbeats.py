"""The task in which a member beats.

It does what `core.heartbeat_request_manager` decides, and lets it know what came of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic

from millstream.clients.cluster.cluster import Cluster, Lane
from millstream.clients.group.core.heartbeat_request_manager import (
    HeartbeatRequestManager,
    Request,
    Response,
)
from millstream.errors import KafkaError, MillstreamError
from millstream.net.client.connection import Connection
from millstream.net.client.tasks import TaskScope
from millstream.protocol.api import ApiKey, Message

_LOGGER = logging.getLogger(__name__)


def heartbeat_sender(
    key: ApiKey, response_type: type[Response]
) -> Callable[[Connection, Message], Awaitable[Response]]:
    """Returns the way to send a heartbeat, where a broker that knows the API takes all that may be said."""
    return lambda connection, request: connection.request(key, request, response_type)


@dataclass(slots=True)
class Heartbeats(Generic[Request, Response]):
    cluster: Cluster
    scope: TaskScope
    group_id: str
    manager: HeartbeatRequestManager[Request, Response]
    ask: Callable[[Connection, Request], Awaitable[Response]]
    observer: Callable[[MillstreamError | None], None]
    """Called after each heartbeat, whatever came of it, with what the application must know."""
    leave_unpolled: Callable[[], Awaitable[None]] | None = None
    """Awaited when the application has not polled for too long."""
    _wanted: asyncio.Event = field(default_factory=asyncio.Event)
    _task: asyncio.Task[None] | None = None
    _goodbye: Request | None = None
    """Begun, and answered neither yes nor no."""

    def keep_beating(self, now_ms: int) -> None:
        """Starts the task where there is none, else has it say at once what is new."""
        if self._task is None or self._task.done():
            self._goodbye = None
            self._task = self.scope.start(self._beat(), "heartbeats")
        elif self.manager.membership.heartbeat_due_ms(now_ms) == 0:
            self.wake()

    def wake(self) -> None:
        """Has the task look again at what is due."""
        self._wanted.set()

    async def stop(self) -> None:
        """Ends the task, also in the middle of a heartbeat: an answer that comes now means nothing."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))
            self._task = None

    async def say_goodbye(self, request: Request | None) -> None:
        """Sends the last request, if any. A coordinator that cannot be told finds out when the session ends.

        One that was cancelled in the middle is said again: a goodbye for want of polls by `stop()`, that of an
        `unsubscribe()` by `close()`. Kafka's client does not cancel it, its `close()` waits for it
        (`ConsumerNetworkThread.sendUnsentRequests`). A coordinator that heard it already does not know the member, and
        says so.
        """
        if request is not None:
            self._goodbye = request
        if self._goodbye is None:
            return
        try:
            await self.ask(await self._connection(), self._goodbye)
        except KafkaError:
            self.cluster.forget_coordinator(self.group_id)
        self._goodbye = None

    async def _beat(self) -> None:
        while True:
            self._wanted.clear()
            now_ms = self.cluster.now_ms()
            wait_ms = self.manager.wait_ms(now_ms)
            if wait_ms == 0 and self.leave_unpolled and self.manager.is_unpolled(now_ms):
                _LOGGER.warning(
                    "group %s is left until the next poll(): none came within max_poll_interval_ms=%d; poll more often, or take fewer records at a time",
                    self.group_id, self.manager.max_poll_interval_ms,
                )  # fmt: skip
                await self.leave_unpolled()
            elif wait_ms == 0:
                await self._beat_once()
            else:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(None if wait_ms is None else wait_ms / 1000):
                        await self._wanted.wait()

    async def _beat_once(self) -> None:
        manager, now_ms = self.manager, self.cluster.now_ms
        try:
            connection = await self._connection()
            if manager.wait_ms(now_ms()) != 0:
                return  # while the coordinator was looked for the member began to join anew, or fell silent
            request = manager.membership.heartbeat_request(now_ms())
            response = await self.ask(connection, request)
        except KafkaError as error:
            told = manager.handle_failure(error, now_ms())
        else:
            told = manager.handle_response(request, response, now_ms())
        if manager.has_lost_coordinator:
            self.cluster.forget_coordinator(self.group_id)
        self.observer(told)

    async def _connection(self) -> Connection:
        node_id = await self.cluster.coordinator(self.group_id)
        return await self.cluster.connection(node_id, Lane.GROUP)
