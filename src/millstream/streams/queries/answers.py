"""Answers queries from the stores that can. Reads only."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from millstream.streams.queries.query import (
    KeyQuery,
    MultiVersionedKeyQuery,
    Query,
    RangeQuery,
    TimestampedKeyQuery,
    TimestampedRangeQuery,
    VersionedKeyQuery,
    ViewCall,
    WindowKeyQuery,
    WindowRangeQuery,
)
from millstream.streams.queries.result import FailureReason, QueryResult
from millstream.streams.queries.store_types import QUERYABLE_STORE_TYPES
from millstream.streams.state.buffers.retries import RetryStore
from millstream.streams.state.key_value.store import (
    KeyValueStore,
    OrderedRows,
    TimestampedKeyValueStore,
)
from millstream.streams.state.key_value.versioned import VersionedKeyValueStore
from millstream.streams.state.read_only import Stored, VersionedRecord
from millstream.streams.state.session.store import SessionStore
from millstream.streams.state.store import StateStore
from millstream.streams.state.window.rows import WindowRows

Ask = Callable[[], object]


def answer(store: StateStore, query: Query) -> QueryResult:
    """Returns the result on one store, without position. Errors of the store are a result too."""
    ask = (
        _of_key_values(store, query)
        or _of_windows(store, query)
        or _of_versions(store, query)
        or _of_views(store, query)
    )
    if ask is None:
        kind = type(store).__name__
        refusal = (
            f"no {query.seen_as}"
            if isinstance(query, ViewCall)
            else f"which does not answer {type(query).__name__}"
        )
        return QueryResult(
            failure=FailureReason.UNKNOWN_QUERY_TYPE,
            message=f"store {store.name} is a {kind}, {refusal}",
        )
    try:
        return QueryResult(ask())
    except Exception as error:  # noqa: BLE001  # whatever it is, it is told in the result
        return QueryResult(failure=FailureReason.STORE_EXCEPTION, message=repr(error))


def _of_key_values(store: StateStore, query: Query) -> Ask | None:
    match store, query:
        case KeyValueStore() | RetryStore(), KeyQuery(key, skip_cache):
            return lambda: _row(store, key, skip_cache=skip_cache)
        case TimestampedKeyValueStore(), KeyQuery(key, skip_cache):
            return lambda: (_row(store, key, skip_cache=skip_cache) or (None,))[0]
        case TimestampedKeyValueStore(), TimestampedKeyQuery(key, skip_cache):
            return lambda: _row(store, key, skip_cache=skip_cache)
        case KeyValueStore() | RetryStore(), RangeQuery(lower, upper, descending):
            return lambda: list(store.rows_between(lower, upper, reverse=descending))
        case TimestampedKeyValueStore(), RangeQuery(lower, upper, descending):
            return lambda: [
                (key, row[0]) for key, row in store.rows_between(lower, upper, reverse=descending)
            ]
        case TimestampedKeyValueStore(), TimestampedRangeQuery(lower, upper, descending):
            return lambda: list(store.rows_between(lower, upper, reverse=descending))
        case _:
            return None


def _row(store: OrderedRows, key: object, *, skip_cache: bool) -> Stored:
    return store.get_flushed(key) if skip_cache else store.get(key)


def _of_windows(store: StateStore, query: Query) -> Ask | None:
    match store, query:
        case (WindowRows(), WindowKeyQuery(key, first, last)):
            return lambda: list(store.rows_of_key(key, first, last))
        case (WindowRows(), WindowRangeQuery(None, int(first), int(last))):
            return lambda: list(store.fetch_all(first, last))
        case SessionStore(), WindowRangeQuery(key, None, None):
            return lambda: [(session, store.aggregate_of(row)) for session, row in store.fetch(key)]
        case _:
            return None


def _of_versions(store: StateStore, query: Query) -> Ask | None:
    match store, query:
        case VersionedKeyValueStore(), VersionedKeyQuery(key, None):
            return lambda: store.get(key)
        case VersionedKeyValueStore(), VersionedKeyQuery(key, int(as_of)):
            return lambda: store.get(key, as_of)
        case VersionedKeyValueStore(), MultiVersionedKeyQuery(key, first, last, ascending):
            return lambda: _versions(store, key, (first, last), ascending=ascending)
        case _:
            return None


def _of_views(store: StateStore, query: Query) -> Ask | None:
    if not isinstance(query, ViewCall):
        return None
    view = QUERYABLE_STORE_TYPES[query.seen_as].show(store)
    if view is None:
        return None
    return lambda: _listed(getattr(view, query.method)(*query.arguments, **query.named))


def _listed(found: object) -> object:
    return list(found) if isinstance(found, Iterator) else found


def _versions(
    store: VersionedKeyValueStore,
    key: object,
    times: tuple[int | None, int | None],
    *,
    ascending: bool,
) -> list[VersionedRecord]:
    first, last = times
    found = [
        each
        for each in store.history(key)
        if (last is None or each.timestamp <= last)
        and (first is None or each.valid_to is None or each.valid_to > first)
    ]
    return found[::-1] if ascending else found
