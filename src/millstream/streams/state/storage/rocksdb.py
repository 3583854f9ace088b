"""Rows in RocksDB, through rocksdict in raw mode: one database for each task, so that a commit of
all its stores is one write.

Every key begins with the store's name and a zero byte, then one byte that keeps rows (`r`) and metadata (`m`) apart.
rocksdict holds the lock of a closed database for as long as an iterator or snapshot of it is alive, so every scan here
reads its rows in pages and keeps no iterator from one to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice, takewhile
from typing import Any

from rocksdict import Checkpoint, Options, Rdict, ReadOptions, WriteBatch, WriteOptions

from millstream.streams.errors import InvalidStoreError
from millstream.streams.rocksdb_options import RocksDBOptions
from millstream.streams.state.storage.rocksdb_memory import (
    RocksMemory,
    apply_chosen,
    memory_of_process,
)

_DEFAULT = RocksDBOptions()
_PAGE_ROWS = 1024
"""A scan takes so many rows at a time: an iterator that is left alone holds the lock of its database until it is
collected.
"""
_SORTED_ROWS = 8192
"""So many rows are put in order at a time; they stay in the processor's cache meanwhile."""
_PROPERTIES = (
    "num-immutable-mem-table", "cur-size-active-mem-table", "cur-size-all-mem-tables", "size-all-mem-tables",
    "num-entries-active-mem-table", "num-entries-imm-mem-tables", "num-deletes-active-mem-table",
    "num-deletes-imm-mem-tables", "mem-table-flush-pending", "num-running-flushes", "compaction-pending",
    "num-running-compactions", "estimate-pending-compaction-bytes", "total-sst-files-size", "live-sst-files-size",
    "num-live-versions", "block-cache-capacity", "block-cache-usage", "block-cache-pinned-usage", "estimate-num-keys",
    "estimate-table-readers-mem", "background-errors",
)  # fmt: skip


class RocksDatabase:
    """One database directory. Raises what RocksDB raises when another process has it open."""

    def __init__(
        self,
        path: str,
        configure: Callable[[Options], object] | None = None,
        memory: RocksMemory | None = None,
        chosen: RocksDBOptions = _DEFAULT,
    ) -> None:
        options = Options(raw_mode=True)
        options.create_if_missing(True)
        self._memory = memory_of_process(chosen) if memory is None else memory
        self._memory.apply_to(options)
        apply_chosen(options, chosen)
        if configure is not None:
            configure(options)
        self._open: Rdict | None = Rdict(path, options)
        self._together: WriteBatch | None = None

    @property
    def rows(self) -> Rdict:
        """Returns the open database.

        Raises InvalidStoreError when the database is closed, for instance below an iterator.
        """
        if self._open is None:
            raise InvalidStoreError("the stores of this task are closed")
        return self._open

    @contextmanager
    def together(self) -> Iterator[None]:
        """Applies what is written inside at the end, all of it or, after an exception, nothing."""
        assert self._together is None, "commits do not nest"
        batch = self._together = WriteBatch(raw_mode=True)
        try:
            yield
            self._write(batch)
        finally:
            self._together = None

    def write(
        self,
        prefix: bytes,
        rows: Mapping[bytes, bytes | None],
        key: bytes,
        value: bytes,
        deleted_before: bytes = b"",
    ) -> None:
        """Put and delete (None) rows, whose keys begin with `prefix`, and put another, all or
        nothing; inside `together` kept back.

        All rows before `deleted_before` are deleted first, as one range: RocksDB does not look at them.

        RocksDB takes rows several times as fast in the order of their keys; a part of them at a time is put in order,
        which the processor's cache holds.
        """
        batch = WriteBatch(raw_mode=True) if self._together is None else self._together
        put, delete = batch.put, batch.delete
        if deleted_before:
            batch.delete_range(prefix, prefix + deleted_before)
        keys = iter(rows)
        while part := sorted(islice(keys, _SORTED_ROWS)):
            for each in part:
                row = rows[each]
                if row is None:
                    delete(prefix + each)
                else:
                    put(prefix + each, row)
        put(key, value)
        if self._together is None:
            self._write(batch)

    def begin_bulk_load(self) -> None:
        """Writes without a log from now on: a crash loses the last writes, and leaves the rows as
        they were after one of them.
        """
        unlogged = WriteOptions()
        unlogged.disable_wal = True  # type: ignore[method-assign, assignment]  # a property that the stub has as a method
        self.rows.set_write_options(unlogged)

    def end_bulk_load(self) -> None:
        """Writes are logged again, and nothing that was not is left outside of files: a log without
        it would be a state with holes.
        """
        self.rows.flush()
        self.rows.set_write_options(WriteOptions())

    def properties(self) -> dict[str, int]:
        """Returns RocksDB's properties that Kafka Streams has metrics of (KIP-607), by their names there."""
        rows = self.rows
        found = {name: rows.property_int_value(f"rocksdb.{name}") for name in _PROPERTIES}
        return {name: value for name, value in found.items() if value is not None}

    def checkpoint(self, path: str) -> None:
        """Makes a database of the rows as they are now at a path on the same disk, where nothing is
        yet; its files are links.
        """
        Checkpoint(self.rows).create_checkpoint(path)

    def _write(self, batch: WriteBatch) -> None:
        # Logged, and not synced: a kill of the process loses nothing. A loss of power may take the last commits, whole
        # ones and the newest first, and the stores are behind their changelogs, as a restore takes them.
        self.rows.write(batch)
        if self._memory.is_short_of_write_buffers:
            self.rows.flush(wait=False)

    def close(self) -> None:
        database, self._open = self._open, None
        if database is not None:
            database.close()


