"""One stream task in one micro-batch, inside a Spark worker: open stores, skip what they have seen, process, write, commit.

The order of effects is what the guarantee rests on:

    1. rows that the stores' last commit covers are skipped    (a repeated micro-batch, a retried task)
    2. the kernel processes the rest; its stores' writes lie in an overlay
    3. outputs and changelogs are written and acknowledged      a crash here: written again, equal, when repeated
    4. the stores are committed in one write, together with the input offsets that they now cover

So the state counts each input once for as long as the local store survives; outputs are written at least once. When a
store is gone, it is restored from its changelog. Exactly-once outputs need the broker's transactions.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from millstream.errors import MillstreamError
from millstream.runtime.system import SystemClock
from millstream.spark.connections import connections
from millstream.spark.output import write_changelogs, write_outputs
from millstream.spark.source_options import EARLIEST, LATEST
from millstream.streams.config import StreamsConfig
from millstream.streams.kernel.batch import RawBatch
from millstream.streams.kernel.task import StreamTask
from millstream.streams.state.factory import rocksdb_stores
from millstream.streams.topology.topology import Topology

if TYPE_CHECKING:
    import pyarrow as pa

OPEN_TIMEOUT_MS: Final = 30_000
OPEN_RETRY_S: Final = 0.05


class StoreLocked(MillstreamError):
    """Another process has the stores of this task open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSpec:
    """What every task of a sub-topology is made from; travels to the workers."""

    topology: Topology
    sub_topology: int
    config: StreamsConfig
    bootstrap_servers: str
    state_directory: str


@dataclass(frozen=True, slots=True)
class TaskReport:
    """What one run of a task did. `skipped`: input records that an earlier run had counted already."""

    task: str
    processed: int
    skipped: int
    written: int
    logged: int
    dropped: int
    restored: int


class TaskRun:
    """One micro-batch of one task. The stores stay open until `close`."""

    def __init__(self, spec: TaskSpec, partition: int) -> None:
        self._spec = spec
        self._partition = partition
        self._link = connections(spec.bootstrap_servers)
        self._clock = SystemClock()
        self._task = _open(spec, partition)
        self._covered = _covered(self._task)
        self._skipped = 0
        self._restored = 0

    def close(self) -> None:
        self._task.close()

    def run(self, rows: Iterable[pa.RecordBatch], batch_id: str) -> TaskReport:
        """Processes the rows of the source and commits. Raises what the kernel or the broker raises; then nothing is committed."""
        if self._covered is None:
            self._restore()
        for batch in rows:
            self._add(batch)
        output = self._task.process(self._clock.now().wall_ms)
        prepared = self._task.prepare_commit()
        producer = self._link.producer()
        try:
            logged = self._link.run(
                write_changelogs(producer, output.changelogs.values(), self._partition)
            )
            written = self._link.run(write_outputs(producer, output.sinks.values()))
        except BaseException:
            self._link.discard_producer()
            raise
        covered = {**(self._covered or {}), **prepared.offsets}
        self._task.commit(marker=json.dumps({"batch": batch_id, "offsets": covered}))
        return TaskReport(
            task=self._task.id,
            processed=output.processed,
            skipped=self._skipped,
            written=written,
            logged=logged,
            dropped=self._task.dropped_records,
            restored=self._restored,
        )

    def _add(self, batch: pa.RecordBatch) -> None:
        """Gives the kernel what its stores have not seen. Rows of one batch are of one topic partition or of several."""
        import pyarrow.compute as pc

        for topic in pc.unique(batch.column("topic")).to_pylist():
            rows = batch.filter(pc.equal(batch.column("topic"), topic))
            first = (self._covered or {}).get(topic, 0)
            fresh = rows.filter(pc.greater_equal(rows.column("offset"), first))
            self._skipped += rows.num_rows - fresh.num_rows
            if fresh.num_rows:
                self._task.add(topic, as_raw(fresh))

    def _restore(self) -> None:
        """Reads the changelogs into stores that no commit has marked: new ones, and those whose directory is gone."""
        reader = self._link.reader()
        for topic, position in self._task.restore_positions().items():
            start = position or self._link.run(reader.offsets(topic, EARLIEST)).get(
                self._partition, 0
            )
            end = self._link.run(reader.offsets(topic, LATEST)).get(self._partition, 0)
            for batch in self._link.iterate(reader.read(topic, self._partition, start, end)):
                self._task.restore(topic, as_raw(batch))
                self._restored += batch.num_rows


def _open(spec: TaskSpec, partition: int) -> StreamTask:
    """Waits for a worker that is still closing the stores, then says who holds them."""
    stores = rocksdb_stores(Path(spec.state_directory))
    clock = SystemClock()
    deadline_ms = clock.now().monotonic_ms + OPEN_TIMEOUT_MS
    while True:
        try:
            return StreamTask(spec.topology, spec.sub_topology, partition, stores, spec.config)
        except Exception as error:
            if "lock" not in str(error).lower():  # RocksDB tells in words only
                raise
            if clock.now().monotonic_ms >= deadline_ms:
                raise StoreLocked(
                    f"the stores of task {spec.sub_topology}_{partition} in {spec.state_directory} are open in another "
                    "process: stop the other query of this application, or give each its own state directory"
                ) from error
            connections(spec.bootstrap_servers).run(asyncio.sleep(OPEN_RETRY_S))


def _covered(task: StreamTask) -> dict[str, int] | None:
    """Input offsets that the stores' last commit covers, by topic; None when there was no commit or there are no stores."""
    for store in task.stores:
        marker = task.store_marker(store)
        if marker is not None:
            return dict(json.loads(marker)["offsets"])
    return None


def as_raw(records: pa.RecordBatch) -> RawBatch:
    """Arrow columns of the source or of a reader as the kernel's columns."""
    import pyarrow as pa
    import pyarrow.compute as pc

    timestamps = records.column("timestamp")
    if pa.types.is_timestamp(timestamps.type):
        timestamps = pc.divide(timestamps.cast(pa.int64()), 1000)
    headers = None
    if "headers" in records.schema.names and pc.any(_has_headers(records)).as_py():
        headers = [
            tuple((header["key"], header["value"]) for header in each or ())
            for each in records.column("headers").to_pylist()
        ]
    return RawBatch(
        keys=records.column("key").to_pylist(),
        values=records.column("value").to_pylist(),
        timestamps=timestamps.to_pylist(),
        offsets=records.column("offset").to_pylist(),
        headers=headers,
    )


def _has_headers(records: pa.RecordBatch) -> pa.Array:
    import pyarrow.compute as pc

    return pc.greater(pc.list_value_length(records.column("headers")), 0)
