"""Sessions of keys around the records of a batch: decoded, and in the order of their ends.

As `window/running.py` has it for windows: a store that takes whole columns is scanned once for each key of a batch, and
every session is written once, when the batch is through; otherwise every access goes to the store.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from millstream.streams.serdes.windowed import Windowed
from millstream.streams.state.read_only import Stored

if TYPE_CHECKING:
    from millstream.streams.state.session.store import SessionStore

Session = tuple[int, int, Stored]
"""Start, end, aggregate."""
SessionWrite = tuple[Windowed[object], Stored, int]
"""What a store is given: session, aggregate, the time of the record."""


class SessionsOfKey(Protocol):
    """Sessions of one key as a fold reads and sets them."""

    def find(self, earliest_end: int, latest_start: int) -> list[Session]:
        """Returns the sessions that end at or after the one time and start at or before the other, by end."""

    def set(self, start: int, end: int, aggregate: Stored, at: int) -> None:
        """Set the aggregate of a session; None removes it. `at`: the time of the record that does."""


class StoredSessions:
    """One key's, read from and written to the store one by one."""

    __slots__ = ("_key", "_store")

    def __init__(self, store: SessionStore, key: object) -> None:
        self._store, self._key = store, key

    def find(self, earliest_end: int, latest_start: int) -> list[Session]:
        aggregate_of = self._store.aggregate_of
        return [
            (session.start_ms, session.end_ms, aggregate_of(row))
            for session, row in self._store.find_sessions(self._key, earliest_end, latest_start)
        ]

    def set(self, start: int, end: int, aggregate: Stored, at: int) -> None:
        self._store.put(Windowed(self._key, start, end), aggregate, at)


class SessionsInTurn(StoredSessions):
    """One key's, read from the store; writes wait in a list until it is their turn."""

    __slots__ = ("_writes",)

    def __init__(self, store: SessionStore, key: object, writes: list[SessionWrite]) -> None:
        super().__init__(store, key)
        self._writes = writes

    def set(self, start: int, end: int, aggregate: Stored, at: int) -> None:
        self._writes.append((Windowed(self._key, start, end), aggregate, at))


class KnownSessions:
    """One key's; `changed` has those that the store does not know yet, by start and end."""

    __slots__ = ("_order", "_sessions", "_store", "changed")

    def __init__(self, store: SessionStore, sessions: list[Session]) -> None:
        self._store = store
        self._sessions = sessions
        self._order = [store.order_of(start, end) for start, end, _ in sessions]
        self.changed: dict[tuple[int, int], Stored] = {}

    def find(self, earliest_end: int, latest_start: int) -> list[Session]:
        low = max(earliest_end, self._store.oldest_visible())
        first = bisect_left(self._order, (low,))
        return [session for session in self._sessions[first:] if session[0] <= latest_start]

    def set(self, start: int, end: int, aggregate: Stored, _at: int) -> None:
        if not self._store.admits(end):
            return
        order, sessions = self._store.order_of(start, end), self._sessions
        place = bisect_left(self._order, order)
        is_known = place < len(sessions) and self._order[place] == order
        if aggregate is None:
            if is_known:
                del self._order[place], sessions[place]
        elif is_known:
            sessions[place] = (start, end, aggregate)
        else:
            self._order.insert(place, order)
            sessions.insert(place, (start, end, aggregate))
        self.changed[start, end] = aggregate


class RunningSessions:
    """Sessions of all keys of a batch that end at or after `earliest_end` and start at or before `latest_start`."""

    __slots__ = ("_earliest_end", "_known", "_latest_start", "_store")

    def __init__(self, store: SessionStore, earliest_end: int, latest_start: int) -> None:
        self._store = store
        self._earliest_end, self._latest_start = earliest_end, latest_start
        self._known: dict[bytes, KnownSessions] = {}

    def of_key(self, data: bytes) -> KnownSessions:
        """Returns the sessions of the key with these bytes."""
        known = self._known.get(data)
        if known is None:
            found = self._store.sessions_of_bytes(data, self._earliest_end, self._latest_start)
            known = self._known[data] = KnownSessions(self._store, found)
        return known

    def take_changed(self) -> Iterator[tuple[bytes, int, int, Stored]]:
        """Key's bytes, start, end and aggregate of what is to be written; afterwards nothing is."""
        for data, known in self._known.items():
            changed, known.changed = known.changed, {}
            for (start, end), aggregate in changed.items():
                yield data, start, end, aggregate
