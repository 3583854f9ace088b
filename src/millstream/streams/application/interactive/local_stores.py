"""The stores of this instance: those of all its stream threads, and its global stores, asked by one request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from millstream.streams.errors import StreamsNotStarted, UnknownStore
from millstream.streams.queries import (
    FailureReason,
    QueryResult,
    StateQueryRequest,
    StateQueryResult,
)
from millstream.streams.topology.topology import Topology

_ABSENT: Final = QueryResult(
    failure=FailureReason.NOT_PRESENT,
    message="this instance does not have the partition now",
)


class GlobalStoresToAsk(Protocol):
    """The global stores of the instance."""

    async def query(self, request: StateQueryRequest) -> QueryResult: ...


class LocalStores:
    """Asks the stores of one instance. `ask_threads` returns answers by partition.

    `global_stores` returns None while they are being filled.
    """

    def __init__(
        self,
        topology: Topology,
        ask_threads: Callable[[StateQueryRequest], Awaitable[dict[int, QueryResult]]],
        global_stores: Callable[[], GlobalStoresToAsk | None],
    ) -> None:
        self._topology = topology
        self._ask_threads = ask_threads
        self._global_stores = global_stores

    async def query(self, request: StateQueryRequest) -> StateQueryResult:
        """Returns the answer of each partition.

        Raises UnknownStore, and StreamsNotStarted for a global store that is being filled.
        """
        if request.store in self._topology.global_stores:
            filled = self._global_stores()
            if filled is None:
                raise StreamsNotStarted(f"global store {request.store} is being filled: ask again")
            return StateQueryResult(global_result=await filled.query(request))
        if request.store not in self._topology.stores:
            raise UnknownStore(
                f"there is no store {request.store}; there are {sorted(self._topology.stores)}"
            )
        found = await self._ask_threads(request)
        missing = set(request.partitions or ()) - found.keys()
        return StateQueryResult(dict(sorted((found | dict.fromkeys(missing, _ABSENT)).items())))
