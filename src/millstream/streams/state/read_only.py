"""Read-only interfaces of stores: Kafka Streams' ReadOnly…Store in snake case, written once for every store and view.

Each kind has a few questions of its own that a store answers (the abstract methods); all others are made of
them. Rows of one key are a list. Rows of many keys are an iterator in the order of Kafka Streams, which
differs between stores in memory and on disk; what is written while it is open may be seen by it or not.
Bounds are inclusive, times in milliseconds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Generic, NamedTuple, TypeVar, overload

from millstream.foreign_names.explanation import explain_missing
from millstream.streams.serdes.serde import Serde
from millstream.streams.serdes.windowed import MAX_TIMESTAMP, Windowed

K = TypeVar("K")
V = TypeVar("V")
Stored = Any  # Any: keys, values and rows of every type


@explain_missing
class ReadOnlyKeyValueStore(ABC, Generic[K, V]):
    """Rows by key, in the order of the keys' bytes."""

    @abstractmethod
    def get(self, key: K) -> V | None:
        """Returns the row of a key, or None."""

    @abstractmethod
    def rows_between(
        self, lower: K | None, upper: K | None, *, reverse: bool
    ) -> Iterator[tuple[K, V]]:
        """Yields the rows with lower <= key <= upper; None is no bound."""

    @abstractmethod
    def prefix_scan(
        self,
        prefix: object,
        serde: Serde[Stored] | None = None,
    ) -> Iterator[tuple[K, V]]:
        """Yields the rows whose key's bytes begin with those of `prefix`, which `serde` writes, or
        the key's own serde.
        """

    @abstractmethod
    def approximate_num_entries(self) -> int:
        """Returns the number of rows: exact, and found by counting them."""

    def range(self, lower: K | None, upper: K | None) -> Iterator[tuple[K, V]]:
        """Yields the rows from `lower` to `upper`, both inclusive; None is without a bound."""
        return self.rows_between(lower, upper, reverse=False)

    def reverse_range(self, lower: K | None, upper: K | None) -> Iterator[tuple[K, V]]:
        """Yields the rows of `range`, last first."""
        return self.rows_between(lower, upper, reverse=True)

    def all(self) -> Iterator[tuple[K, V]]:
        """Yields all rows."""
        return self.rows_between(None, None, reverse=False)

    def reverse_all(self) -> Iterator[tuple[K, V]]:
        """Yields all rows, last first."""
        return self.rows_between(None, None, reverse=True)


@explain_missing
class ReadOnlyWindowStore(ABC, Generic[K, V]):
    """Rows by key and window start. Those that are older than the retention are not seen."""

    @abstractmethod
    def row_at(self, key: K, start: int) -> V | None:
        """Returns the row of one window, or None."""

    @abstractmethod
    def rows_of_key(
        self, key: K, time_from: int, time_to: int, *, reverse: bool = False
    ) -> list[tuple[int, V]]:
        """Returns (start, row) of one key, by start."""

    @abstractmethod
    def rows_of_keys(
        self, key_from: K | None, key_to: K | None, time_from: int, time_to: int, *, reverse: bool
    ) -> Iterator[tuple[Windowed[K], V]]:
        """Yields the rows of all keys in a range. In memory by start, on disk by segment of time and key."""

    @overload
    def fetch(self, key: K, time_from: int) -> V | None: ...

    @overload
    def fetch(self, key: K, time_from: int, time_to: int) -> list[tuple[int, V]]: ...

    def fetch(
        self, key: K, time_from: int, time_to: int | None = None
    ) -> V | list[tuple[int, V]] | None:
        """Returns the row of the window that starts at one time, or (start, row) of those that start in a range."""
        if time_to is None:
            return self.row_at(key, time_from)
        return self.rows_of_key(key, time_from, time_to)

    def backward_fetch(self, key: K, time_from: int, time_to: int) -> list[tuple[int, V]]:
        """Returns (start, row) of one key's windows that start in a range, the latest first."""
        return self.rows_of_key(key, time_from, time_to, reverse=True)

    def fetch_all(
        self,
        time_from: int = 0,
        time_to: int = MAX_TIMESTAMP,
        *,
        key_from: K | None = None,
        key_to: K | None = None,
    ) -> Iterator[tuple[Windowed[K], V]]:
        """Yields the windows that start in a range, of all keys, or of those from `key_from` to `key_to`."""
        return self.rows_of_keys(key_from, key_to, time_from, time_to, reverse=False)

    def backward_fetch_all(
        self,
        time_from: int = 0,
        time_to: int = MAX_TIMESTAMP,
        *,
        key_from: K | None = None,
        key_to: K | None = None,
    ) -> Iterator[tuple[Windowed[K], V]]:
        """Yields the windows of `fetch_all` backwards."""
        return self.rows_of_keys(key_from, key_to, time_from, time_to, reverse=True)

    def all(self) -> Iterator[tuple[Windowed[K], V]]:
        """Yields all rows with their windows."""
        return self.fetch_all()

    def backward_all(self) -> Iterator[tuple[Windowed[K], V]]:
        """Yields all rows with their windows, latest first."""
        return self.backward_fetch_all()


