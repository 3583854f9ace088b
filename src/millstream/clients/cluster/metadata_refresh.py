"""The task that keeps metadata fresh, and the callers that wait for it.

When to ask, and what for, is `core.metadata_state`'s.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from millstream.clients.cluster.core.metadata_state import MetadataState
from millstream.errors import (
    BrokerNotAvailable,
    KafkaError,
    RebootstrapRequired,
    RequestTimedOut,
)
from millstream.net.client.connections import Connections, NoBrokerReachable
from millstream.net.client.core.outages import SILENT_MS
from millstream.net.client.tasks import TaskScope
from millstream.protocol.generated.metadata import MetadataRequest, MetadataResponse

_Result = TypeVar("_Result")
_TOLD_AGAIN_MS: Final = 60_000
"""The same wait is told once a minute."""

_LOGGER = logging.getLogger(__name__)


class MetadataRefresh:
    """A refusal is an error that asking again does not change: bad credentials, no common version. It is told to who
    waits, and asked about again only when a caller wants metadata after that.
    """

    def __init__(
        self,
        state: MetadataState,
        scope: TaskScope,
        now_ms: Callable[[], int],
        connections: Connections,
        *,
        ask: Callable[[MetadataRequest], Awaitable[tuple[MetadataResponse, int]]],
        observer: Callable[[], None],
    ) -> None:
        """`ask` gives the answer and its version; `observer` is called after each refresh, successful or not."""
        self._state = state
        self._scope = scope
        self._now_ms = now_ms
        self._connections = connections
        self._ask = ask
        self._observer = observer
        self._wanted = asyncio.Event()
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._refusal: KafkaError | None = None
        self._refusal_count = 0
        self._refusal_told = True
        self._last_error: KafkaError | None = None
        self._said: dict[str, int] = {}
        """What callers wait for, and when the log was told last."""

    def request(self) -> None:
        """Ask for a refresh in the background."""
        self._scope.check()
        self._state.request_update()
        self._ensure_task()
        self._wanted.set()

    def wake_waiters(self) -> None:
        """The task is gone: those who wait for it must look at the scope."""
        self._changed.set()

    async def until(
        self, find: Callable[[], _Result | None], deadline_ms: int, otherwise: str
    ) -> _Result:
        """Returns the first thing `find` returns, asked anew after each change. Raises a refusal at once."""
        refusals, silent_until_ms = self._refusal_count, self._now_ms() + SILENT_MS
        if self._refusal is not None and find() is None:
            self.request()
        while True:
            found = find()
            if found is not None:
                return found
            if self._refusal is not None and self._refusal_count > refusals:
                raise type(self._refusal)(str(self._refusal)) from self._refusal
            now_ms = self._now_ms()
            remaining_ms = deadline_ms - now_ms
            if remaining_ms <= 0:
                raise self._too_late(otherwise)
            if now_ms >= silent_until_ms:
                self._tell(otherwise, now_ms)
                silent_until_ms = deadline_ms
            self._scope.check()
            # Taken from nobody: whoever else waits has been woken by what set it. And `find` has just looked.
            self._changed.clear()
            self._ensure_task()
            try:
                async with asyncio.timeout(
                    min(remaining_ms, max(0, silent_until_ms - now_ms)) / 1000
                ):
                    await self._changed.wait()
            except TimeoutError:
                continue
            self._scope.check()

    def _tell(self, otherwise: str, now_ms: int) -> None:
        """Says what a caller waits for, unless it is a connection, of which `connections` tells."""
        self._said = {
            what: said_ms
            for what, said_ms in self._said.items()
            if now_ms - said_ms < _TOLD_AGAIN_MS
        }
        if self._connections.any_failed or otherwise in self._said:
            return
        self._said[otherwise] = now_ms
        why = "" if self._last_error is None else f" ({self._last_error})"
        _LOGGER.warning("%s%s; still waiting", otherwise, why)

    def raise_refusal(self) -> None:
        """Raises a refusal once, for a caller that waits for something else than metadata, and asks anew."""
        if self._refusal is not None and not self._refusal_told:
            self._refusal_told = True
            self.request()
            raise type(self._refusal)(str(self._refusal)) from self._refusal

    def _ensure_task(self) -> None:
        if self._task is None or self._task.done():
            self._scope.check()
            self._task = self._scope.start(self._run(), "metadata")

    async def _run(self) -> None:
        while True:
            due_ms = self._state.due_ms(self._now_ms())
            if due_ms == 0:
                await self._fetch()
                continue
            self._wanted.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(due_ms / 1000):
                    await self._wanted.wait()

    async def _fetch(self) -> None:
        if self._state.rebootstrap_needed:
            self._state.rebootstrap()
            await self._connections.close()
        request = self._state.plan_request(self._now_ms())
        try:
            response, version = await self._ask(request)
        except KafkaError as error:
            self._handle_failure(error)
        else:
            self._refusal, self._last_error = None, _missing_in(response)
            self._state.handle_response(response, self._now_ms(), version)
        self._changed.set()
        self._observer()

    def _handle_failure(self, error: KafkaError) -> None:
        self._last_error = error
        if error.retriable:
            nobody = isinstance(error, NoBrokerReachable)
            self._state.handle_failure(self._now_ms(), nobody_reachable=nobody)
            return
        self._refusal = error
        self._refusal_count += 1
        self._refusal_told = False
        self._state.handle_refusal(self._now_ms())

    def _too_late(self, otherwise: str) -> KafkaError:
        if self._connections.any_failed and not self._state.cluster.topics:
            return BrokerNotAvailable(
                f"{otherwise}; no broker could be reached: {self._connections.why_unreachable()}"
            )
        if self._last_error is not None:
            return RequestTimedOut(f"{otherwise}; the last attempt to fetch it: {self._last_error}")
        return RequestTimedOut(f"{otherwise} (waited until the time limit)")


def _missing_in(response: MetadataResponse) -> KafkaError | None:
    """Returns why an answer is of no use, for those who wait in vain; None where it is."""
    if response.error_code == RebootstrapRequired.code:
        return RebootstrapRequired("the broker asked to begin again with the bootstrap servers")
    if not response.brokers:
        return BrokerNotAvailable(
            "the broker that answered knows of none in service; one that is fenced or begins to start"
            " is not (`millstream cluster status` shows them)"
        )
    return None
