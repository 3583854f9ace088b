"""The record cache alone: what entries count for, which go when room is needed, what a flush is given.

Sizes and orders were read from Kafka Streams 4.3.1's ThreadCache while its test driver ran.
"""

from __future__ import annotations

import gc
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.streams.state.cache import (
    CachedRows,
    CacheEntry,
    CacheRoom,
    ProcessorRecordContext,
    RecordCache,
)

FROM_IN1 = ProcessorRecordContext("in1", 0)


def put(cache: RecordCache, key: bytes, stored: bytes | None = b"x") -> None:
    cache.write(key, key, stored, 0, FROM_IN1)


def keys(cache: RecordCache) -> list[bytes]:
    return [key for key, _ in cache.scan(b"", None)]


class Store:
    """What a store does with evicted rows: it takes everything that waits, and notes the keys."""

    def __init__(self, bytes_max: int) -> None:
        self.room = CacheRoom(bytes_max)
        self.cache = RecordCache(self.room)
        self.cache.on_flush = self.flush_rows
        self.flushed: list[list[bytes]] = []
        self.origins: list[list[ProcessorRecordContext]] = []

    def flush_rows(self, evicted: CacheEntry | None) -> None:
        taken = self.cache.take_dirty(evicted)
        self.flushed.append(list(taken.keys))
        self.origins.append(list(taken.origins))
        self.cache.drop_deleted(taken, evicted)


@pytest.mark.parametrize(
    ("key", "stored", "origin", "size"),
    [
        (b"d", bytes(16), FROM_IN1, 65),
        (bytes(21), bytes(16), FROM_IN1, 85),
        (b"d", None, FROM_IN1, 49),
        (b"d", bytes(16), ProcessorRecordContext("in1", 0, (("h1", b"z"), ("h2", None))), 70),
        (b"d", bytes(16), ProcessorRecordContext(), 62),
    ],
)
def test_an_entry_counts_for_key_value_topic_and_headers(
    key: bytes, stored: bytes | None, origin: ProcessorRecordContext, size: int
) -> None:
    room = CacheRoom(1_000)
    RecordCache(room).write(key, key, stored, 0, origin)
    assert room.bytes_held == size


def test_a_row_that_is_written_again_counts_once() -> None:
    room = CacheRoom(1_000)
    cache = RecordCache(room)
    put(cache, b"a", b"four")
    put(cache, b"a", b"x")
    assert room.bytes_held == 50


def test_the_row_used_longest_ago_goes_first_and_everything_that_waits_with_it() -> None:
    store = Store(150)  # three rows of 50 bytes
    for key in (b"a", b"b", b"c"):
        put(store.cache, key)
    store.cache.get(b"a")
    put(store.cache, b"d")
    assert store.flushed == [[b"b", b"a", b"c", b"d"]]
    assert keys(store.cache) == [b"a", b"c", b"d"]


def test_rows_that_are_written_one_after_the_other_keep_their_record_when_one_makes_room() -> None:
    store = Store(150)  # three rows of 50 bytes
    put(store.cache, b"a")
    other = ProcessorRecordContext("in1", 1)
    store.cache.write_all([(key, key, b"x", 0) for key in (b"b", b"c", b"d", b"e", b"f")], other)
    store.cache.flush()
    assert store.flushed == [[b"a", b"b", b"c", b"d"], [b"e", b"f"]]
    assert store.origins == [[FROM_IN1, other, other, other], [other, other]]


def test_a_row_that_is_written_again_and_again_comes_from_its_last_record() -> None:
    """What is known of records whose rows were written over is forgotten in time."""
    store = Store(10_000)
    put(store.cache, b"first")
    raw_key = b"%d" % id(store)  # of no other object
    for offset in range(5_000):
        store.cache.write(b"a", b"a", b"x", 0, ProcessorRecordContext("in1", offset, (), raw_key))
    assert sys.getrefcount(raw_key) < 1_100
    store.cache.flush()
    assert store.flushed == [[b"first", b"a"]]
    assert store.origins == [[FROM_IN1, ProcessorRecordContext("in1", 4_999, (), raw_key)]]


def test_rows_that_were_flushed_go_without_another_flush() -> None:
    store = Store(100)
    put(store.cache, b"a")
    put(store.cache, b"b")
    store.cache.flush()
    store.cache.keep(b"c", b"x" * 4)  # 46 + 4 bytes: it was read, and comes from no topic
    assert store.flushed == [[b"a", b"b"]]
    assert keys(store.cache) == [b"b", b"c"]


def test_a_cache_makes_room_for_others_only_among_its_own_rows() -> None:
    one = Store(100)
    other = RecordCache(one.room)
    other.on_flush = lambda _entry: None
    put(one.cache, b"a")
    put(other, b"b")
    put(other, b"c")
    assert (keys(one.cache), keys(other)) == ([b"a"], [b"c"])


