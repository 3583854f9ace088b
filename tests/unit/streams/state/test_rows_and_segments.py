"""Scans over pages and overlay, bytes of changelogs, and how windows are forgotten by segments."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.streams.serdes import Windowed, long, string
from millstream.streams.state import (
    MemoryByteStore,
    TimestampedKeyValueStore,
    TimestampedWindowStore,
    TransactionalRows,
)
from millstream.streams.state.changelog import Changelog
from millstream.streams.state.storage.rocksdb import RocksByteStore, RocksDatabase
from millstream.streams.state.store import StoreParts
from millstream.streams.topology import StoreKind, StoreSpec


@pytest.fixture(params=["memory", "rocksdb"])
def open_rows(request, tmp_path: Path):
    """Opens the same byte store again and again."""
    memory = MemoryByteStore()
    opened = []

    def open_() -> TransactionalRows:
        if request.param == "memory":
            return TransactionalRows(memory)
        for database in opened:
            database.close()
        opened.append(RocksDatabase(str(tmp_path)))
        return TransactionalRows(RocksByteStore(opened[-1], "store"))

    yield open_
    for database in opened:
        database.close()


def key_value(rows: TransactionalRows) -> TimestampedKeyValueStore:
    spec = StoreSpec("counts", StoreKind.TIMESTAMPED_KEY_VALUE)
    return TimestampedKeyValueStore(
        StoreParts(spec, rows, string(), long(), Changelog("app-counts-changelog"))
    )


def window(
    rows: TransactionalRows, *, persistent: bool = True, retention: int = 10, ordered: bool = False
) -> TimestampedWindowStore:
    spec = StoreSpec(
        "windows",
        StoreKind.TIMESTAMPED_WINDOW,
        persistent=persistent,
        retention_ms=retention,
        window_size_ms=10,
        time_ordered=ordered,
    )
    return TimestampedWindowStore(
        StoreParts(spec, rows, string(), long(), Changelog("app-windows-changelog"))
    )


def test_a_commit_survives_reopening_with_its_offset_marker_and_stream_time(open_rows) -> None:
    store = key_value(open_rows())
    store.put("a", 1, 10)
    store.times["counter"] = 10
    store.commit(changelog_offset=7, marker="batch 3")
    again = key_value(open_rows())
    assert again.get("a") == (1, 10)
    assert again.rows.metadata.changelog_offset == 7
    assert again.rows.metadata.marker == "batch 3"
    assert again.times == {"counter": 10}


def test_a_null_value_deletes_the_row(open_rows) -> None:
    store = key_value(open_rows())
    store.put("a", 1, 10)
    store.commit(changelog_offset=1, marker=None)
    store.put("a", None, 12)
    assert store.get("a") is None
    assert list(store.all()) == []
    store.commit(changelog_offset=2, marker=None)
    assert list(key_value(open_rows()).all()) == []


def test_scans_merge_the_overlay_into_the_stored_rows(open_rows) -> None:
    store = key_value(open_rows())
    for key in "bdf":
        store.put(key, 1, 1)
    store.commit(changelog_offset=3, marker=None)
    store.put("a", 2, 2)
    store.put("d", None, 2)
    store.put("e", 2, 2)
    assert [key for key, _ in store.all()] == ["a", "b", "e", "f"]
    assert [key for key, _ in store.reverse_all()] == ["f", "e", "b", "a"]
    assert [key for key, _ in store.range("b", "e")] == ["b", "e"]


def test_the_changelog_has_the_value_and_the_timestamp_as_the_records_own(open_rows) -> None:
    store = key_value(open_rows())
    store.put("a", 1, 10)
    store.put("a", None, 11)
    one = (1).to_bytes(8, "big")
    assert store.changelog.take() == ([b"a", b"a"], [one, None], [10, 11])


def test_pages_of_a_long_scan_join_up_in_both_directions(open_rows) -> None:
    store = key_value(open_rows())
    keys = [f"{n:05}" for n in range(3000)]
    for key in keys:
        store.put(key, 1, 1)
    store.commit(changelog_offset=3000, marker=None)
    assert [key for key, _ in store.all()] == keys
    assert [key for key, _ in store.reverse_all()] == keys[::-1]


def test_window_rows_are_found_by_key_and_start_and_hidden_after_the_retention(open_rows) -> None:
    store = window(open_rows(), retention=10)
    store.put("a", 1, 0, 3)
    store.put("a", 2, 9, 9)
    assert store.fetch("a", 0) == (1, 3)
    store.put("b", 3, 10, 12)
    assert store.fetch("a", 0) is None
    assert [key for key, _ in store.fetch_all()] == [Windowed("a", 9, 19), Windowed("b", 10, 20)]


def test_only_the_persistent_time_ordered_store_shows_the_row_at_the_edge(open_rows) -> None:
    store = window(open_rows(), retention=10, ordered=True)
    store.put("b", 1, 0, 3)
    store.put("a", 2, 0, 3)
    store.put("b", 3, 10, 12)
    assert [key.key for key, _ in store.fetch_all(0, 0)] == ["a", "b"]


def test_window_changelog_keys_are_key_start_and_sequence_number(open_rows) -> None:
    store = window(open_rows())
    store.put("a", 1, 30, 31)
    keys, values, timestamps = store.changelog.take()
    assert keys == [bytes.fromhex("61000000000000001e00000000")]
    assert values == [bytes.fromhex("0000000000000001")]
    assert timestamps == [31]


def test_old_segments_are_deleted_and_late_rows_of_them_counted(open_rows) -> None:
    store = window(open_rows(), retention=60_000)
    store.put("a", 1, 0, 0)
    store.put("a", 2, 200_000, 200_000)
    store.commit(changelog_offset=2, marker=None)
    store.put("a", 3, 10, 10)
    assert store.expired_puts == 1
    assert [key.start_ms for key, _ in window(open_rows(), retention=60_000).fetch_all()] == [
        200_000
    ]


def test_in_memory_windows_refuse_rows_older_than_the_retention() -> None:
    store = window(TransactionalRows(MemoryByteStore()), persistent=False, retention=10)
    store.put("a", 1, 20, 20)
    store.put("a", 1, 10, 10)
    assert store.expired_puts == 1


def test_a_reopened_window_store_knows_its_newest_row(open_rows) -> None:
    store = window(open_rows(), retention=10)
    store.put("a", 1, 50, 50)
    store.commit(changelog_offset=1, marker=None)
    again = window(open_rows(), retention=10)
    again.put("a", 2, 40, 40)
    assert again.fetch("a", 40) is None
