"""Base of all stores: rows, serdes, a changelog, commit and restore."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import Any, NamedTuple

from millstream.streams.config import StreamsConfig
from millstream.streams.dropped_records import Lateness
from millstream.streams.errors import SerializationError, StreamsError
from millstream.streams.serdes.serde import Serde
from millstream.streams.state.cache import (
    NOWHERE,
    CacheEntry,
    FlushedRows,
    ProcessorRecordContext,
    RecordCache,
)
from millstream.streams.state.changelog import Changelog, Headers
from millstream.streams.state.headers import split_headers
from millstream.streams.state.storage.transaction import TransactionalRows, overlaid
from millstream.streams.topology.stores import StoreSpec


def _count_nowhere(_store: str, _late: Lateness, _origin: ProcessorRecordContext | None) -> None:
    """Does nothing: the task counts nothing that is dropped."""


@dataclass(slots=True)
class RecordInProcess:
    """The record that a task is processing, as its stores see it: what their changelog records are like.

    `origin` is the same record, for what goes on from a cache, and `ordinal` its row; kept where a cache may make room
    meanwhile.
    """

    timestamp: int = 0
    headers: Headers = ()
    origin: ProcessorRecordContext = NOWHERE
    ordinal: int = 0


@dataclass(frozen=True, slots=True)
class OwningTask:
    """The task of a store, as the store sees it. `drop_expired` is told of rows that are too old: the store, how late
    they are, and their record, where that is not the one being processed.
    """

    config: StreamsConfig
    task_id: str
    record: RecordInProcess = field(default_factory=RecordInProcess)
    drop_expired: Callable[[str, Lateness, ProcessorRecordContext | None], None] = _count_nowhere


@dataclass(frozen=True, slots=True)
class StoreParts:
    """The parts that a store is opened with; serdes are resolved, the changelog is None where logging is off."""

    spec: StoreSpec
    rows: TransactionalRows
    key: Serde[Any]  # Any: a store of any type
    value: Serde[Any]  # Any: a store of any type
    changelog: Changelog | None
    task: OwningTask | None = None
    other_value: Serde[Any] | None = None  # Any: the right side of a join
    cache: RecordCache | None = None


class ChangelogRecord(NamedTuple):
    """One record of a changelog topic."""

    key: bytes
    value: bytes | None
    timestamp: int
    headers: Headers = ()


@dataclass(frozen=True, slots=True)
class FlushedChanges:
    """Changes of rows that leave the cache, as columns of what the serdes of the table have
    written; `old` where it is wanted.
    """

    keys: list[bytes | None]
    new: list[bytes | None]
    old: list[bytes | None] | None
    timestamps: Sequence[int]
    origins: Sequence[ProcessorRecordContext]


@dataclass(frozen=True, slots=True)
class TableBelow:
    """The receiver of a cached table's changes. `forward` is told whether they had to make room."""

    forward: Callable[[FlushedChanges, bool], None]
    wants_old: bool


