"""What every store keeps to, whatever it holds and wherever: one unit with its task's commit, and its own changelog."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from millstream.streams.errors import InvalidStoreError
from millstream.streams.options import RecordContext, WaitingRecord
from millstream.streams.serdes import Windowed, string
from millstream.streams.state.buffers.unmatched import Unmatched
from millstream.streams.state.cache import CacheRoom, RecordCache
from millstream.streams.state.changelog import Changelog, Headers
from millstream.streams.state.opening import open_store
from millstream.streams.state.storage.byte_store import ByteStore, MemoryByteStore
from millstream.streams.state.storage.rocksdb import RocksByteStore, RocksDatabase
from millstream.streams.state.storage.transaction import TransactionalRows
from millstream.streams.state.store import StateStore, StoreParts
from millstream.streams.state.window.plain import PlainWindowStore
from millstream.streams.topology import StoreKind, StoreSpec


@dataclass(frozen=True)
class Kind:
    """A kind of store: `write` puts the n-th row, of which some replace or delete earlier ones; `shown` gives all rows."""

    spec: StoreSpec
    write: Callable[[Any, int], object]
    shown: Callable[[Any], object]


def key(n: int) -> str:
    return "abc"[n % 3]


def value(n: int) -> str | None:
    return None if n % 5 == 4 else f"v{n}"


def put_window(store: Any, n: int) -> None:
    store.put(key(n), value(n), n % 4)


def put_timestamped_window(store: Any, n: int) -> None:
    store.put(key(n), value(n), n % 4, n)


def put_session(store: Any, n: int) -> None:
    store.put(Windowed(key(n), n % 4, n % 4 + n % 2), value(n), n)


def headers(n: int) -> Headers:
    return () if n % 3 == 2 else (("n", str(n).encode()),)


def with_headers(store: Any) -> object:
    """All rows, with their headers: as tuples those with timestamps are compared without."""
    session = store.spec.kind is StoreKind.SESSION
    rows = store.find_all_sessions() if session else store.all()
    return [(key, row, row.headers) for key, row in rows]


def put_unmatched(store: Any, n: int) -> None:
    at = Unmatched(n % 4, n % 2 == 0, key(n))
    if n % 5 == 4:
        store.remove(at)
    else:
        store.add(at, f"v{n}")


def put_into_suppression(store: Any, n: int) -> None:
    if n % 5 == 4:
        store.evict()
    else:
        store.put(n, key(n), (value(n), value(n + 1)), RecordContext("t", 0, n, n))


def put_into_join_buffer(store: Any, n: int) -> None:
    store.put(key(n), f"v{n}", RecordContext("t", 0, n, n))


def put_into_retries(store: Any, n: int) -> None:
    """Some wait, some wait again, some are done, in the order in which they are due."""
    if n % 5 in (2, 4):
        (first,) = store.take_due(n, 1)
        if n % 5 == 4:
            store.remove(first)
        else:
            store.wait_again(first, replace(first.record, failures=n, due_ms=n + 2, error="no"))
    else:
        store.append(key(n), WaitingRecord(value(n), RecordContext("t", 0, n, n, headers(n)), 0, n))


def histories(store: Any) -> object:
    return {each: list(store.history(each)) for each in store.known_keys()}


def spec(kind: StoreKind, **options: Any) -> StoreSpec:
    return StoreSpec("s", kind, key=string(), value=string(), **options)


def windows(kind: StoreKind, **options: Any) -> StoreSpec:
    return spec(kind, retention_ms=100, window_size_ms=10, **options)


KINDS = {
    "key_value": Kind(
        spec(StoreKind.KEY_VALUE),
        lambda store, n: store.put(key(n), value(n)),
        lambda store: list(store.all()),
    ),
    "timestamped_key_value": Kind(
        spec(StoreKind.TIMESTAMPED_KEY_VALUE),
        lambda store, n: store.put(key(n), value(n), n),
        lambda store: list(store.all()),
    ),
    "lru": Kind(
        spec(StoreKind.KEY_VALUE, persistent=False, entries_max=2),
        lambda store, n: store.put(key(n), value(n)),
        lambda store: list(store.all()),
    ),
    "timestamped_lru": Kind(
        spec(StoreKind.TIMESTAMPED_KEY_VALUE, persistent=False, entries_max=2),
        lambda store, n: store.put(key(n), value(n), n),
        lambda store: list(store.all()),
    ),
    "versioned": Kind(
        spec(StoreKind.VERSIONED, retention_ms=4),
        lambda store, n: store.put(key(n), value(n), n - n % 3),
        histories,
    ),
    "window": Kind(windows(StoreKind.WINDOW), put_window, lambda store: list(store.all())),
    "window_with_duplicates": Kind(
        windows(StoreKind.WINDOW, retain_duplicates=True),
        put_window,
        lambda store: list(store.all()),
    ),
    "timestamped_window": Kind(
        windows(StoreKind.TIMESTAMPED_WINDOW),
        put_timestamped_window,
        lambda store: list(store.all()),
    ),
    "time_ordered_window": Kind(
        windows(StoreKind.TIMESTAMPED_WINDOW, time_ordered=True),
        put_timestamped_window,
        lambda store: list(store.all()),
    ),
    "session": Kind(
        windows(StoreKind.SESSION), put_session, lambda store: list(store.find_all_sessions())
    ),
    "time_ordered_session": Kind(
        windows(StoreKind.SESSION, time_ordered=True),
        put_session,
        lambda store: list(store.find_all_sessions()),
    ),
    "timestamped_key_value_with_headers": Kind(
        spec(StoreKind.TIMESTAMPED_KEY_VALUE, with_headers=True),
        lambda store, n: store.put(key(n), value(n), n, headers(n)),
        with_headers,
    ),
    "timestamped_window_with_headers": Kind(
        windows(StoreKind.TIMESTAMPED_WINDOW, with_headers=True),
        lambda store, n: store.put(key(n), value(n), n % 4, n, headers(n)),
        with_headers,
    ),
    "time_ordered_window_with_headers": Kind(
        windows(StoreKind.TIMESTAMPED_WINDOW, with_headers=True, time_ordered=True),
        lambda store, n: store.put(key(n), value(n), n % 4, n, headers(n)),
        with_headers,
    ),
    "session_with_headers": Kind(
        windows(StoreKind.SESSION, with_headers=True),
        lambda store, n: store.put(Windowed(key(n), n % 4, n % 4 + n % 2), value(n), n, headers(n)),
        with_headers,
    ),
    "unmatched": Kind(
        spec(StoreKind.UNMATCHED, other_value=string()),
        put_unmatched,
        lambda store: list(store.scan()),
    ),
    "suppression": Kind(
        spec(StoreKind.SUPPRESSION_BUFFER),
        put_into_suppression,
        lambda store: list(store.changes()),
    ),
    "retries": Kind(spec(StoreKind.RETRIES), put_into_retries, lambda store: list(store.all())),
    "join_buffer": Kind(
        spec(StoreKind.JOIN_BUFFER, retention_ms=100),
        put_into_join_buffer,
        lambda store: list(store.rows.scan(b"", None)),
    ),
}


def _is_cached_alike(kind: Kind) -> bool:
    """A cache in front of a bounded store shows more rows than it keeps, as in Kafka Streams."""
    return replace(kind.spec, caching=True).is_cacheable and kind.spec.entries_max is None


WAYS = [
    (name, place, cached)
    for name, kind in KINDS.items()
    for place in ("memory", "rocksdb")
    for cached in ((False, True) if _is_cached_alike(kind) else (False,))
]


class World:
    """Opens one store again and again over the same rows, or beside it over new ones."""

    def __init__(self, kind: Kind, rows: ByteStore, *, cached: bool) -> None:
        self.kind, self._rows, self._cached = kind, rows, cached

    def open(self, *, logging: bool = True) -> StateStore:
        """The store as its last commit left it."""
        return self._opened(TransactionalRows(self._rows), logging=logging)

    def open_empty(self) -> StateStore:
        return self._opened(TransactionalRows(MemoryByteStore()), logging=True)

    def write(self, store: StateStore, first: int, end: int) -> None:
        for n in range(first, end):
            self.kind.write(store, n)

    def _opened(self, rows: TransactionalRows, *, logging: bool) -> StateStore:
        spec = replace(self.kind.spec, caching=self._cached, logging=logging)
        changelog = Changelog("log") if logging else None
        cache = RecordCache(CacheRoom(1_000_000)) if self._cached else None
        serde = string()
        return open_store(StoreParts(spec, rows, serde, serde, changelog, None, serde, cache))


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RocksDatabase]:
    """One for all tests of the module: each has a store of its own in it, as the stores of a task have."""
    opened = RocksDatabase(str(tmp_path_factory.mktemp("stores")))
    yield opened
    opened.close()


@pytest.fixture(params=WAYS, ids=lambda way: f"{way[0]}-{way[1]}{'-cached' * way[2]}")
def world(request: pytest.FixtureRequest, database: RocksDatabase) -> World:
    name, place, cached = request.param
    rows = RocksByteStore(database, request.node.name) if place == "rocksdb" else MemoryByteStore()
    return World(KINDS[name], rows, cached=cached)


class Log(NamedTuple):
    """Columns of a changelog."""

    keys: list[bytes | None]
    values: list[bytes | None]
    timestamps: list[int]
    headers: list[Headers]


def logged(store: StateStore) -> Log:
    """What the store has written to its changelog so far."""
    store.flush()
    store.flush_cache()
    assert store.changelog is not None
    given = store.changelog.headers
    keys, values, timestamps = store.changelog.take()
    return Log(keys, values, timestamps, [given.get(row, ()) for row in range(len(keys))])


def restore(store: StateStore, log: Log) -> None:
    store.restore(log.keys, log.values, log.timestamps, len(log.keys), log.headers)


def commit(store: StateStore, *, changelog_offset: int | None = None) -> None:
    logged(store)
    store.commit(changelog_offset=changelog_offset, marker="m")


def test_reads_see_what_the_running_batch_wrote(world: World) -> None:
    store = world.open()
    world.write(store, 0, 4)
    seen = world.kind.shown(store)
    commit(store)
    assert seen == world.kind.shown(store)
    assert seen


def test_a_commit_survives_reopening_with_its_offset_and_marker(world: World) -> None:
    store = world.open()
    world.write(store, 0, 9)
    commit(store, changelog_offset=9)
    rows = world.kind.shown(store)
    again = world.open()
    assert world.kind.shown(again) == rows
    assert again.rows.metadata.changelog_offset == 9
    assert again.rows.metadata.marker == "m"


def test_a_discarded_batch_leaves_what_was_committed(world: World) -> None:
    store = world.open()
    world.write(store, 0, 4)
    commit(store)
    rows = world.kind.shown(store)
    world.write(store, 4, 9)
    store.discard()
    assert world.kind.shown(store) == rows
    assert logged(store) == ([], [], [], [])
    assert world.kind.shown(world.open()) == rows


def test_a_batch_that_is_repeated_after_a_discard_gives_the_same_rows(world: World) -> None:
    store, untroubled = world.open(), world.open_empty()
    for each in (store, untroubled):
        world.write(each, 0, 4)
        commit(each)
    world.write(store, 4, 9)
    store.discard()
    for each in (store, untroubled):
        world.write(each, 4, 9)
    assert world.kind.shown(store) == world.kind.shown(untroubled)
    assert logged(store) == logged(untroubled)


def test_the_changelog_restores_the_rows(world: World) -> None:
    store = world.open_empty()
    world.write(store, 0, 14)
    lost = world.open()
    log = logged(store)
    restore(lost, log)
    assert world.kind.shown(lost) == world.kind.shown(store)
    again = world.open()
    assert world.kind.shown(again) == world.kind.shown(store)
    assert again.rows.metadata.changelog_offset == len(log.keys)


def test_restoring_what_is_there_already_changes_nothing(world: World) -> None:
    """After a crash a store reads again what lies between its offset and the end of its changelog."""
    store = world.open()
    world.write(store, 0, 4)
    log = logged(store)
    store.commit(changelog_offset=0, marker=None)
    rows = world.kind.shown(store)
    restore(store, log)
    assert world.kind.shown(store) == rows


def test_without_logging_nothing_is_logged(world: World) -> None:
    store = world.open(logging=False)
    world.write(store, 0, 9)
    store.flush()
    store.flush_cache()
    store.commit(changelog_offset=None, marker=None)
    assert store.changelog is None
    rows = world.kind.shown(store)
    assert rows
    assert world.kind.shown(world.open(logging=False)) == rows


def test_a_closed_store_refuses_reads_and_writes(world: World) -> None:
    store = world.open()
    world.write(store, 0, 4)
    commit(store)
    assert store.is_open
    store.close()
    assert not store.is_open
    with pytest.raises(InvalidStoreError, match="store s is closed"):
        world.write(store, 0, 9)
    is_buffer = store.spec.kind is StoreKind.SUPPRESSION_BUFFER  # no processor ever sees one
    refused: AbstractContextManager[object] = nullcontext()
    if not is_buffer:
        refused = pytest.raises(InvalidStoreError, match="store s is closed")
    with refused:
        world.kind.shown(store)


def test_an_iterator_does_not_outlive_its_store_on_disk(tmp_path: Path) -> None:
    database = RocksDatabase(str(tmp_path))
    store: Any = World(KINDS["key_value"], RocksByteStore(database, "s"), cached=False).open()
    store.put_all((f"{n:05}", "v") for n in range(3000))
    commit(store)
    rows = store.all()
    next(rows)
    database.close()
    with pytest.raises(InvalidStoreError, match="stores of this task are closed"):
        list(rows)


@pytest.mark.parametrize("persistent", [True, False])
def test_a_restored_store_lets_in_what_the_store_lets_in(persistent: bool) -> None:
    """Where duplicates are kept a deletion deletes nothing, but in memory it brings the store's time forward."""
    options: dict[str, Any] = {"retain_duplicates": True, "persistent": persistent}
    kind = Kind(windows(StoreKind.WINDOW, **options), put_window, lambda store: list(store.all()))
    world = World(kind, MemoryByteStore(), cached=False)
    store, restored = world.open_empty(), world.open()
    assert isinstance(store, PlainWindowStore)
    assert isinstance(restored, PlainWindowStore)
    store.put("a", "x", 0)
    store.put("a", None, 1_000)
    restore(restored, logged(store))
    for each in (store, restored):
        each.put("a", "late", 1)
    assert kind.shown(restored) == kind.shown(store)
