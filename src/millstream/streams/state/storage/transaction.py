"""Transactional rows: what the running batch has written lies over the stored rows until it is committed.

Reads see the overlay first. `commit` applies it in one write together with the changelog offset it belongs
to; `discard` forgets it. A crash before a commit leaves the rows as they were, a crash after it leaves rows
that are a few changelog records behind and catch up by restoring.
"""

from __future__ import annotations

import json
from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import NoReturn

from millstream.streams.errors import InvalidStoreError
from millstream.streams.state.storage.byte_store import ByteStore, MemoryByteStore

_FEW_KEYS = 8
"""So many new keys are put in order one by one."""
_ABSENT = b"\x00absent"


@dataclass(frozen=True, slots=True)
class StoreMetadata:
    """Metadata that is kept with the rows.

    `changelog_offset`: the next changelog record to restore; None where nothing was logged or restored yet.
    `marker`: whatever the runner gave at the commit, for instance a batch id.
    `times`: what the operators of the store remember across restarts, by name: the largest timestamp each
    has seen, the last close time it has emitted.
    `with_headers`: rows have headers in front (`headers.py`).
    `layout`: how rows and their keys are laid out; empty where an older release has written them.
    """

    changelog_offset: int | None = None
    marker: str | None = None
    times: dict[str, int] = field(default_factory=dict)
    with_headers: bool = False
    layout: str = ""

    def encode(self) -> bytes:
        return json.dumps(asdict(self), separators=(",", ":")).encode()

    @classmethod
    def decode(cls, data: bytes | None) -> StoreMetadata:
        return cls() if data is None else cls(**json.loads(data))


def overlaid(
    stored: Iterator[tuple[bytes, bytes]],
    written: Iterator[tuple[bytes, bytes | None]],
    *,
    reverse: bool = False,
) -> Iterator[tuple[bytes, bytes]]:
    """Yields the rows as they are with what was written over them (None: deleted), step by step the
    smaller key first.
    """
    ours = next(written, None)
    for key, value in stored:
        while ours is not None and (ours[0] > key if reverse else ours[0] < key):
            if ours[1] is not None:
                yield ours[0], ours[1]
            ours = next(written, None)
        if ours is not None and ours[0] == key:
            if ours[1] is not None:
                yield key, ours[1]
            ours = next(written, None)
        else:
            yield key, value
    while ours is not None:
        if ours[1] is not None:
            yield ours[0], ours[1]
        ours = next(written, None)


class TransactionalRows:
    """The rows of one store as the running batch sees them."""

    __slots__ = ("_deleted_before", "_get", "_order", "_rows", "metadata", "pending")

    def __init__(self, rows: ByteStore) -> None:
        self._rows = rows
        self._get = rows.get
        self.pending: dict[bytes, bytes | None] = {}
        self._order: list[bytes] = []
        self._deleted_before = b""
        """Stored rows before this key are deleted; what stands in the overlay was written afterwards."""
        self.metadata = StoreMetadata.decode(rows.metadata())

    def get(self, key: bytes) -> bytes | None:
        value = self.pending.get(key, _ABSENT)
        if value is not _ABSENT:
            return value
        return None if key < self._deleted_before else self._get(key)

    @property
    def has_stored(self) -> bool:
        """Whether a row has been committed."""
        return next(iter(self._rows.scan(b"", None)), None) is not None

    @property
    def keys_in_memory(self) -> int | None:
        """The number of rows, where they are in memory."""
        stored = self._rows
        if not isinstance(stored, MemoryByteStore):
            return None
        deleted_before = self._deleted_before
        count = len(stored) - sum(1 for _ in stored.scan(b"", deleted_before))
        for key, value in self.pending.items():
            is_stored = key >= deleted_before and stored.get(key) is not None
            count += (value is not None) - is_stored
        return count

    def put(self, key: bytes, value: bytes | None) -> None:
        """Set a row; None deletes it."""
        self.pending[key] = value

    def delete_before(self, key: bytes) -> None:
        """Delete all rows before a key; none of those that are stored is read."""
        for each in [each for each in self.pending if each < key]:
            self.pending[each] = None
        self._deleted_before = max(self._deleted_before, key)

    def scan(
        self, low: bytes, high: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yields the rows in [low, high) in key order, the overlay's over the stored ones."""
        pending, deleted_before = self.pending, self._deleted_before
        first = max(low, deleted_before)
        rows = self._rows.scan(first, high, reverse=reverse)
        if next(iter(pending), None) is None:  # which a closed overlay refuses to say
            return rows
        order = self._ordered()
        end = len(order) if high is None else bisect_left(order, high)
        # Who scans may write meanwhile, and even commit: rows are taken from this overlay as it is when they are come
        # to, and a commit or a rollback begins another one and leaves this as it was.
        ours = order[bisect_left(order, low) : end]
        if reverse:
            ours.reverse()
        written = ((key, pending[key]) for key in ours)
        return overlaid(rows, written, reverse=reverse) if ours else rows

    def commit(self, metadata: StoreMetadata) -> None:
        """Apply what was written and the metadata in one write."""
        if self.pending or self._deleted_before or metadata != self.metadata:
            # Where the stores of a task are committed together this is written later, all of it or, after a failure,
            # nothing; the overlay is gone in either case, and with a failure the task (kernel/task/state.py).
            self._rows.write(self.pending, metadata.encode(), self._deleted_before)
            self.discard()
            self.metadata = metadata

    def discard(self) -> None:
        """Forget what was written since the last commit."""
        self.pending, self._order = {}, []
        self._deleted_before = b""

    def _ordered(self) -> list[bytes]:
        """The overlay's keys in order. None of them ever goes, so what is new stands at the end of the overlay."""
        order = self._order
        newest_first = reversed(self.pending)
        added = list(islice(newest_first, len(self.pending) - len(order)))
        if len(added) > _FEW_KEYS:
            order += added
            order.sort()
        else:
            for key in added:
                insort(order, key)
        return order

    def close(self, store: str) -> None:
        """Closes the store: every access from now on raises InvalidStoreError, naming the store."""
        self._rows.close()
        self.pending, self._order = _ClosedOverlay(store), []


class _ClosedOverlay(dict[bytes, bytes | None]):
    """Every read and write of rows looks here first, so that open stores need no check."""

    def __init__(self, store: str) -> None:
        super().__init__()
        self._store = store

    def _refuse(self, *_: object) -> NoReturn:
        raise InvalidStoreError(
            f"store {self._store} is closed: its task has ended, or its partition has moved away"
        )

    get = __setitem__ = __iter__ = __reversed__ = _refuse
