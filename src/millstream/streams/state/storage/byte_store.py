"""The storage of rows: an ordered map of bytes to bytes that is written in atomic batches.

`metadata` is written in the same batch: it says up to which changelog offset the rows are complete.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from millstream.streams.topology.stores import StoreSpec


class ByteStore(Protocol):
    """An ordered map. Ranges are [low, high); high None means to the end."""

    def get(self, key: bytes) -> bytes | None: ...

    def scan(
        self, low: bytes, high: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]: ...

    def write(
        self, rows: Mapping[bytes, bytes | None], metadata: bytes, deleted_before: bytes = b""
    ) -> None:
        """Delete all rows before a key, then put and delete (None) rows, and set the metadata: all or nothing."""

    def metadata(self) -> bytes | None: ...

    def close(self) -> None: ...


class TaskStores(Protocol):
    """The storage of the stores of one task, as the task sees it; `factory` makes such places."""

    def open(self, spec: StoreSpec) -> ByteStore: ...

    def directory(self) -> str | None:
        """Returns the task's directory, which is there from now on; None where everything is in memory."""

    def together(self) -> AbstractContextManager[None]:
        """Makes what is written to any of the stores inside permanent at the end, all of it or nothing."""
        ...

    def properties(self) -> Mapping[str, int]:
        """Returns RocksDB's properties of the rows by the names of Kafka Streams' metrics; none of
        what is in memory.
        """
        ...

    def close(self) -> None: ...


StoreFactory = Callable[[str], TaskStores]
"""Task id → its stores. A task id is `<sub-topology>_<partition>`."""


class MemoryByteStore:
    """A dict, and its keys in order from the first scan on."""

    def __init__(self) -> None:
        self._rows: dict[bytes, bytes] = {}
        self._order: list[bytes] | None = None
        self._metadata: bytes | None = None

    def __len__(self) -> int:
        return len(self._rows)

    def get(self, key: bytes) -> bytes | None:
        return self._rows.get(key)

    def scan(
        self, low: bytes, high: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        order, rows = self._sorted(), self._rows
        first = bisect_left(order, low)
        end = len(order) if high is None else bisect_left(order, high)
        keys = order[first:end]
        for key in reversed(keys) if reverse else keys:
            yield key, rows[key]

    def write(
        self, rows: Mapping[bytes, bytes | None], metadata: bytes, deleted_before: bytes = b""
    ) -> None:
        self._metadata = metadata
        if deleted_before:
            self._delete_before(deleted_before)
        order, mine = self._order, self._rows
        # Many rows at once are sorted with the next scan; few are put in their places, which moves what is behind them.
        if order is not None and len(rows) > len(order) // 8 + 8:
            order = self._order = None
        for key, value in rows.items():
            if value is None:
                if mine.pop(key, None) is not None and order is not None:
                    del order[bisect_left(order, key)]
            else:
                if order is not None and key not in mine:
                    insort(order, key)
                mine[key] = value

    def _delete_before(self, key: bytes) -> None:
        order = self._sorted()
        end = bisect_left(order, key)
        for each in order[:end]:
            del self._rows[each]
        del order[:end]

    def metadata(self) -> bytes | None:
        return self._metadata

    def close(self) -> None:
        self._rows = {}
        self._order = None

    def _sorted(self) -> list[bytes]:
        if self._order is None:
            self._order = sorted(self._rows)
        return self._order


def end_of_prefix(prefix: bytes) -> bytes | None:
    """Returns the first key after all keys with this prefix; None if there is none."""
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes((kept[-1] + 1,)) if kept else None
