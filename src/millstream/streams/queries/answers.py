"""Which store answers which query, and how. Reads only."""

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
    WindowKeyQuery,
    WindowRangeQuery,
)
from millstream.streams.queries.result import FailureReason, QueryResult, VersionedRecord
from millstream.streams.serdes.windowed import MAX_TIMESTAMP
from millstream.streams.state.key_value import KeyValueStore, TimestampedKeyValueStore
from millstream.streams.state.plain_window import PlainWindowStore
from millstream.streams.state.session import SessionStore
from millstream.streams.state.store import StateStore
from millstream.streams.state.versioned import VersionedKeyValueStore
from millstream.streams.state.window import WindowStore

Ask = Callable[[], object]


def answer(store: StateStore, query: Query) -> QueryResult:
    """The result on one store, without position. Errors of the store are a result too."""
    ask = _of_key_values(store, query) or _of_windows(store, query) or _of_versions(store, query)
    if ask is None:
        kind = type(store).__name__
        return QueryResult(
            failure=FailureReason.UNKNOWN_QUERY_TYPE,
            message=f"store {store.name} is a {kind}, which does not answer {type(query).__name__}",
        )
    try:
        return QueryResult(ask())
    except Exception as error:  # noqa: BLE001  # whatever it is, it is told in the result
        return QueryResult(failure=FailureReason.STORE_EXCEPTION, message=repr(error))


def _of_key_values(store: StateStore, query: Query) -> Ask | None:
    match store, query:
        case KeyValueStore(), KeyQuery(key):
            return lambda: store.get(key)
        case TimestampedKeyValueStore(), KeyQuery(key):
            return lambda: None if (row := store.get(key)) is None else row[0]
        case TimestampedKeyValueStore(), TimestampedKeyQuery(key):
            return lambda: store.get(key)
        case KeyValueStore(), RangeQuery(lower, upper, descending):
            return lambda: list(store.scan(lower, upper, reverse=descending))
        case TimestampedKeyValueStore(), RangeQuery(lower, upper, descending):
            return lambda: [
                (key, row[0]) for key, row in store.scan(lower, upper, reverse=descending)
            ]
        case TimestampedKeyValueStore(), TimestampedRangeQuery(lower, upper, descending):
            return lambda: list(store.scan(lower, upper, reverse=descending))
        case _:
            return None


def _of_windows(store: StateStore, query: Query) -> Ask | None:
    match store, query:
        case ((WindowStore() | PlainWindowStore()), WindowKeyQuery(key, first, last)):
            return lambda: list(store.fetch(key, first, last))
        case ((WindowStore() | PlainWindowStore()), WindowRangeQuery(None, int(first), int(last))):
            return lambda: list(store.fetch_all(first, last))
        case SessionStore(), WindowRangeQuery(key, None, None):
            return lambda: list(store.find(key, 0, MAX_TIMESTAMP))
        case _:
            return None


def _of_versions(store: StateStore, query: Query) -> Ask | None:
    match store, query:
        case VersionedKeyValueStore(), VersionedKeyQuery(key, None):
            return lambda: _newest(store, key)
        case VersionedKeyValueStore(), VersionedKeyQuery(key, int(as_of)):
            return lambda: _as_of(store, key, as_of)
        case VersionedKeyValueStore(), MultiVersionedKeyQuery(key, first, last, ascending):
            return lambda: _versions(store, key, (first, last), ascending=ascending)
        case _:
            return None


def _newest(store: VersionedKeyValueStore, key: object) -> VersionedRecord | None:
    row = store.get(key)
    return None if row is None else VersionedRecord(*row)


def _as_of(store: VersionedKeyValueStore, key: object, as_of: int) -> VersionedRecord | None:
    row = store.get_as_of(key, as_of)
    if row is None:
        return None
    return next(each for each in _history(store, key) if each.timestamp == row[1])


def _history(store: VersionedKeyValueStore, key: object) -> Iterator[VersionedRecord]:
    return (VersionedRecord(*version) for version in store.history(key))


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
        for each in _history(store, key)
        if (last is None or each.timestamp <= last)
        and (first is None or each.valid_to is None or each.valid_to > first)
    ]
    return found[::-1] if ascending else found
