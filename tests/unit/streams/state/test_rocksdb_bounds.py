"""Databases of one process share their memory, and each keeps so many files open, however many there are."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from rocksdict import Options

from millstream.streams.rocksdb_options import RocksDBOptions
from millstream.streams.state.storage import rocksdb_memory
from millstream.streams.state.storage.rocksdb import RocksByteStore, RocksDatabase
from millstream.streams.state.storage.rocksdb_memory import (
    HANDLES_MAX,
    OPEN_FILES_MAX,
    RocksMemory,
    memory_of_process,
)
from tests.patience import LONG_ENOUGH_S, wait_until

MEGABYTE = 1024 * 1024


def handles() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def some_rows(number: int) -> dict[bytes, bytes | None]:
    """A megabyte."""
    return {b"%d-%d" % (number, row): os.urandom(1_000) for row in range(1_000)}


def test_kernel_threads_that_open_their_first_databases_at_a_time_share_one_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    both = threading.Barrier(2, timeout=LONG_ENOUGH_S)

    class Met(RocksMemory):
        """Is made by two threads at a time."""

        def __init__(self, *bounds: int) -> None:
            super().__init__(*bounds)
            both.wait()

    monkeypatch.setattr(rocksdb_memory, "RocksMemory", Met)
    chosen = RocksDBOptions(block_cache_bytes=3 * MEGABYTE, write_buffers_bytes_max=MEGABYTE)
    with ThreadPoolExecutor(2) as kernels:
        first, second = kernels.map(memory_of_process, [chosen, chosen])
    assert first is second


def test_a_hundred_databases_stay_within_one_bound_of_memory(tmp_path: Path) -> None:
    memory = RocksMemory(block_cache_bytes=8 * MEGABYTE, write_buffers_bytes=8 * MEGABYTE)
    before = handles()
    databases = []
    for number in range(100):
        database = RocksDatabase(str(tmp_path / str(number)), memory=memory)
        databases.append(database)
        store = RocksByteStore(database, "s")
        store.write(some_rows(number), b"")
        assert store.get(b"%d-0" % number) is not None
    wait_until(lambda: memory.used_bytes <= memory.bound_bytes)
    for number, database in enumerate(databases):
        assert len(list(RocksByteStore(database, "s").scan(b"", None))) == 1_000, number
    assert memory.used_bytes <= memory.bound_bytes
    assert handles() - before <= 100 * 16
    for database in databases:
        database.close()
    assert handles() == before


def without_compaction(options: Options) -> None:
    options.set_disable_auto_compactions(True)
    options.set_level_zero_slowdown_writes_trigger(1_000)
    options.set_level_zero_stop_writes_trigger(1_000)


def test_a_database_of_many_files_keeps_so_many_open(tmp_path: Path) -> None:
    before = handles()
    database = RocksDatabase(str(tmp_path), without_compaction)
    store = RocksByteStore(database, "s")
    files = 2 * OPEN_FILES_MAX
    for number in range(files):
        store.write({b"%d" % number: b"row"}, b"")
        database.rows.flush()
    assert len(list(tmp_path.glob("*.sst"))) == files
    assert sum(1 for _ in store.scan(b"", None)) == files
    assert handles() - before <= HANDLES_MAX
    database.close()


def test_all_databases_of_a_process_share_the_same_memory(tmp_path: Path) -> None:
    used = memory_of_process().used_bytes
    database = RocksDatabase(str(tmp_path))
    RocksByteStore(database, "s").write(some_rows(0), b"")
    assert memory_of_process().used_bytes >= used + MEGABYTE
    database.close()
