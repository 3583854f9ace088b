"""Makes a blocking client of an asyncio one: the same methods, run on the loop thread and waited for."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Concatenate, Generic, ParamSpec, Self, TypeVar

from millstream.clients.async_client import AsyncClient, refuse_copy
from millstream.clients.blocking.loop_thread import shared

Client_co = TypeVar("Client_co", bound=AsyncClient, covariant=True)
Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")


class BlockingClient(Generic[Client_co]):
    """Holds the asyncio client. Made, and used, on the loop thread only."""

    def __init__(self, make: Callable[[], Client_co]) -> None:
        self._loop = shared()
        self._client = self._loop.call(make)
        self._loop.close_at_exit(self)

    def __reduce__(self) -> tuple[object, ...]:
        """Refuses, unless a kind says what stands for it."""
        refuse_copy(self, 0)

    def __repr__(self) -> str:
        return f"<blocking.{repr(self._client).removeprefix('<')}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._loop.close(self._client.__aexit__(kind, error, traceback))

    def close(self) -> None:
        """Closes the client, as at the end of a `with` block. Idempotent."""
        self._loop.close(self._client.__aexit__(None, None, None))


def waits(
    method: Callable[Concatenate[Client_co, Parameters], Coroutine[object, object, Returned]],
) -> Callable[Concatenate[BlockingClient[Client_co], Parameters], Returned]:
    """Returns the twin of a coroutine method."""

    @functools.wraps(method)
    def twin(
        self: BlockingClient[Client_co], /, *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> Returned:
        return self._loop.run(method(self._client, *args, **kwargs))

    return twin


def calls(
    method: Callable[Concatenate[Client_co, Parameters], Returned],
) -> Callable[Concatenate[BlockingClient[Client_co], Parameters], Returned]:
    """Returns the twin of a plain method."""

    @functools.wraps(method)
    def twin(
        self: BlockingClient[Client_co], /, *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> Returned:
        return self._loop.call(lambda: method(self._client, *args, **kwargs))

    return twin
