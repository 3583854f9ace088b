"""The seam between the pages and who may see them, and the entrance that lets everybody in who reaches the address."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Protocol

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from millstream.console.entrance.forms import address_of, form_named
from millstream.console.entrance.refusal_log import RefusalLog
from millstream.console.pages import Pages, Role, Visitor
from millstream.console.rendering import Renderer
from millstream.runtime.interfaces import Clock


class Entrance(Protocol):
    """Decides who sees the pages, and as whom the cluster is asked for them."""

    def visitor(self, request: Request) -> Visitor | None:
        """Returns who asks; None for who must log in."""

    def turned_away(self, request: Request) -> Response:
        """Returns what somebody is told who must log in."""

    async def forget(self, request: Request) -> None:
        """Ends the login of who asks, since the cluster refuses it, if there is one to end."""

    def routes(self, renderer: Renderer) -> list[Route]:
        """Returns the pages of the entrance itself."""

    def log_refusal(self, request: Request, why: str) -> None:
        """Says in the log that what was asked is refused."""

    async def keep(self) -> None:
        """Does what is due from time to time, until it is cancelled."""

    async def close(self) -> None: ...


class Everybody:
    """Lets everybody read, as the user that the console itself is at the cluster."""

    def __init__(self, pages: Pages, clock: Clock) -> None:
        self._visitor = Visitor(None, Role.READER, pages)
        self._clock = clock
        self._refusals = RefusalLog()

    def visitor(self, _request: Request) -> Visitor:
        return self._visitor

    def turned_away(self, _request: Request) -> Response:
        raise HTTPException(HTTPStatus.UNAUTHORIZED)

    async def forget(self, _request: Request) -> None: ...

    def routes(self, _renderer: Renderer) -> list[Route]:
        return []

    def log_refusal(self, request: Request, why: str) -> None:
        now_ms = self._clock.now().monotonic_ms
        self._refusals.say(address_of(request), form_named(request), why, now_ms)

    async def keep(self) -> None:
        await asyncio.Event().wait()

    async def close(self) -> None:
        await self._visitor.pages.close()
