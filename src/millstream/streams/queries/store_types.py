"""As what a store may be seen: Kafka Streams' QueryableStoreTypes and StoreQueryParameters (KIP-67, KIP-562, KIP-1271).

A store shows less than it has, never more: one with headers can be seen as one with
timestamps, and each of them as plain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from millstream.foreign_names.explanation import ForeignNames, explain_construction
from millstream.streams.arguments import check_fields
from millstream.streams.errors import InvalidStoreError
from millstream.streams.queries.views import KeyValueView, SessionView, VersionedView, WindowView
from millstream.streams.state.headers import AggregationWithHeaders, ValueTimestampHeaders
from millstream.streams.state.key_value.store import OrderedRows
from millstream.streams.state.key_value.versioned import VersionedKeyValueStore
from millstream.streams.state.read_only import Stored
from millstream.streams.state.session.store import SessionStore
from millstream.streams.state.store import StateStore
from millstream.streams.state.window.rows import WindowRows

View = TypeVar("View")
Row = tuple[Stored, int]


@dataclass(frozen=True, slots=True)
class QueryableStoreType(Generic[View]):
    """`show` gives the view of a store, or None for a store that cannot be seen as this."""

    name: str
    show: Callable[[StateStore], View | None]


@explain_construction
@dataclass(frozen=True, slots=True)
class StoreQueryParameters(Generic[View], metaclass=ForeignNames):
    """`partition` None: all that are here. `stale_stores`: those of standby and restoring tasks too."""

    store: str
    type: QueryableStoreType[View]
    partition: int | None = None
    stale_stores: bool = False

    def __post_init__(self) -> None:
        check_fields(self, store=str, type=QueryableStoreType, partition=int | None)


def view_of(store: StateStore, seen_as: QueryableStoreType[View]) -> View:
    """Returns the view. Raises InvalidStoreError for a store that cannot be seen so."""
    view = seen_as.show(store)
    if view is None:
        raise InvalidStoreError(
            f"store {store.name} is a {type(store).__name__}, no {seen_as.name}"
        )
    return view


def key_value_store() -> QueryableStoreType[KeyValueView[Stored, Stored]]:
    """Returns the type of key-value stores of every kind; rows are values."""
    return QueryableStoreType(
        "key-value store",
        lambda store: KeyValueView(store) if isinstance(store, OrderedRows) else None,
    )


def timestamped_key_value_store() -> QueryableStoreType[KeyValueView[Stored, Row]]:
    """Returns the type of key-value stores with timestamps; rows are (value, timestamp)."""
    return QueryableStoreType(
        "key-value store with timestamps",
        lambda store: (
            KeyValueView(store, whole_rows=True)
            if isinstance(store, OrderedRows) and store.spec.is_timestamped
            else None
        ),
    )


def timestamped_key_value_store_with_headers() -> QueryableStoreType[
    KeyValueView[Stored, ValueTimestampHeaders]
]:
    """Returns the type of key-value stores with headers."""
    return QueryableStoreType(
        "key-value store with headers",
        lambda store: (
            KeyValueView(store, whole_rows=True)
            if isinstance(store, OrderedRows) and store.spec.with_headers
            else None
        ),
    )


def window_store() -> QueryableStoreType[WindowView[Stored, Stored]]:
    """Returns the type of window stores of every kind; rows are values."""
    return QueryableStoreType(
        "window store",
        lambda store: WindowView(store) if isinstance(store, WindowRows) else None,
    )


def timestamped_window_store() -> QueryableStoreType[WindowView[Stored, Row]]:
    """Returns the type of window stores with timestamps; rows are (value, timestamp)."""
    return QueryableStoreType(
        "window store with timestamps",
        lambda store: (
            WindowView(store, whole_rows=True)
            if isinstance(store, WindowRows) and store.spec.is_timestamped
            else None
        ),
    )


def timestamped_window_store_with_headers() -> QueryableStoreType[
    WindowView[Stored, ValueTimestampHeaders]
]:
    """Returns the type of window stores with headers."""
    return QueryableStoreType(
        "window store with headers",
        lambda store: (
            WindowView(store, whole_rows=True)
            if isinstance(store, WindowRows) and store.spec.with_headers
            else None
        ),
    )


def session_store() -> QueryableStoreType[SessionView[Stored, Stored]]:
    """Returns the type of session stores; rows are aggregates."""
    return QueryableStoreType(
        "session store",
        lambda store: SessionView(store) if isinstance(store, SessionStore) else None,
    )


def session_store_with_headers() -> QueryableStoreType[SessionView[Stored, AggregationWithHeaders]]:
    """Returns the type of session stores with headers."""
    return QueryableStoreType(
        "session store with headers",
        lambda store: (
            SessionView(store, whole_rows=True)
            if isinstance(store, SessionStore) and store.spec.with_headers
            else None
        ),
    )


def versioned_key_value_store() -> QueryableStoreType[VersionedView[Stored]]:
    """Versioned stores: no type of Kafka Streams, which shows them on its test driver alone."""
    return QueryableStoreType(
        "versioned store",
        lambda store: VersionedView(store) if isinstance(store, VersionedKeyValueStore) else None,
    )


QUERYABLE_STORE_TYPES: Final[Mapping[str, QueryableStoreType[Stored]]] = {
    each.name: each
    for each in (
        key_value_store(),
        timestamped_key_value_store(),
        timestamped_key_value_store_with_headers(),
        window_store(),
        timestamped_window_store(),
        timestamped_window_store_with_headers(),
        session_store(),
        session_store_with_headers(),
        versioned_key_value_store(),
    )
}
"""The types as which a store may be seen, by their names, which travel between processes."""
