"""The shape of every asyncio client: opened and closed with `async with`."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self


class AsyncClient(Protocol):
    async def __aenter__(self) -> Self: ...
    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...
