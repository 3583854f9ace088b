"""The directories of state are no business of other users, whoever makes them and whatever lies above them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream.runtime.system import SystemRandom
from millstream.spark.pipeline.claims import may_stand_by
from millstream.streams.application.state_directory import StateDirectory
from millstream.streams.runtime.global_stores import _own_directory
from millstream.streams.runtime.snapshots.files import SnapshotDirectory
from millstream.streams.runtime.stored_state import StoredState, StoreMarker
from millstream.streams.state import rocksdb_stores
from millstream.streams.state.storage.directories import make_state_directory
from millstream.streams.topology import StoreKind, StoreSpec


@pytest.fixture(autouse=True)
def _open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def modes(top: Path) -> set[int]:
    """The modes of all directories below one."""
    return {stat.S_IMODE(each.stat().st_mode) for each in top.rglob("*") if each.is_dir()}


def test_those_above_are_made_for_no_others_either(tmp_path: Path) -> None:
    for _ in range(2):
        make_state_directory(tmp_path / "a" / "b" / "c")
    assert modes(tmp_path) == {0o750}
    with pytest.raises(FileExistsError):
        make_state_directory(tmp_path / "a", exist_ok=False)


def test_one_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir(mode=0o700)
    make_state_directory(tmp_path / "a" / "b")
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o700


def test_the_directory_of_an_application(tmp_path: Path) -> None:
    directory = StateDirectory(str(tmp_path / "state"), "shop", SystemRandom())
    directory.lock()
    directory.unlock()
    assert modes(tmp_path) == {0o750}


@pytest.mark.parametrize("opens_a_store", [True, False])
def test_the_stores_of_a_task(tmp_path: Path, *, opens_a_store: bool) -> None:
    stores = rocksdb_stores(tmp_path / "state" / "shop")("0_0")
    if opens_a_store:
        stores.open(StoreSpec("one", StoreKind.KEY_VALUE, persistent=True))
    stores.directory()
    stores.close()
    assert modes(tmp_path) == {0o750}


def test_global_stores(tmp_path: Path) -> None:
    _, lock = _own_directory(tmp_path / "state" / "global")
    lock.close()
    assert modes(tmp_path) == {0o750}


def test_snapshots_and_what_is_fetched_of_them(tmp_path: Path) -> None:
    database = tmp_path / "database"
    database.mkdir(mode=0o750)
    (database / "000009.sst").write_bytes(b"rows")
    snapshots = SnapshotDirectory(tmp_path / "shared" / "shop" / "0_0")
    state = StoredState(StoreMarker({}, {"in": 1}, 1_700_000_000_000), {}, is_logged=True)
    snapshots.write(database, state)
    snapshots.fetch(snapshots.newest_first()[0], tmp_path / "state" / "shop" / "0_0")
    assert modes(tmp_path) == {0o750}


def test_claims_of_task_hosts(tmp_path: Path) -> None:
    assert may_stand_by(tmp_path / "state" / "shop", Path("own.socket"), "0_0")
    assert modes(tmp_path) == {0o750}
