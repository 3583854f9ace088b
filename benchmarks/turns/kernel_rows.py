"""Rows of the kernel: workloads of benchmarks/streams.py, from memory.

One task lives through all slices of a row, as it does in an application, and its records go on in offset and time. With a
new task for each slice the figures told when the memory of the one before was given back, not what a record costs.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.streams import BATCH, MeasuredTask, as_arrow, batches
from benchmarks.streams_topologies import WORKLOADS
from benchmarks.turns.ratios import Slice
from benchmarks.turns.worker import Measure, Prepare, warm
from millstream.streams.kernel import RawBatch

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
    with ExitStack() as opened:
        yield {name: partial(_prepare, name, records, opened) for name, records in _RECORDS.items()}


def _prepare(name: str, records: int, opened: ExitStack) -> Measure:
    (workload,) = (each for each in WORKLOADS if each.name == name.removesuffix(_ON_ROCKSDB))
    first, *given = batches(records + BATCH, workload.keys)  # the first is not measured
    if workload.arrow:
        first, *given = map(as_arrow, (first, *given))
    opened.close()  # the row before needs its task no longer
    directory = Path(opened.enter_context(tempfile.TemporaryDirectory()))
    place = directory if name.endswith(_ON_ROCKSDB) else None
    task = opened.enter_context(closing(MeasuredTask(workload, first, place)))
    rounds = itertools.count()

    def slice_() -> Slice:
        past = next(rounds) * records
        figure = task.process([_later(raw, past) for raw in given])
        return Slice(records, records / figure.per_second)

    return warm(slice_)


def _later(raw: RawBatch, past: int) -> RawBatch:
    """The same records, that many offsets and milliseconds later."""
    return replace(
        raw,
        timestamps=[past + each for each in raw.timestamps],
        offsets=range(past + raw.offsets[0], past + raw.offsets[0] + len(raw.offsets)),
    )
