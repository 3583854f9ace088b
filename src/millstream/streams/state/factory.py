"""Opens the byte stores of a task: all in memory, or in RocksDB below a directory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from millstream.streams.state.byte_store import ByteStore, MemoryByteStore
from millstream.streams.topology.stores import StoreSpec

StoreFactory = Callable[[StoreSpec, str], ByteStore]
"""(store, task id) → its rows. A task id is `<sub-topology>_<partition>`."""


def in_memory_stores() -> StoreFactory:
    """Every store in memory, for tests and for state that may be rebuilt from changelogs."""

    def make(_spec: StoreSpec, _task_id: str) -> ByteStore:
        return MemoryByteStore()

    return make


def rocksdb_stores(directory: Path) -> StoreFactory:
    """Persistent stores in `directory/<task id>/<store>`; stores declared in-memory stay in memory."""

    def make(spec: StoreSpec, task_id: str) -> ByteStore:
        if not spec.persistent:
            return MemoryByteStore()
        from millstream.streams.state.rocksdb import RocksByteStore

        path = directory / task_id / spec.name
        path.parent.mkdir(parents=True, exist_ok=True)
        return RocksByteStore(str(path))

    return make
