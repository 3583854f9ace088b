"""The streams kernel alone, fed from memory, and what the operators of quixstreams and faust cost.

    python -m benchmarks.streams [--records N] [--rounds N] [--no-rocksdb] [NAME ...]

One million records of 100 bytes and 1,000 keys by default, one task, batches of 10,000 records, a commit after
each batch, or after each tenth where a cache holds changes back. What is measured: decoding, operators, stores,
changelog and encoding; not a broker. Figures are records per second of processor time, the best round: one core,
whoever else uses the machine. Blocks are Python objects alive in a batch's output for each of its records. The peers
run in build/peers (scripts/setup-peers), where there is one.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from benchmarks.streams_topologies import CACHE_BYTES, WORKLOADS, Workload
from millstream.streams import StreamsConfig
from millstream.streams.kernel import ArrowBytes, RawBatch, StreamTask
from millstream.streams.serdes import string
from millstream.streams.state import in_memory_stores, rocksdb_stores

BATCH = 10_000
BATCHES_A_FLUSH = 10
PEERS = Path(__file__).parent.parent / "build/peers/bin/python"
TABLE_KEYS = 1_000


class Figure(NamedTuple):
    """One round of one workload."""

    per_second: float
    blocks: float


def batches(records: int, keys: int) -> list[RawBatch]:
    """One millisecond between records."""
    made = []
    for first in range(0, records, BATCH):
        numbers = range(first, min(first + BATCH, records))
        made.append(
            RawBatch(
                [f"key-{n * 7919 % keys}".encode() for n in numbers],
                [f"{n:092d}".encode() for n in numbers],
                list(numbers),
                numbers,
            )
        )
    return made


def table_rows() -> RawBatch:
    keys: list[bytes | None] = [f"key-{n}".encode() for n in range(TABLE_KEYS)]
    return RawBatch(keys, [b"row"] * TABLE_KEYS, [0] * TABLE_KEYS, range(TABLE_KEYS))


class MeasuredTask:
    """One task of a workload, made and warmed by the first batch, which is not measured."""

    def __init__(self, workload: Workload, first: RawBatch, directory: Path | None) -> None:
        config = StreamsConfig(
            "bench",
            default_key=string(),
            default_value=string(),
            cache_max_bytes=CACHE_BYTES if workload.cached else 0,
        )
        factory = in_memory_stores() if directory is None else rocksdb_stores(directory)
        self._workload = workload
        self._task = StreamTask(workload.topology(), 0, 0, factory, config)
        if "table" in self._task.source_topics:
            self._task.add("table", table_rows())
            self._task.process(0)
            self._task.commit()
        self._task.add("in", first)
        self._written = _commit(self._task)

    def process(self, given: list[RawBatch]) -> Figure:
        task, cached = self._task, self._workload.cached
        gc.collect()
        gc.freeze()  # the input of the whole run is no business of the collector's
        blocks = 0
        started = time.process_time()
        for number, raw in enumerate(given, 1):
            before = sys.getallocatedblocks()
            task.add("in", raw)
            output = task.process(0)
            blocks = sys.getallocatedblocks() - before
            self._written += sum(map(len, output.sinks.values()))
            del output
            if not cached or number % BATCHES_A_FLUSH == 0:
                self._written += _commit(task)
        self._written += _commit(task)
        elapsed = time.process_time() - started
        gc.unfreeze()
        return Figure(len(given) * BATCH / elapsed, blocks / BATCH)

    def close(self) -> None:
        self._task.close()
        assert self._written, f"{self._workload.name} wrote nothing"


def measure(workload: Workload, given: list[RawBatch], directory: Path | None) -> Figure:
    """One round: a new task, all batches."""
    task = MeasuredTask(workload, given[0], directory)
    figure = task.process(given[1:])
    task.close()
    return figure


def _commit(task: StreamTask) -> int:
    """Records written since the last time."""
    written = sum(map(len, task.process(0).sinks.values()))
    written += sum(map(len, task.prepare_commit().output.sinks.values()))
    task.commit()
    return written


def peers(records: int) -> dict[str, float]:
    """Records per second by `peer: workload`; nothing where they are not installed."""
    if not PEERS.exists():
        return {}
    command = [str(PEERS), "-W", "ignore", "-m", "benchmarks.streams_peers", str(records)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def best(workload: Workload, records: int, rounds: int, *, rocksdb: bool) -> Figure:
    given = batches(max(records // workload.share, 2 * BATCH), workload.keys)
    figures = []
    for _ in range(rounds):
        fed = [as_arrow(raw) for raw in given] if workload.arrow else given
        with tempfile.TemporaryDirectory() as directory:
            figures.append(measure(workload, fed, Path(directory) if rocksdb else None))
    return max(figures)


def as_arrow(raw: RawBatch) -> RawBatch:
    """The same records as they come from Arrow: no object for a row yet."""
    keys, values = (ArrowBytes(pa.array(each, pa.binary())) for each in (raw.keys, raw.values))
    return replace(raw, keys=keys, values=values)


def report(workload: Workload, figure: Figure, share: float, where: str) -> None:
    bar = "" if workload.bar is None else f"bar {workload.bar * share / 1000:5.0f}"
    rate = figure.per_second / 1000
    missed = workload.bar is not None and figure.per_second < workload.bar * share
    mark = "  MISSED" if missed else ""
    print(f"{workload.name:30} {where:8} {rate:6.0f} k/s  {figure.blocks:5.1f} blocks  {bar}{mark}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--no-rocksdb", action="store_true")
    parser.add_argument("names", nargs="*", default=[each.name for each in WORKLOADS])
    arguments = parser.parse_args()
    chosen = [each for each in WORKLOADS if each.name in arguments.names]
    for workload in chosen:
        report(
            workload,
            best(workload, arguments.records, arguments.rounds, rocksdb=False),
            1,
            "memory",
        )
        if workload.stateful and not arguments.no_rocksdb:
            report(workload, best(workload, arguments.records, 1, rocksdb=True), 0.5, "RocksDB")
    figures = peers(arguments.records // 5)
    for name, per_second in figures.items():
        print(f"{name:39} {per_second / 1000:6.0f} k/s")
    if not figures:
        print("quixstreams and faust are not installed: scripts/setup-peers")


if __name__ == "__main__":
    main()
