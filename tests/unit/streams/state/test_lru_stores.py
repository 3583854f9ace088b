"""Stores that keep the rows used last, and what their changelogs are told."""

from __future__ import annotations

from datetime import timedelta

import pytest

from millstream.streams import Materialized, StoreSupplier, StoreType, StreamsBuilder, StreamsConfig
from millstream.streams.serdes import string
from millstream.streams.state.changelog import Changelog
from millstream.streams.state.key_value.lru import LruKeyValueStore, LruTimestampedKeyValueStore
from millstream.streams.state.storage.byte_store import MemoryByteStore
from millstream.streams.state.storage.transaction import TransactionalRows
from millstream.streams.state.store import StoreParts
from millstream.streams.topology import StoreKind, StoreSpec
from millstream.testing.streams.topology_test_driver import TopologyTestDriver

CONFIG = StreamsConfig("app", default_key=string(), default_value=string())


def parts(kind: StoreKind) -> StoreParts:
    spec = StoreSpec("few", kind, persistent=False, entries_max=2)
    rows = TransactionalRows(MemoryByteStore())
    return StoreParts(spec, rows, string(), string(), Changelog("few-changelog"))


def test_the_row_that_was_used_longest_ago_goes() -> None:
    store = LruKeyValueStore(parts(StoreKind.KEY_VALUE))
    store.put("a", "1")
    store.put("b", "2")
    assert store.get("a") == "1"  # reading is using
    store.put("c", "3")
    assert [key for key, _ in store.all()] == ["a", "c"]


def test_the_changelog_of_a_plain_store_hears_of_it_before_the_new_row() -> None:
    store = LruKeyValueStore(parts(StoreKind.KEY_VALUE))
    for key in "abc":
        store.put(key, "x")
    assert store.changelog is not None
    assert list(zip(store.changelog.keys, store.changelog.values, strict=True)) == [
        (b"a", b"x"),
        (b"b", b"x"),
        (b"a", None),
        (b"c", b"x"),
    ]


def test_the_changelog_of_a_table_does_not_and_restoring_drops_it_again() -> None:
    store = LruTimestampedKeyValueStore(parts(StoreKind.TIMESTAMPED_KEY_VALUE))
    for at, key in enumerate("abc"):
        store.put(key, "x", at)
    assert store.changelog is not None
    keys, values, timestamps = store.changelog.take()
    assert keys == [b"a", b"b", b"c"]
    again = LruTimestampedKeyValueStore(parts(StoreKind.TIMESTAMPED_KEY_VALUE))
    again.restore(keys, values, timestamps, 3)
    assert [key for key, _ in again.all()] == ["b", "c"]


def test_a_discarded_use_leaves_the_order_as_it_was_committed() -> None:
    store = LruKeyValueStore(parts(StoreKind.KEY_VALUE))
    store.put("a", "1")
    store.put("b", "2")
    store.commit(changelog_offset=None, marker=None)
    store.get("a")
    store.discard()
    store.put("c", "3")
    assert [key for key, _ in store.all()] == ["b", "c"]


def test_a_deleted_row_makes_room() -> None:
    store = LruTimestampedKeyValueStore(parts(StoreKind.TIMESTAMPED_KEY_VALUE))
    store.put("a", "1", 1)
    store.put("b", "2", 2)
    store.put("a", None, 3)
    store.put("c", "3", 4)
    assert [key for key, _ in store.all()] == ["b", "c"]


def test_a_table_may_be_kept_in_one() -> None:
    builder = StreamsBuilder()
    supplier = StoreSupplier("few", StoreType.IN_MEMORY, entries_max=2)
    builder.table("in", materialized=Materialized(supplier=supplier))
    with TopologyTestDriver(builder.build(), CONFIG) as driver:
        given = driver.input_topic("in")
        for key in "abc":
            given.pipe(key, "x", at=1)
        assert [key for key, _ in driver.stores()["few"].all()] == ["b", "c"]


@pytest.mark.parametrize(
    ("count", "kind", "history"),
    [
        (0, StoreType.IN_MEMORY, None),
        (2, StoreType.ROCKSDB, None),
        (2, StoreType.IN_MEMORY, timedelta(1)),
    ],
)
def test_a_bound_that_cannot_be_kept_is_refused(
    count: int, kind: StoreType, history: timedelta | None
) -> None:
    with pytest.raises(ValueError, match="entries_max is at least 1 and belongs to in-memory"):
        StoreSupplier("few", kind, entries_max=count, history=history)
