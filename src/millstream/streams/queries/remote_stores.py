"""Stores of tasks elsewhere, to be read: what Kafka Streams' `store()` gives, over all partitions or one of them.

A key is asked of the partition that Kafka's partitioner gives it, and of the others only where that one has nothing.
Ranges go through the partitions one after another, each in its own order; each is read whole when the range comes to
it, as its last commit has left it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol, TypeVar

from millstream.streams.queries import store_types as queries
from millstream.streams.queries.store_types import QueryableStoreType
from millstream.streams.serdes.serde import Serde
from millstream.streams.serdes.windowed import Windowed
from millstream.streams.state.read_only import (
    ReadOnlyKeyValueStore,
    ReadOnlySessionStore,
    ReadOnlyVersionedStore,
    ReadOnlyWindowStore,
    Stored,
    VersionedRecord,
)
from millstream.streams.topology.stores import StoreKind

K = TypeVar("K")
V = TypeVar("V")


class PartitionedStore(Protocol):
    """Calls methods of a store in its tasks.

    Raises InvalidStoreError and its kinds, and QueryFailed for what the store raises.
    """

    def of_key(self, key: object, method: str, *arguments: object, **named: object) -> Stored:
        """Returns the first answer that is not empty, that of the key's own partition if it has one."""

    def of_all(self, method: str, *arguments: object, **named: object) -> Iterator[Stored]:
        """Yields the answer of each partition."""


class RemoteKeyValueStore(ReadOnlyKeyValueStore[K, V]):
    def __init__(self, partitions: PartitionedStore) -> None:
        self._partitions = partitions

    def get(self, key: K) -> V | None:
        row: V | None = self._partitions.of_key(key, "get", key)
        return row

    def rows_between(
        self, lower: K | None, upper: K | None, *, reverse: bool
    ) -> Iterator[tuple[K, V]]:
        return _rows(self._partitions.of_all("rows_between", lower, upper, reverse=reverse))

    def prefix_scan(
        self, prefix: object, serde: Serde[Stored] | None = None
    ) -> Iterator[tuple[K, V]]:
        return _rows(self._partitions.of_all("prefix_scan", prefix, serde))

    def approximate_num_entries(self) -> int:
        return sum(self._partitions.of_all("approximate_num_entries"))


class RemoteWindowStore(ReadOnlyWindowStore[K, V]):
    def __init__(self, partitions: PartitionedStore) -> None:
        self._partitions = partitions

    def row_at(self, key: K, start: int) -> V | None:
        row: V | None = self._partitions.of_key(key, "row_at", key, start)
        return row

    def rows_of_key(
        self, key: K, time_from: int, time_to: int, *, reverse: bool = False
    ) -> list[tuple[int, V]]:
        found = self._partitions.of_key(
            key, "rows_of_key", key, time_from, time_to, reverse=reverse
        )
        return list(found or ())

    def rows_of_keys(
        self, key_from: K | None, key_to: K | None, time_from: int, time_to: int, *, reverse: bool
    ) -> Iterator[tuple[Windowed[K], V]]:
        return _rows(
            self._partitions.of_all(
                "rows_of_keys", key_from, key_to, time_from, time_to, reverse=reverse
            )
        )


class RemoteSessionStore(ReadOnlySessionStore[K, V]):
    def __init__(self, partitions: PartitionedStore) -> None:
        self._partitions = partitions

    def fetch_session(self, key: K, start: int, end: int) -> V | None:
        row: V | None = self._partitions.of_key(key, "fetch_session", key, start, end)
        return row

    def sessions_of_key(
        self, key: K, earliest_end: int, latest_start: int, *, reverse: bool
    ) -> list[tuple[Windowed[K], V]]:
        found = self._partitions.of_key(
            key, "sessions_of_key", key, earliest_end, latest_start, reverse=reverse
        )
        return list(found or ())

    def sessions_of_keys(
        self,
        keys: tuple[K | None, K | None],
        earliest_end: int,
        latest_start: int,
        latest_end: int,
        *,
        reverse: bool,
    ) -> Iterator[tuple[Windowed[K], V]]:
        return _rows(
            self._partitions.of_all(
                "sessions_of_keys", keys, earliest_end, latest_start, latest_end, reverse=reverse
            )
        )


class RemoteVersionedStore(ReadOnlyVersionedStore[K]):
    def __init__(self, partitions: PartitionedStore) -> None:
        self._partitions = partitions

    def get(self, key: K, as_of_ms: int | None = None) -> VersionedRecord | None:
        found: VersionedRecord | None = self._partitions.of_key(key, "get", key, as_of_ms)
        return found


RemoteStore = (
    RemoteKeyValueStore[Stored, Stored]
    | RemoteWindowStore[Stored, Stored]
    | RemoteSessionStore[Stored, Stored]
    | RemoteVersionedStore[Stored]
)
_CLASSES: Mapping[str, Callable[[PartitionedStore], RemoteStore]] = {
    queries.key_value_store().name: RemoteKeyValueStore,
    queries.timestamped_key_value_store().name: RemoteKeyValueStore,
    queries.timestamped_key_value_store_with_headers().name: RemoteKeyValueStore,
    queries.window_store().name: RemoteWindowStore,
    queries.timestamped_window_store().name: RemoteWindowStore,
    queries.timestamped_window_store_with_headers().name: RemoteWindowStore,
    queries.session_store().name: RemoteSessionStore,
    queries.session_store_with_headers().name: RemoteSessionStore,
    queries.versioned_key_value_store().name: RemoteVersionedStore,
}
_TYPE_OF_KIND: Mapping[StoreKind, QueryableStoreType[Stored]] = {
    StoreKind.KEY_VALUE: queries.key_value_store(),
    StoreKind.TIMESTAMPED_KEY_VALUE: queries.key_value_store(),
    StoreKind.RETRIES: queries.key_value_store(),
    StoreKind.VERSIONED: queries.versioned_key_value_store(),
    StoreKind.WINDOW: queries.window_store(),
    StoreKind.TIMESTAMPED_WINDOW: queries.window_store(),
    StoreKind.SESSION: queries.session_store(),
}


def type_of(kind: StoreKind) -> QueryableStoreType[Stored] | None:
    """Returns the type as which a store is seen where none is named, with values as rows; None for stores that
    operators keep for themselves.
    """
    return _TYPE_OF_KIND.get(kind)


def remote_store(type_name: str, partitions: PartitionedStore) -> RemoteStore:
    """Returns the store seen as a type."""
    return _CLASSES[type_name](partitions)


def _rows(answers: Iterator[list[Stored]]) -> Iterator[Stored]:
    return (row for rows in answers for row in rows)
