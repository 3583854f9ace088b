"""Rows of the kernel: workloads of benchmarks/streams.py, one slice a task that processes all batches from memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.streams import BATCH, as_arrow, batches, measure
from benchmarks.streams_topologies import WORKLOADS
from benchmarks.turns.ratios import Slice
from benchmarks.turns.worker import Measure, Prepare, warm

_RECORDS: Final = {
    "pass-through": 200_000,
    "map_values": 200_000,
    "stream-table join": 80_000,
    "count": 150_000,
    "count, cache": 120_000,
    "count, from Arrow": 150_000,
    "10 s tumbling count": 80_000,
    "session count": 10_000,
    "count, RocksDB": 100_000,
}
"""About 0.05 s of processor time each."""
_ON_ROCKSDB: Final = ", RocksDB"


@contextmanager
def open_rows() -> Iterator[Mapping[str, Prepare]]:
    yield {name: partial(_prepare, name, records) for name, records in _RECORDS.items()}


def _prepare(name: str, records: int) -> Measure:
    (workload,) = (each for each in WORKLOADS if each.name == name.removesuffix(_ON_ROCKSDB))
    given = batches(records + BATCH, workload.keys)  # the first is not measured
    if workload.arrow:
        given = [as_arrow(raw) for raw in given]

    def slice_() -> Slice:
        with tempfile.TemporaryDirectory() as directory:
            place = Path(directory) if name.endswith(_ON_ROCKSDB) else None
            figure = measure(workload, given, place)
        return Slice(records, records / figure.per_second)

    return warm(slice_)
