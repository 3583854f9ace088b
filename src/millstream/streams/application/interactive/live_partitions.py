"""The partitions of a store that an instance has now, as `store()` asks them.

Every call asks anew: a store that moves is told as an error, never as a row that is missing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from millstream.streams.errors import (
    InvalidStoreError,
    InvalidStorePartition,
    StoreMigrated,
    StoreNotAvailable,
)
from millstream.streams.queries import (
    FailureReason,
    QueryResult,
    StateQueryRequest,
    StateQueryResult,
    StoreQueryParameters,
    ViewCall,
)
from millstream.streams.state.read_only import Stored

Ask = Callable[[StateQueryRequest], Awaitable[StateQueryResult]]


class LivePartitions:
    """`ask` answers for the tasks that are open. `is_restoring` tells whether some of the instance's tasks are not."""

    def __init__(
        self,
        wanted: StoreQueryParameters[Any],  # Any: rows of any type
        ask: Ask,
        is_restoring: Callable[[], bool],
    ) -> None:
        self.wanted: Final = wanted
        self._ask = ask
        self._is_restoring = is_restoring

    async def of_key(self, method: str, *arguments: object, **named: object) -> Stored:
        """Returns the first answer that is not empty: a key is in one partition."""
        answers = await self.of_all(method, *arguments, **named)
        found = (each for each in answers if each is not None and each != [])
        return next(found, answers[0])

    async def rows(self, method: str, *arguments: object, **named: object) -> list[Stored]:
        """Returns the rows of all partitions, one partition after another."""
        answers = await self.of_all(method, *arguments, **named)
        return [row for rows in answers for row in rows]

    async def of_all(self, method: str, *arguments: object, **named: object) -> list[Stored]:
        """Returns the answer of each partition.

        Raises StoreNotAvailable, StoreMigrated, InvalidStorePartition, and QueryFailed for what the store raises.
        """
        wanted = self.wanted
        call = ViewCall(wanted.type.name, method, arguments, named)
        only = None if wanted.partition is None else (wanted.partition,)
        active = not wanted.stale_stores
        request = StateQueryRequest(wanted.store, call, only, require_active=active)
        was_restoring = self._is_restoring()
        result = await self._ask(request)
        if result.global_result is not None:
            return [_value(result.global_result)]
        # A task may have come to run since it was asked, or have failed: it is here, and without its rows the others' would
        # pass for all.
        is_restoring = was_restoring or self._is_restoring()
        is_restoring |= any(each.is_being_restored for each in result.partitions.values())
        if is_restoring and not wanted.stale_stores:
            raise StoreNotAvailable(
                f"store {wanted.store} cannot be asked while tasks of this instance are assigned and restored: ask again, "
                "or give stale_stores=True for what is open, standby copies included"
            )
        answers = result.partitions if wanted.partition is not None else result.active
        if not answers:
            raise StoreMigrated(
                f"this instance has no partition of store {wanted.store} now: find the host of a key with query_metadata_for_key"
            )
        return [self._answer(number, each) for number, each in answers.items()]

    def _answer(self, partition: int, result: QueryResult) -> Stored:
        if result.failure in {FailureReason.NOT_PRESENT, FailureReason.NOT_ACTIVE}:
            raise InvalidStorePartition(
                f"this instance does not have partition {partition} of store {self.wanted.store} now: "
                "query_metadata_for_key finds the host of a key"
            )
        return _value(result)


def _value(result: QueryResult) -> Stored:
    if result.failure is FailureReason.UNKNOWN_QUERY_TYPE:
        raise InvalidStoreError(result.message)
    return result.value
