"""A task host whose RocksDB may hold little: its buffers are full after minutes, and what grows on is nobody's buffer."""

from __future__ import annotations

import sys

from millstream.spark.pipeline import host_process
from millstream.streams.rocksdb_options import RocksDBOptions
from millstream.streams.state.storage import rocksdb
from millstream.streams.state.storage.rocksdb_memory import RocksMemory

_MEMORY = RocksMemory(block_cache_bytes=4 * 1024 * 1024, write_buffers_bytes=8 * 1024 * 1024)


def _memory(chosen: RocksDBOptions | None = None) -> RocksMemory:
    return _MEMORY


if __name__ == "__main__":
    rocksdb.memory_of_process = _memory  # type: ignore[attr-defined]  # the product has one alone
    host_process.main(sys.argv[1:])
