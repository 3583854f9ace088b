"""Memory of a process whose tasks keep 200,000 rows in RocksDB: `python -m benchmarks store_memory`, with default and with small options."""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

import psutil

from millstream.streams.rocksdb_options import RocksDBOptions
from millstream.streams.state.storage.factory import RocksTaskStores
from millstream.streams.topology.stores import StoreKind, StoreSpec

TASKS: Final = 4
ROWS: Final = 200_000
_VALUE_BYTES: Final = 200
_COMMIT_ROWS: Final = 5_000
_MIB: Final = 2**20
OPTIONS: Final = {
    "default": RocksDBOptions(),
    "small": RocksDBOptions(
        block_cache_bytes=4 * _MIB,
        write_buffers_bytes_max=4 * _MIB,
        write_buffer_bytes=_MIB,
        write_buffer_count=2,
    ),
}


def measure(name: str, directory: Path) -> str:
    """Writes the rows, reads all of them at random, and says by how much that has made this process larger."""
    options, drawn = OPTIONS[name], random.Random(1)  # the same rows each time
    process, values = psutil.Process(), drawn.randbytes(ROWS + _VALUE_BYTES)
    stores = [RocksTaskStores(directory / str(task), chosen=options) for task in range(TASKS)]
    warm = RocksTaskStores(directory / "warm", chosen=options)
    warm.open(StoreSpec("warm", StoreKind.KEY_VALUE)).write({b"a": b"a"}, b"")  # the library itself
    before = process.memory_info().rss
    rows = [each.open(StoreSpec("rows", StoreKind.KEY_VALUE)) for each in stores]
    began_s = time.perf_counter()
    for first in range(0, ROWS // TASKS, _COMMIT_ROWS):
        for task, store in enumerate(rows):
            numbers = (task + TASKS * (first + row) for row in range(_COMMIT_ROWS))
            store.write(
                {b"%08d" % number: values[number : number + _VALUE_BYTES] for number in numbers},
                b"",
            )
    written_s = time.perf_counter() - began_s
    for number in drawn.sample(range(ROWS), ROWS):
        assert rows[number % TASKS].get(b"%08d" % number) is not None
    read_s = time.perf_counter() - began_s - written_s
    grown = (process.memory_info().rss - before) / _MIB
    for each in (*stores, warm):
        each.close()
    return (
        f"{name:8} {grown:6.1f} MiB more, {ROWS / written_s:9,.0f} rows/s written, "
        f"{ROWS / read_s:9,.0f} rows/s read"
    )


def main() -> None:
    if len(sys.argv) == 3:
        sys.stdout.write(measure(sys.argv[1], Path(sys.argv[2])) + "\n")
        return
    sys.stdout.write(f"{ROWS:,} rows of {_VALUE_BYTES} bytes in {TASKS} tasks\n")
    for name in OPTIONS:
        with tempfile.TemporaryDirectory() as directory:
            asked = [sys.executable, "-m", "benchmarks.store_memory", name, directory]
            subprocess.run(asked, check=True)


if __name__ == "__main__":
    main()