class RocksByteStore:
    """The rows of one store inside its task's database. The database is closed by its opener."""

    def __init__(self, database: RocksDatabase, name: str) -> None:
        self._database = database
        prefix = name.encode() + b"\x00"
        self._data = prefix + b"r"
        self._data_end = prefix + b"s"
        self._metadata_key = prefix + b"m"

    def get(self, key: bytes) -> bytes | None:
        value: bytes | None = self._database.rows.get(self._data + key)
        return value

    def scan(
        self, low: bytes, high: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        skip = len(self._data)
        # The next page is read when the one before has been gone through. Commits alone write rows, and none comes in
        # the middle of a record; an iterator that outlives one sees what it has changed from its next page on.
        low = self._data + low
        end = self._data_end if high is None else self._data + high
        while page := self._page(low, end, reverse=reverse):
            for key, value in page:
                yield key[skip:], value
            if len(page) < _PAGE_ROWS:
                return
            if reverse:
                end = page[-1][0]
            else:
                low = page[-1][0] + b"\x00"

    def write(
        self, rows: Mapping[bytes, bytes | None], metadata: bytes, deleted_before: bytes = b""
    ) -> None:
        self._database.write(self._data, rows, self._metadata_key, metadata, deleted_before)

    def metadata(self) -> bytes | None:
        value: bytes | None = self._database.rows.get(self._metadata_key)
        return value

    def close(self) -> None:
        """Does nothing: the database belongs to the task."""

    def _page(self, low: bytes, end: bytes, *, reverse: bool) -> list[tuple[bytes, bytes]]:
        """Up to a page of rows in [low, end), from the far end when reversed."""
        below_end = ReadOptions()
        below_end.set_iterate_upper_bound(end)
        rows: Any = self._database.rows  # Any: the stub knows not that keys are bytes in raw mode
        if not reverse:
            return list(islice(rows.items(from_key=low, read_opt=below_end), _PAGE_ROWS))
        from_the_end = rows.items(backwards=True, read_opt=below_end)
        return list(islice(takewhile(lambda row: row[0] >= low, from_the_end), _PAGE_ROWS))
