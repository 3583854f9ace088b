"""The shape of every asyncio client: opened and closed with `async with`."""

from __future__ import annotations

from types import TracebackType
from typing import NoReturn, Protocol, Self, SupportsIndex


class AsyncClient(Protocol):
    async def __aenter__(self) -> Self: ...
    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...


def refuse_copy(client: object, protocol: SupportsIndex) -> NoReturn:
    """Says, as the `__reduce_ex__` of a client, why neither pickle nor copy takes it."""
    del protocol
    name = type(client).__name__
    raise TypeError(
        f"a {name} cannot be pickled or copied: its connections stay where it is; make one in each process and thread"
        " that needs one, from its settings"
    )
