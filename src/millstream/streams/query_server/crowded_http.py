"""HTTP connections of uvicorn that give way to each other, however many slow clients there are.

uvicorn answers everybody with 503 when there are too many connections, and waits without end for a client that does not
finish its request. Here the client that has been silent for the longest time is dropped instead, first of the address
that has the most connections, and whoever has not sent the head of a request in time.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, cast

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from uvicorn.protocols.http.h11_impl import RequestResponseCycle

_HEAD_S: Final = 10
"""As long as probes of a broker have."""
_came = itertools.count()


class GivesWay(H11Protocol):
    """One connection. Subclasses say how many there may be."""

    connections_max = 64

    def __init__(self, *arguments: Any, **named: Any) -> None:  # Any: uvicorn's own
        super().__init__(*arguments, **named)
        self.number: Final = next(_came)
        self._deadline: asyncio.TimerHandle | None = None
        self._is_dropped = False

    @property
    def is_silent(self) -> bool:
        """Whether it has no request that is being answered."""
        cycle = cast("RequestResponseCycle | None", self.cycle)  # uvicorn says there always is one
        return cycle is None or cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn's own narrowing
        super().connection_made(transport)
        self._await_head()
        others = [
            each
            for each in self.connections
            if isinstance(each, GivesWay) and each is not self and not each._is_dropped
        ]
        if len(others) >= self.connections_max:
            _to_drop(others).drop()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.is_silent:
            self._await_head()
        else:
            self._end_wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_wait()
        super().connection_lost(exc)

    def drop(self) -> None:
        """Closes the connection at once, without an answer."""
        self._is_dropped = True
        self.transport.abort()

    def _await_head(self) -> None:
        """Begins to count once: bytes that trickle in give no more time."""
        if self._deadline is None:
            self._deadline = self.loop.call_later(_HEAD_S, self._drop_if_silent)

    def _drop_if_silent(self) -> None:
        self._deadline = None
        if self.is_silent:
            self.drop()

    def _end_wait(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def _to_drop(connections: Iterable[GivesWay]) -> GivesWay:
    """Of those that are silent, or else of all, the oldest of the address that has the most."""
    every = list(connections)
    candidates = [each for each in every if each.is_silent] or every
    held = Counter(_host(each) for each in every)
    return min(candidates, key=lambda each: (-held[_host(each)], each.number))


def _host(connection: GivesWay) -> str:
    return "" if connection.client is None else connection.client[0]
