"""Stores of a running application, to be read: Kafka Streams' ReadOnly…Store in snake case, as coroutines.

A call is answered between two turns of the tasks that have the store, and shows what these have
written, uncommitted rows included. Rows are lists: those of all partitions that are here, one
partition after another, each in its own order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Generic, TypeVar

from millstream.streams.application.interactive.live_partitions import LivePartitions
from millstream.streams.queries import store_types
from millstream.streams.serdes.serde import Serde
from millstream.streams.serdes.windowed import MAX_TIMESTAMP, Windowed
from millstream.streams.state.read_only import Stored, VersionedRecord

K = TypeVar("K")
V = TypeVar("V")


class _LiveStore:
    def __init__(self, partitions: LivePartitions) -> None:
        self.partitions: Final = partitions

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of store {self.partitions.wanted.store}>"


class LiveKeyValueStore(_LiveStore, Generic[K, V]):
    """Rows by key."""

    async def get(self, key: K) -> V | None:
        """Returns the row of a key, or None."""
        row: V | None = await self.partitions.of_key("get", key)
        return row

    async def range(self, lower: K | None, upper: K | None) -> list[tuple[K, V]]:
        """Returns the rows from `lower` to `upper`, both inclusive; None is without a bound."""
        return await self.partitions.rows("range", lower, upper)

    async def reverse_range(self, lower: K | None, upper: K | None) -> list[tuple[K, V]]:
        """Returns the rows of `range`, each partition's last first."""
        return await self.partitions.rows("reverse_range", lower, upper)

    async def all(self) -> list[tuple[K, V]]:
        """Returns all rows."""
        return await self.partitions.rows("all")

    async def reverse_all(self) -> list[tuple[K, V]]:
        """Returns all rows, each partition's last first."""
        return await self.partitions.rows("reverse_all")

    async def prefix_scan(
        self, prefix: object, serde: Serde[Stored] | None = None
    ) -> list[tuple[K, V]]:
        """Returns the rows whose key's bytes begin with those of `prefix`, which `serde`
        writes, or the key's own serde.
        """
        return await self.partitions.rows("prefix_scan", prefix, serde)

    async def approximate_num_entries(self) -> int:
        """Returns the number of rows here: exact, and found by counting them."""
        counts: list[int] = await self.partitions.of_all("approximate_num_entries")
        return sum(counts)


class LiveWindowStore(_LiveStore, Generic[K, V]):
    """Rows by key and window start."""

    async def row_at(self, key: K, start: int) -> V | None:
        """Returns the row of the window that starts at this time, or None."""
        row: V | None = await self.partitions.of_key("row_at", key, start)
        return row

    async def fetch(self, key: K, time_from: int, time_to: int) -> list[tuple[int, V]]:
        """Returns (start, row) of one key's windows that start in a range, by start."""
        found: list[tuple[int, V]] = await self.partitions.of_key("fetch", key, time_from, time_to)
        return found

    async def backward_fetch(self, key: K, time_from: int, time_to: int) -> list[tuple[int, V]]:
        """Returns the windows of `fetch`, the latest first."""
        found: list[tuple[int, V]] = await self.partitions.of_key(
            "backward_fetch", key, time_from, time_to
        )
        return found

    async def fetch_all(
        self,
        time_from: int = 0,
        time_to: int = MAX_TIMESTAMP,
        *,
        key_from: K | None = None,
        key_to: K | None = None,
    ) -> list[tuple[Windowed[K], V]]:
        """Returns the windows that start in a range, of all keys, or of those from `key_from` to `key_to`."""
        return await self.partitions.rows(
            "fetch_all", time_from, time_to, key_from=key_from, key_to=key_to
        )

    async def backward_fetch_all(
        self,
        time_from: int = 0,
        time_to: int = MAX_TIMESTAMP,
        *,
        key_from: K | None = None,
        key_to: K | None = None,
    ) -> list[tuple[Windowed[K], V]]:
        """Returns the windows of `fetch_all`, each partition's backwards."""
        return await self.partitions.rows(
            "backward_fetch_all", time_from, time_to, key_from=key_from, key_to=key_to
        )

    async def all(self) -> list[tuple[Windowed[K], V]]:
        """Returns all rows with their windows."""
        return await self.fetch_all()


class LiveSessionStore(_LiveStore, Generic[K, V]):
    """Values by key and session."""

    async def fetch_session(self, key: K, start: int, end: int) -> V | None:
        """Returns the value of exactly this session, or None."""
        row: V | None = await self.partitions.of_key("fetch_session", key, start, end)
        return row

    async def fetch(self, key: K) -> list[tuple[Windowed[K], V]]:
        """Returns all sessions of a key, by end."""
        return await self.find_sessions(key, 0, MAX_TIMESTAMP)

    async def find_sessions(
        self, key: K, earliest_end: int, latest_start: int
    ) -> list[tuple[Windowed[K], V]]:
        """Returns the sessions that end at or after the one time and start at or before the other, by end."""
        found: list[tuple[Windowed[K], V]] = await self.partitions.of_key(
            "find_sessions", key, earliest_end, latest_start
        )
        return found

    async def find_all_sessions(
        self,
        *,
        key_from: K | None = None,
        key_to: K | None = None,
        earliest_end: int = 0,
        latest_start: int = MAX_TIMESTAMP,
    ) -> list[tuple[Windowed[K], V]]:
        """Returns the sessions of all keys, or of those from `key_from` to `key_to`, within the
        bounds that are given.
        """
        return await self.partitions.rows(
            "find_all_sessions",
            key_from=key_from,
            key_to=key_to,
            earliest_end=earliest_end,
            latest_start=latest_start,
        )


class LiveVersionedStore(_LiveStore, Generic[K]):
    """The history of each key."""

    async def get(self, key: K, as_of_ms: int | None = None) -> VersionedRecord | None:
        """Returns the newest version of a key, or the one that was valid at a time; None where there is none."""
        found: VersionedRecord | None = await self.partitions.of_key("get", key, as_of_ms)
        return found


LiveStore = (
    LiveKeyValueStore[Stored, Stored]
    | LiveWindowStore[Stored, Stored]
    | LiveSessionStore[Stored, Stored]
    | LiveVersionedStore[Stored]
)
_CLASSES: Final[Mapping[str, Callable[[LivePartitions], LiveStore]]] = {
    store_types.key_value_store().name: LiveKeyValueStore,
    store_types.timestamped_key_value_store().name: LiveKeyValueStore,
    store_types.timestamped_key_value_store_with_headers().name: LiveKeyValueStore,
    store_types.window_store().name: LiveWindowStore,
    store_types.timestamped_window_store().name: LiveWindowStore,
    store_types.timestamped_window_store_with_headers().name: LiveWindowStore,
    store_types.session_store().name: LiveSessionStore,
    store_types.session_store_with_headers().name: LiveSessionStore,
    store_types.versioned_key_value_store().name: LiveVersionedStore,
}


def live_store(partitions: LivePartitions) -> LiveStore:
    """Returns the store seen as the type that is wanted."""
    return _CLASSES[partitions.wanted.type.name](partitions)