class StateStore(ABC):
    """A store of a running task."""

    def __init__(self, parts: StoreParts) -> None:
        self.spec = parts.spec
        self.name = parts.spec.name
        self.changelog = parts.changelog
        self.rows = parts.rows
        self.cache = parts.cache
        if self.cache is not None:
            self.cache.on_flush = self._flush_rows
        self.below: TableBelow | None = None
        """Of a table whose changes a cache holds back."""
        self.times = dict(parts.rows.metadata.times)
        """Stream time and emitted close time of the operators that own the store; committed with the rows."""
        self.key_serde = self._key = parts.key
        self.value_serde = self._value = parts.value
        self._encode_key = parts.key.encode
        self._encode_value = parts.value.encode
        self._decode_value = parts.value.decode
        self._task = parts.task
        self._in_process = RecordInProcess() if parts.task is None else parts.task.record
        self.is_open = True
        self.expired_puts = 0
        """Rows that came too late to be stored."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}{'' if self.is_open else ' closed'}>"

    @property
    def persistent(self) -> bool:
        """Whether the rows are kept on disk."""
        return self.spec.persistent

    @property
    def layout(self) -> str:
        """The way in which rows and their keys are laid out: those of another one cannot be read here."""
        return str(self.spec.kind.value)

    @property
    def has_other_layout(self) -> bool:
        """Whether the rows were written by another store of this name, as before a change of the topology."""
        return self.rows.metadata.layout not in {"", self.layout}

    @property
    def takes_columns(self) -> bool:
        """Whether a whole batch may be folded into running rows and written at once."""
        return False

    @property
    def exposed(self) -> object:
        """The object that processors are given when they ask for the store."""
        return self

    def flush(self) -> None:  # noqa: B027 - a hook; most stores hold nothing back
        """Write to the changelog what was held back until now."""

    def commit(self, *, changelog_offset: int | None, marker: str | None) -> None:
        """Make everything written so far part of the stored rows, together with these facts."""
        known = self.rows.metadata
        offset = known.changelog_offset if changelog_offset is None else changelog_offset
        self.rows.commit(
            replace(
                known,
                changelog_offset=offset,
                marker=marker,
                times=self.known_times(),
                layout=self.layout,
            )
        )

    def known_times(self) -> dict[str, int]:
        """Returns the times that belong to the rows as they are now, by name."""
        return dict(self.times)

    def go_back(  # noqa: B027  # stores whose rows do not expire have nothing to do
        self, _times: Mapping[str, int]
    ) -> None:
        """Called before rows are restored that are newer than the task's last commit, with its times."""

    def resume(self, times: Mapping[str, int]) -> None:
        """Take over the times of the task's last commit, which the rows lack when they were
        restored from a changelog.
        """
        known = self.rows.metadata
        self.rows.metadata = replace(known, times={**known.times, **times})
        self.discard()

    def discard(self) -> None:
        """Forget everything written since the last commit."""
        self.rows.discard()
        self.times = dict(self.rows.metadata.times)
        if self.changelog is not None:
            self.changelog.take()
        if self.cache is not None:
            self.cache.clear()

    def flush_cache(self) -> None:
        """Write what the cache holds back, and let it go on if the store is a table's."""
        if self.cache is not None:
            self.cache.flush()

    def _flush_rows(self, evicted: CacheEntry | None) -> None:
        """Of a table, the deletion of a row that the store does not have is left out."""
        cache, below = self.cache, self.below
        assert cache is not None, "only a cache flushes"
        rows = cache.take_dirty(evicted)
        if below is None:
            self.write_flushed(rows)
        else:
            changes = self._written_changes(rows, wants_old=below.wants_old)
            if changes.keys:
                below.forward(changes, evicted is not None)
        cache.drop_deleted(rows, evicted)

    def _written_changes(self, rows: FlushedRows, *, wants_old: bool) -> FlushedChanges:
        """Write rows of a table. One by one where they are looked at before: writing one may let others expire."""
        if not wants_old and None not in rows.stored:
            keys, new = self.write_flushed(rows)
            times, origins = self.change_times(rows), self.change_origins(rows)
            return FlushedChanges(self.table_keys(keys), new, None, times, origins)
        written: list[tuple[bytes | None, bytes | None, bytes | None]] = []
        times, origins = [], []
        for one in rows.each():
            (row_key,), (stored,) = one.row_keys, one.stored
            before = self.flushed_row(row_key) if stored is None or wants_old else None
            if stored is None and before is None:
                continue
            (key,), (value,) = self.write_flushed(one)
            written.append((key, value, None if before is None else self.logged_value(before)))
            times += self.change_times(one)
            origins += self.change_origins(one)
        keys, new, old = ([row[column] for row in written] for column in range(3))
        return FlushedChanges(
            self.table_keys(keys), new, old if wants_old else None, times, origins
        )

    def write_flushed(self, rows: FlushedRows) -> tuple[list[bytes | None], list[bytes | None]]:
        """Set rows that leave the cache, and log them; gives the keys and values as they are logged."""
        self.set_rows(rows)
        keys, values = self.log_keys(rows.row_keys), self.logged_column(rows.stored)
        if self.changelog is not None:
            if self.spec.with_headers or self.spec.log_headers:
                each = zip(rows.stored, rows.origins, strict=True)
                self.changelog.note_headers(
                    [self.logged_headers(stored, origin.headers) for stored, origin in each]
                )
            self.changelog.extend(keys, values, rows.timestamps)
        return keys, values

    def flushed_row(self, row_key: bytes) -> bytes | None:
        """Returns a row as the store has it, whatever a cache holds."""
        return self.rows.get(row_key)

    def put_row(self, row_key: bytes, stored: bytes | None, timestamp: int) -> None:
        """Set or delete (None) a row, in the cache if there is one; `timestamp` is that of the changelog record."""
        if self.cache is None:
            self.write_row(row_key, stored, timestamp, self.record_headers())
        else:
            key = self.cache_key(row_key)
            self.cache.write(key, row_key, stored, timestamp, self.origin())

    def cache_key(self, row_key: bytes) -> bytes:
        """Returns the key by which the cache finds and orders a row, as Kafka Streams' does."""
        return row_key

    def write_row(
        self, row_key: bytes, stored: bytes | None, timestamp: int, headers: Headers
    ) -> None:
        """Set or delete a row of the store itself, and log it; `headers` are those of the record that does it."""
        self.set_row(row_key, stored, timestamp)
        self.log_row(row_key, stored, timestamp, headers)

    def set_row(self, row_key: bytes, stored: bytes | None, _timestamp: int) -> None:
        """Set or delete a row of the store itself."""
        self.rows.pending[row_key] = stored

    def set_rows(self, rows: FlushedRows) -> None:
        """Set or delete rows that leave the cache, one after the other."""
        for row in zip(rows.row_keys, rows.stored, rows.timestamps, strict=True):
            self.set_row(*row)

    def log_row(
        self, row_key: bytes, stored: bytes | None, timestamp: int, headers: Headers
    ) -> None:
        """Append a row to the changelog, if there is one."""
        if self.changelog is not None:
            value = None if stored is None else self.logged_value(stored)
            logged = self.logged_headers(stored, headers)
            self.changelog.append(self.log_key(row_key), value, timestamp, logged)

    def rows_in(
        self, low: bytes, high: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yields the rows in [low, high) in the order of their keys, with what the cache holds."""
        rows = self.rows.scan(low, high, reverse=reverse)
        if self.cache is None:
            return rows
        return overlaid(rows, self.cache.scan(low, high, reverse=reverse), reverse=reverse)

    def log_key(self, row_key: bytes) -> bytes:
        """Returns the key of a row's changelog record."""
        return row_key

    def log_keys(self, row_keys: Sequence[bytes]) -> list[bytes | None]:
        """Returns the same of several rows."""
        return [self.log_key(row_key) for row_key in row_keys]

    def logged_value(self, stored: bytes) -> bytes:
        """Returns the changelog's form of a stored row."""
        return stored

    def logged_column(self, stored: Sequence[bytes | None]) -> list[bytes | None]:
        """Returns the changelog's form of a column of stored rows; of None, a deletion, None."""
        logged_value = self.logged_value
        return [None if row is None else logged_value(row) for row in stored]

    def logged_headers(self, stored: bytes | None, record_headers: Headers) -> Headers:
        """Returns the headers of the changelog record of a row, or of its deletion (None) by a
        record with these headers.

        A store with headers logs those of the row; a deletion has those of the record that deletes (KIP-1271).
        """
        if stored is not None and self.spec.with_headers:
            return split_headers(stored)[0]
        return record_headers if self.spec.with_headers or self.spec.log_headers else ()

    @property
    def table_key_serde(self) -> Serde[Any]:  # Any: tables of any type
        """The serde of the table's keys, which have their windows where it has some."""
        return self._key

    def table_keys(self, log_keys: list[bytes | None]) -> list[bytes | None]:
        """Returns what `table_key_serde` writes for keys of the changelog."""
        return log_keys

    def change_times(self, rows: FlushedRows) -> Sequence[int]:
        """Returns the timestamps of the changes that rows make as they leave the cache."""
        return rows.timestamps

    def change_origins(self, rows: FlushedRows) -> Sequence[ProcessorRecordContext]:
        """Returns the records that the changes come from; their headers are those of the changes."""
        return rows.origins

    def restore(
        self,
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        timestamps: Sequence[int],
        next_offset: int,
        headers: Sequence[Headers] | None = None,
    ) -> None:
        """Apply changelog records; they are committed at once with the offset after them."""
        self.restore_columns(keys, values, timestamps, headers)
        self.commit(changelog_offset=next_offset, marker=self.rows.metadata.marker)

    def restore_columns(
        self,
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        timestamps: Sequence[int],
        headers: Sequence[Headers] | None,
    ) -> None:
        """Put columns of changelog records into the rows.

        Stores whose rows are made from one record each do without `restore_rows`.
        """
        given = repeat((), len(keys)) if headers is None else headers
        columns = zip(keys, values, timestamps, given, strict=True)
        self.restore_rows(
            [ChangelogRecord(k, v, at, h) for k, v, at, h in columns if k is not None]
        )

    def restore_rows(self, records: Sequence[ChangelogRecord]) -> None:
        """Put a batch of changelog records into the rows."""
        for record in records:
            self.restore_row(*record)

    @abstractmethod
    def restore_row(
        self, key: bytes, value: bytes | None, timestamp: int, headers: Headers, /
    ) -> None:
        """Put one changelog record into the rows, in the form the store keeps them."""

    def close(self) -> None:
        """Closes the store: every access raises InvalidStoreError from now on."""
        self.is_open = False
        if self.cache is not None:
            self.cache.clear()
            self.cache = None  # or it would go on taking what the rows refuse
        self.rows.close(self.name)

    def key_bytes(self, key: object) -> bytes:
        """Returns the bytes of a key that is asked for. Raises SerializationError where its serde cannot write it."""
        try:
            return self._encode_key(key)
        except Exception as error:
            raise self._unaskable(key) from error

    def encoded(self, key: object, value: object) -> tuple[bytes, bytes | None]:
        """Key and value as bytes."""
        try:
            return self._encode_key(key), None if value is None else self._encode_value(value)
        except StreamsError:
            raise
        except Exception as error:
            raise self._unwritable(key, value) from error

    def begin_row(self, ordinal: int) -> None:
        """Notes which row is put next, where whole batches are put."""
        self._in_process.ordinal = ordinal

    def refuse_expired(
        self, time: int, oldest: int, retention: int, origin: ProcessorRecordContext | None = None
    ) -> None:
        """Counts a row of this time, for which it is too late, as dropped: nothing before `oldest` is kept."""
        self.expired_puts += 1
        if self._task is not None:
            needed = retention + oldest - time
            late = Lateness((time, time), oldest, retention, needed, -1)
            self._task.drop_expired(self.name, late, origin)

    def record_headers(self) -> Headers:
        """Returns the headers of the record being processed."""
        return self._in_process.headers

    def origin(self) -> ProcessorRecordContext:
        """Returns the source of the record being processed."""
        return self._in_process.origin

    def now(self) -> int:
        """Returns the timestamp of the record being processed."""
        return self._in_process.timestamp

    def unwritable(self, keys: Sequence[object], values: Sequence[object]) -> SerializationError:
        """Returns the error for the first row of two columns that the serdes cannot write."""
        for key, value in zip(keys, values, strict=True):
            try:
                self._encode_key(key)
                if value is not None:
                    self._encode_value(value)
            except Exception:  # noqa: BLE001  # the one that was looked for
                return self._unwritable(key, value)
        raise AssertionError(f"store {self.name} can write all {len(keys)} rows, and could not")

    def _unaskable(self, key: object) -> SerializationError:
        never = ": a key is never None" if key is None else ""
        return SerializationError(
            f"store {self.name} cannot be asked for key {type(key).__name__} with serde {self._key.name}{never}"
        )

    def _unwritable(self, key: object, value: object) -> SerializationError:
        return SerializationError(
            f"store {self.name} cannot write key {type(key).__name__} with serde {self._key.name} "
            f"and value {type(value).__name__} with serde {self._value.name}: give the right serdes"
        )
