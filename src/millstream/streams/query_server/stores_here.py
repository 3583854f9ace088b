"""Asks the stores of this instance: those of its active tasks, and copies where a question allows them."""

from __future__ import annotations

from typing import Any, Final

from millstream.streams.errors import (
    InvalidStoreError,
    StoreMigrated,
    StoreNotAvailable,
    UnknownStore,
)
from millstream.streams.queries import (
    FailureReason,
    QueryResult,
    StateQueryRequest,
    ViewCall,
)
from millstream.streams.queries.remote_stores import type_of
from millstream.streams.query_server.problems import BadRequest
from millstream.streams.query_server.questions import (
    ANY_LAG,
    KeyQuestion,
    QueriedApplication,
    RowsQuestion,
)
from millstream.streams.query_server.texts import key_of, row_of
from millstream.streams.serdes.serde import Serde
from millstream.streams.serdes.windowed import MAX_TIMESTAMP
from millstream.streams.topology.stores import StoreKind

_WINDOWS: Final = (StoreKind.WINDOW, StoreKind.TIMESTAMPED_WINDOW)
_ABSENT: Final = frozenset({FailureReason.NOT_PRESENT, FailureReason.NOT_ACTIVE})
Content = dict[str, Any]  # Any: values of any type
"""An answer as an object of JSON."""


class StoresHere:
    """Asks the stores that one running application has in this instance."""

    def __init__(self, application: QueriedApplication) -> None:
        self._application = application

    def is_global(self, store: str) -> bool:
        return store in self._application.topology.global_stores

    def key_serde(self, store: str) -> Serde[Any]:  # Any: keys of any type
        """Raises UnknownStore, and InvalidStoreError where none is known."""
        self._kind(store)
        application = self._application
        serde = application.topology.stores[store].key or application.config.default_key
        if serde is None:
            raise InvalidStoreError(f"store {store} has no serde of keys, so no text can name one")
        return serde

    async def of_key(
        self, question: KeyQuestion, key: object, partition: int | None, *, by_copy: bool
    ) -> Content:
        """Returns the rows of a key; `partition` None for a global store.

        `is_stale` says whether a copy has answered, where the question allows it.

        `by_copy`: what is here may answer for an active task, if the question allows it.

        Raises StoreMigrated, StoreNotAvailable for a copy that is too far behind, and QueryFailed.
        """
        store, call = question.store, self._call_of_key(question, key)
        only = None if partition is None else (partition,)
        is_stale = False
        answers = await self._asked(store, call, only)
        result = answers[partition]
        max_lag = question.max_lag if by_copy else None
        if result.failure in _ABSENT and partition is not None and max_lag is not None:
            is_stale = True
            await self._require_lag(store, partition, max_lag)
            result = (await self._asked(store, call, only, copies=True))[partition]
        value = _value(store, result)
        content: Content = {"store": store, "partition": partition, "key": key}
        if self._kind(store) in (*_WINDOWS, StoreKind.SESSION):
            content["windows"] = [_of_one_key(each) for each in value]
        else:
            content["value"] = value
        return content if question.max_lag is None else content | {"is_stale": is_stale}

    async def of_rows(self, question: RowsQuestion) -> Content:
        """Returns the rows of the partitions of active tasks, or those of copies that are within the lag.

        Raises QueryFailed.
        """
        store, call = question.store, self._call_of_rows(question)
        if question.copies_of is None:
            answers = await self._asked(store, call, None)
        else:
            max_lag = ANY_LAG if question.max_lag is None else question.max_lag
            near = await self._within(store, max_lag)
            wanted = question.copies_of if near is None else question.copies_of & near
            answers = await self._asked(store, call, tuple(sorted(wanted)), copies=True)
        found = {n: each.value for n, each in answers.items() if each.failure not in _ABSENT}
        rows = [row_of(row) for each in found.values() for row in each]
        return {
            "store": store,
            "partitions": [each for each in found if each is not None],
            "rows": rows[: question.limit],
            "is_cut": len(rows) > question.limit,
        }

    async def _require_lag(self, store: str, partition: int, max_lag: int) -> None:
        near = await self._within(store, max_lag)
        if near is not None and partition not in near:
            raise StoreNotAvailable(
                f"the copy of partition {partition} of store {store} is more than {max_lag} records behind: ask again, or allow more"
            )

    async def _within(self, store: str, max_lag: int) -> set[int] | None:
        """Returns the partitions here that lack at most so many of the records that are written by now; None
        where nobody needs to know.
        """
        if max_lag >= ANY_LAG:
            return None
        lags = (await self._application.all_local_store_partition_lags()).get(store, {})
        return {number for number, lag in lags.items() if lag.offset_lag <= max_lag}

    async def _asked(
        self,
        store: str,
        call: ViewCall,
        partitions: tuple[int, ...] | None,
        *,
        copies: bool = False,
    ) -> dict[int | None, QueryResult]:
        """Returns answers by partition; that of a global store by None."""
        request = StateQueryRequest(store, call, partitions, require_active=not copies)
        result = await self._application.query(request)
        if result.global_result is not None:
            return {None: result.global_result}
        return dict(result.partitions.items())

    def _call_of_key(self, question: KeyQuestion, key: object) -> ViewCall:
        kind, (first, last) = self._kind(question.store), _times(question)
        match kind:
            case StoreKind.WINDOW | StoreKind.TIMESTAMPED_WINDOW:
                return self._call(question.store, "fetch", key, first, last)
            case StoreKind.SESSION:
                return self._call(question.store, "find_sessions", key, first, last)
            case _:
                return self._call(question.store, "get", key)

    def _call_of_rows(self, question: RowsQuestion) -> ViewCall:
        serde = self.key_serde(question.store)
        bounds = (question.key_from, question.key_to)
        lower, upper = (None if text is None else key_of(text, serde) for text in bounds)
        kind, (first, last) = self._kind(question.store), _times(question)
        if kind in _WINDOWS:
            return self._call(
                question.store, "fetch_all", first, last, key_from=lower, key_to=upper
            )
        if kind is StoreKind.SESSION:
            return self._call(
                question.store,
                "find_all_sessions",
                key_from=lower,
                key_to=upper,
                earliest_end=first,
                latest_start=last,
            )
        if kind is StoreKind.VERSIONED:
            raise BadRequest(f"store {question.store} is versioned: ask for one key")
        return self._call(question.store, "range", lower, upper)

    def _call(self, store: str, method: str, *arguments: object, **named: object) -> ViewCall:
        seen_as = type_of(self._kind(store))
        if seen_as is None:
            raise InvalidStoreError(f"store {store} has no read-only view, and cannot be asked")
        return ViewCall(seen_as.name, method, arguments, named)

    def _kind(self, store: str) -> StoreKind:
        stores = self._application.topology.stores
        if store not in stores:
            raise UnknownStore(f"there is no store {store}; there are {sorted(stores)}")
        return stores[store].kind


def _times(question: KeyQuestion | RowsQuestion) -> tuple[int, int]:
    first = 0 if question.time_from is None else question.time_from
    return first, MAX_TIMESTAMP if question.time_to is None else question.time_to


def _of_one_key(row: object) -> object:
    match row:
        case (int(start), value):
            return {"start_ms": start, "value": value}
        case _:
            return row_of(row)


def _value(store: str, result: QueryResult) -> Any:  # Any: rows of any type
    if result.failure in _ABSENT:
        raise StoreMigrated(f"store {store}: {result.message}: ask again")
    return result.value