def test_a_deleted_row_is_kept_until_it_was_flushed() -> None:
    store = Store(1_000)
    put(store.cache, b"a", None)
    assert list(store.cache.scan(b"", None)) == [(b"a", None)]
    store.cache.flush()
    assert (keys(store.cache), store.room.bytes_held) == ([], 0)


def test_what_an_evicted_row_held_is_free_only_after_its_flush() -> None:
    """What goes on from it may fill another cache of the task, and finds less room than there will be."""
    room = CacheRoom(120)
    first, second = RecordCache(room), RecordCache(room)
    second.on_flush = lambda _entry: None
    put(second, b"y")  # 50 bytes
    first.on_flush = lambda _entry: put(second, b"z")
    put(
        first, b"a", b"x" * 31
    )  # 80 bytes: more than there is; both rows of the other cache go, too
    assert (keys(first), keys(second), room.bytes_held) == ([], [], 0)


def test_a_row_that_is_read_during_a_flush_and_kept_again_counts_twice() -> None:
    """As in Kafka Streams: whoever reads counts it, and the flush counts by how much the cache has grown."""
    room = CacheRoom(1_000)
    cache = RecordCache(room)
    cache.on_flush = lambda _entry: cache.keep(b"b", b"x")  # 47 bytes
    put(cache, b"a")  # 50 bytes
    cache.flush()
    assert room.bytes_held == 50 + 47 + 47


@pytest.mark.parametrize("together", [True, False])
def test_the_garbage_collector_looks_at_no_row(together: bool) -> None:
    """Else each full collection goes through a hundred thousand of them, and there are a dozen in a million records."""
    cache = RecordCache(CacheRoom(1_000_000))
    names = [b"%d" % number for number in range(1_000)]
    stored = [b"x" + name for name in names]
    header = "h", b"%d" % len(names)  # no constant, which would be frozen with the module
    origin = ProcessorRecordContext("in1", 7, (header,), b"k", b"v")
    gc.collect()
    before = len(gc.get_objects())
    if together:
        assert cache.write_together(CachedRows(names, names, stored, range(1_000)), origin)
    else:
        for at, (name, row) in enumerate(zip(names, stored, strict=True)):
            cache.write(name, name, row, at, origin)
    for _ in ("header", "headers", "origin", "row"):  # it lets a tuple go after those in it
        gc.collect()
    assert len(gc.get_objects()) - before < 100
    flushed = cache.take_dirty()
    assert (flushed.row_keys, flushed.stored) == (names, stored)
    assert list(flushed.timestamps) == list(range(1_000))
    assert flushed.origins == [origin] * 1_000


@given(
    st.integers(100, 500),
    st.lists(
        st.tuples(
            st.dictionaries(st.binary(min_size=1, max_size=1), st.binary(max_size=9), max_size=5),
            st.booleans(),
        ),
        max_size=8,
    ),
)
def test_rows_written_together_leave_what_rows_leave_that_are_written_one_by_one(
    bytes_max: int, batches: list[tuple[dict[bytes, bytes], bool]]
) -> None:
    """`True` behind a batch: the cache is flushed then. What counts are entries and their order, which rows wait, and the room."""
    one_by_one, together = Store(bytes_max), Store(bytes_max)
    for rows, flushes in batches:
        columns = CachedRows(tuple(rows), tuple(rows), tuple(rows.values()), (0,) * len(rows))
        for key, stored in rows.items():
            put(one_by_one.cache, key, stored)
        if not together.cache.write_together(columns, FROM_IN1):
            for key, stored in rows.items():
                put(together.cache, key, stored)
        if flushes:
            one_by_one.cache.flush()
            together.cache.flush()
        assert together.flushed == one_by_one.flushed
        assert together.room == one_by_one.room
        assert used(together.cache) == used(one_by_one.cache)
        assert keys(together.cache) == keys(one_by_one.cache)


def test_rows_that_would_have_to_flush_the_store_are_not_written_together() -> None:
    store = Store(150)
    for key in (b"a", b"b"):
        put(store.cache, key)
    columns = CachedRows((b"c", b"d"), (b"c", b"d"), (b"x", b"x"), (0, 0))
    assert not store.cache.write_together(columns, FROM_IN1)
    assert keys(store.cache) == [b"a", b"b"]
    store.cache.flush()
    assert store.cache.write_together(columns, FROM_IN1)
    assert used(store.cache) == [b"b", b"c", b"d"]
    assert store.flushed == [[b"a", b"b"]]


def used(cache: RecordCache) -> list[bytes]:
    """The entries from the one that was used longest ago on."""
    return list(cache._entries)
