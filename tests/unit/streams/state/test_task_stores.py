"""All stores of a task live in one database, so a crash leaves them at the same commit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from millstream.streams.state import rocksdb_stores
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
