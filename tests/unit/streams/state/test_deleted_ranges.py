"""Old rows are deleted as a range: no row is read for it, and none is seen any more, before and after the commit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream.streams.state.storage.byte_store import ByteStore, MemoryByteStore
from millstream.streams.state.storage.rocksdb import RocksByteStore, RocksDatabase
from millstream.streams.state.storage.transaction import StoreMetadata, TransactionalRows


@pytest.fixture(params=["memory", "RocksDB"])
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ByteStore]:
    """a, b, c and d are stored; in RocksDB a neighbour has an a, too."""
    if request.param == "memory":
        store: ByteStore = MemoryByteStore()
        fill(store)
        yield store
        return
    database = RocksDatabase(str(tmp_path / "db"))
    for name in ("counts", "count", "counts2"):
        fill(RocksByteStore(database, name))
    yield RocksByteStore(database, "counts")
    for name in ("count", "counts2"):
        neighbour = TransactionalRows(RocksByteStore(database, name))
        assert keys(neighbour) == [b"a", b"b", b"c", b"d"]
    database.close()


def fill(store: ByteStore) -> None:
    store.write({b"a": b"1", b"b": b"2", b"c": b"3", b"d": b"4"}, b"{}")


def keys(rows: TransactionalRows, low: bytes = b"", high: bytes | None = None) -> list[bytes]:
    forwards = [key for key, _ in rows.scan(low, high)]
    assert [key for key, _ in rows.scan(low, high, reverse=True)] == forwards[::-1]
    return forwards


def test_rows_before_a_key_are_gone_at_once_and_after_the_commit(stored: ByteStore) -> None:
    rows = TransactionalRows(stored)
    rows.delete_before(b"c")
    assert (rows.get(b"a"), rows.get(b"b"), rows.get(b"c")) == (None, None, b"3")
    assert (keys(rows), keys(rows, b"a", b"b"), keys(rows, b"", b"d")) == (
        [b"c", b"d"],
        [],
        [b"c"],
    )
    rows.commit(StoreMetadata(changelog_offset=7))
    assert (keys(rows), stored.get(b"b"), stored.get(b"c")) == ([b"c", b"d"], None, b"3")
    assert TransactionalRows(stored).metadata.changelog_offset == 7


def test_rows_come_back_where_the_batch_is_discarded(stored: ByteStore) -> None:
    rows = TransactionalRows(stored)
    rows.delete_before(b"c")
    rows.discard()
    assert (keys(rows), rows.get(b"a")) == ([b"a", b"b", b"c", b"d"], b"1")
    rows.commit(StoreMetadata(changelog_offset=7))
    assert stored.get(b"a") == b"1"


def test_what_was_written_before_goes_and_what_is_written_afterwards_stays(
    stored: ByteStore,
) -> None:
    rows = TransactionalRows(stored)
    for key in (b"a2", b"c2"):
        rows.put(key, b"before")
    assert keys(rows) == [b"a", b"a2", b"b", b"c", b"c2", b"d"]
    rows.delete_before(b"c")
    rows.put(b"b", b"after")
    assert (keys(rows), rows.get(b"b"), rows.get(b"a2")) == (
        [b"b", b"c", b"c2", b"d"],
        b"after",
        None,
    )
    rows.commit(StoreMetadata())
    assert (keys(rows), stored.get(b"b"), stored.get(b"a2")) == (
        [b"b", b"c", b"c2", b"d"],
        b"after",
        None,
    )


def test_the_later_of_two_keys_counts_in_whatever_order_they_come(stored: ByteStore) -> None:
    rows = TransactionalRows(stored)
    rows.delete_before(b"c")
    rows.delete_before(b"b")
    assert keys(rows) == [b"c", b"d"]


def test_the_number_of_rows_in_memory_is_that_of_those_that_are_left() -> None:
    store = MemoryByteStore()
    fill(store)
    rows = TransactionalRows(store)
    rows.put(b"b", b"before")
    rows.delete_before(b"c")
    rows.put(b"a", b"after")
    rows.put(b"e", b"5")
    assert (rows.keys_in_memory, keys(rows)) == (4, [b"a", b"c", b"d", b"e"])
    rows.commit(StoreMetadata())
    assert rows.keys_in_memory == 4


def test_a_batch_that_only_deletes_is_written(stored: ByteStore) -> None:
    rows = TransactionalRows(stored)
    rows.delete_before(b"d")
    rows.commit(rows.metadata)
    assert [key for key, _ in stored.scan(b"", None)] == [b"d"]
