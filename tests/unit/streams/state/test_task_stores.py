"""All stores of a task live in one database, so a crash leaves them at the same commit."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from millstream.streams.state import rocksdb_stores
from millstream.streams.state.storage.factory import RocksTaskStores
from millstream.streams.state.storage.rocksdb import RocksByteStore, RocksDatabase
from millstream.streams.topology import StoreKind, StoreSpec


def spec(name: str, *, persistent: bool = True) -> StoreSpec:
    return StoreSpec(name, StoreKind.KEY_VALUE, persistent=persistent)


def test_stores_of_one_database_do_not_see_each_other(tmp_path: Path) -> None:
    database = RocksDatabase(str(tmp_path))
    one, two = RocksByteStore(database, "s"), RocksByteStore(database, "s2")
    one.write({b"a": b"1", b"b": b"2"}, b"one")
    two.write({b"a": b"9"}, b"two")
    assert list(one.scan(b"", None)) == [(b"a", b"1"), (b"b", b"2")]
    assert list(two.scan(b"", None, reverse=True)) == [(b"a", b"9")]
    assert (one.metadata(), two.metadata()) == (b"one", b"two")
    database.close()


def test_a_commit_that_fails_half_way_leaves_no_store_changed(tmp_path: Path) -> None:
    stores = rocksdb_stores(tmp_path)("0_0")
    one, two = stores.open(spec("one")), stores.open(spec("two"))
    with stores.together():
        one.write({b"a": b"1"}, b"commit 1")
        two.write({b"a": b"1"}, b"commit 1")
    with pytest.raises(OSError, match="disk"), stores.together():  # noqa: PT012 - the write before the failure is the point
        one.write({b"a": b"2"}, b"commit 2")
        raise OSError("disk")
    stores.close()

    again = rocksdb_stores(tmp_path)("0_0")
    for name in ("one", "two"):
        store = again.open(spec(name))
        assert (store.get(b"a"), store.metadata()) == (b"1", b"commit 1")
    again.close()


@pytest.mark.parametrize(("persist_all", "kept"), [(False, None), (True, b"1")])
def test_a_runner_may_keep_stores_that_were_declared_in_memory(
    tmp_path: Path, *, persist_all: bool, kept: bytes | None
) -> None:
    stores = rocksdb_stores(tmp_path, persist_all=persist_all)("0_0")
    stores.open(spec("one", persistent=False)).write({b"a": b"1"}, b"")
    stores.close()
    again = rocksdb_stores(tmp_path, persist_all=persist_all)("0_0")
    assert again.open(spec("one", persistent=False)).get(b"a") == kept
    again.close()


def test_the_options_of_a_database_may_be_changed(tmp_path: Path) -> None:
    def small_buffers(options: Any) -> None:
        options.set_write_buffer_size(1 << 20)

    rocksdb_stores(tmp_path, configure=small_buffers)("0_0").open(spec("one"))
    (written,) = (tmp_path / "0_0").glob("OPTIONS-*[0-9]")
    assert "write_buffer_size=1048576" in written.read_text()


def test_what_is_loaded_in_bulk_survives_like_any_write(tmp_path: Path) -> None:
    stores = rocksdb_stores(tmp_path)("0_0")
    assert isinstance(stores, RocksTaskStores)
    store = stores.open(spec("one"))
    stores.begin_bulk_load()
    store.write({b"a": b"loaded"}, b"1")
    stores.end_bulk_load()
    store.write({b"b": b"written"}, b"2")
    killed = tmp_path / "killed"
    shutil.copytree(tmp_path / "0_0", killed / "0_0")  # as a process leaves it that is killed
    stores.close()

    again = rocksdb_stores(killed)("0_0")
    found = again.open(spec("one"))
    assert (found.get(b"a"), found.get(b"b"), found.metadata()) == (b"loaded", b"written", b"2")
    again.close()


def test_rows_of_a_bulk_load_that_is_cut_off_are_those_of_one_of_its_writes(tmp_path: Path) -> None:
    stores = rocksdb_stores(tmp_path)("0_0")
    assert isinstance(stores, RocksTaskStores)
    store = stores.open(spec("one"))
    store.write({b"a": b"before"}, b"1")
    stores.begin_bulk_load()
    store.write({b"a": b"loaded", b"b": b"loaded"}, b"2")
    killed = tmp_path / "killed"
    shutil.copytree(tmp_path / "0_0", killed / "0_0")
    stores.close()

    again = rocksdb_stores(killed)("0_0")
    found = again.open(spec("one"))
    assert (found.get(b"a"), found.get(b"b"), found.metadata()) == (b"before", None, b"1")
    again.close()