@explain_missing
class ReadOnlySessionStore(ABC, Generic[K, V]):
    """Values by key and session. Sessions that ended before the retention began are not seen."""

    @abstractmethod
    def fetch_session(self, key: K, start: int, end: int) -> V | None:
        """Returns the value of exactly this session, or None."""

    @abstractmethod
    def sessions_of_key(
        self, key: K, earliest_end: int, latest_start: int, *, reverse: bool
    ) -> list[tuple[Windowed[K], V]]:
        """Returns the sessions of a key that end at or after the one time and start at or before the other, by end."""

    @abstractmethod
    def sessions_of_keys(
        self,
        keys: tuple[K | None, K | None],
        earliest_end: int,
        latest_start: int,
        latest_end: int,
        *,
        reverse: bool,
    ) -> Iterator[tuple[Windowed[K], V]]:
        """Yields the sessions of all keys in a range. In memory by end, on disk by segment of time and key."""

    def find_sessions(
        self, key: K, earliest_end: int, latest_start: int
    ) -> list[tuple[Windowed[K], V]]:
        """Returns the sessions that end at or after the one time and start at or before the other, by end."""
        return self.sessions_of_key(key, earliest_end, latest_start, reverse=False)

    def backward_find_sessions(
        self, key: K, earliest_end: int, latest_start: int
    ) -> list[tuple[Windowed[K], V]]:
        """Returns the sessions of `find_sessions` backwards."""
        return self.sessions_of_key(key, earliest_end, latest_start, reverse=True)

    def fetch(self, key: K) -> list[tuple[Windowed[K], V]]:
        """Returns all sessions of a key, by end."""
        return self.find_sessions(key, 0, MAX_TIMESTAMP)

    def backward_fetch(self, key: K) -> list[tuple[Windowed[K], V]]:
        """Returns the sessions of `fetch` backwards."""
        return self.backward_find_sessions(key, 0, MAX_TIMESTAMP)

    def find_all_sessions(
        self,
        *,
        key_from: K | None = None,
        key_to: K | None = None,
        earliest_end: int = 0,
        latest_start: int = MAX_TIMESTAMP,
        latest_end: int = MAX_TIMESTAMP,
    ) -> Iterator[tuple[Windowed[K], V]]:
        """Yields the sessions of all keys, or of those from `key_from` to `key_to`, within the
        bounds that are given.
        """
        keys = (key_from, key_to)
        return self.sessions_of_keys(keys, earliest_end, latest_start, latest_end, reverse=False)

    def backward_find_all_sessions(
        self,
        *,
        key_from: K | None = None,
        key_to: K | None = None,
        earliest_end: int = 0,
        latest_start: int = MAX_TIMESTAMP,
        latest_end: int = MAX_TIMESTAMP,
    ) -> Iterator[tuple[Windowed[K], V]]:
        """Yields the sessions of `find_all_sessions` backwards."""
        keys = (key_from, key_to)
        return self.sessions_of_keys(keys, earliest_end, latest_start, latest_end, reverse=True)


@explain_missing
class VersionedRecord(NamedTuple):
    """A version of a key: valid from `timestamp` until `valid_to`, None where it is the newest."""

    value: Stored
    timestamp: int
    valid_to: int | None = None


@explain_missing
class ReadOnlyVersionedStore(ABC, Generic[K]):
    """The history of each key."""

    @abstractmethod
    def get(self, key: K, as_of_ms: int | None = None) -> VersionedRecord | None:
        """Returns the newest version of a key, or the one that was valid at a time.

        None where there is none, or it was a deletion.
        """
