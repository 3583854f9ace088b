"""One stream task in one micro-batch, inside a Spark worker: open stores, skip what they have seen, process, write, commit.

The order of effects is what the guarantee rests on:

    1. stores without a position are new or lost: they are restored from their changelogs, and that is committed
    2. rows that the position covers are skipped                (a repeated micro-batch, a retried task)
    3. the kernel processes the rest; its stores' writes lie in an overlay
    4. outputs and changelogs are written and acknowledged      a crash here: written again, equal, when repeated
    5. the stores are committed in one write, together with the position that they now cover

Step 1 comes first, because a changelog may hold what a crash in step 4 left: stores that were there then must not read it.
So the state counts each input once for as long as the local store survives, over several sub-topologies too (`origin`);
outputs are written at least once. Exactly-once outputs, and attempts fenced across machines, need the broker's transactions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from millstream.errors import ConfigError, MillstreamError
from millstream.runtime.system import SystemClock
from millstream.spark.connections import Connections, connections
from millstream.spark.coverage import Coverage
from millstream.spark.kafka_settings import KafkaSettings
from millstream.spark.origin import Origin, only_new
from millstream.spark.output import Destination, record_count, together, write
from millstream.spark.position import (
    Position,
    commit,
    require_continuation,
    stored_position,
)
from millstream.spark.source_options import EARLIEST, LATEST
from millstream.streams.config import StreamsConfig
from millstream.streams.kernel.columns.arrow_bytes import ArrowBytes
from millstream.streams.kernel.columns.batch import RawBatch
from millstream.streams.kernel.task.stream_task import PreparedCommit, StreamTask, TaskOutput
from millstream.streams.state.storage.factory import rocksdb_stores
from millstream.streams.topology.topology import Topology

if TYPE_CHECKING:
    import pyarrow as pa

OPEN_TIMEOUT_MS: Final = 30_000
OPEN_RETRY_S: Final = 0.05


class StoreLocked(MillstreamError):
    """Another process has the stores of this task open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSpec:
    """Everything that a task of a sub-topology is made from; it is sent to the workers."""

    topology: Topology
    sub_topology: int
    config: StreamsConfig
    kafka: KafkaSettings
    state_directory: str
    repartition_topics: frozenset[str] = frozenset()
    """All of the application's: those that are written, and those that are read."""


@dataclass(frozen=True, slots=True)
class TaskReport:
    """The report of one run of a task. `skipped`: input records of those `read` that an earlier run had counted already."""

    task: str
    read: int
    processed: int
    skipped: int
    written: int
    logged: int
    dropped: int
    restored: int


class TaskRun:
    """One micro-batch of one task, on open stores; made by `open_run`."""

    def __init__(
        self, spec: TaskSpec, task: StreamTask, origin: Origin, coverage: Coverage
    ) -> None:
        self._spec = spec
        self._task = task
        self._origin = origin
        self._coverage = coverage
        self._link = connections(spec.kafka)
        self._file = Path(spec.state_directory) / f"{task.id}.position"
        self._position = Position()
        self._read = 0
        self._skipped = 0
        self._restored = 0

    def run(self, rows: Iterable[pa.RecordBatch]) -> TaskReport:
        """Processes the rows of the source and commits. Raises what the kernel or the broker raises; then nothing is committed."""
        known = stored_position(self._task, self._file)
        if known is None:
            # Restored stores have counted what lies before this micro-batch, and later ones must find that they have.
            starts = {topic: start for topic, (start, _) in self._coverage.items()}
            self._position = Position(offsets=starts)
        else:
            self._position = known
            if self._task.stores:
                require_continuation(
                    known, self._coverage, self._task.id, self._spec.state_directory
                )
            self._require_same_topics()
            self._task.resume(known.times)
        self._restore(is_new=known is None)
        for batch in rows:
            self._add(batch)
        processed = self._task.process(SystemClock().now().wall_ms)
        prepared = self._task.prepare_commit()  # what caches held back comes with it
        output = together(processed, prepared.output)
        logged = self._write(output)
        commit(self._task, self._advanced(prepared, logged), self._file)
        return TaskReport(
            task=self._task.id,
            read=self._read,
            processed=output.processed,
            skipped=self._skipped,
            written=record_count(output.sinks),
            logged=record_count(output.changelogs),
            dropped=self._task.dropped_records,
            restored=self._restored,
        )

    def _advanced(self, prepared: PreparedCommit, logged: Mapping[str, int]) -> Position:
        """The position after this micro-batch. All its offsets are covered, also those that hold no record."""
        known = self._position
        covered = {
            topic: max(end, known.offsets.get(topic, 0))
            for topic, (_, end) in self._coverage.items()
        }
        return replace(
            known,
            offsets={**known.offsets, **prepared.offsets, **covered},
            times={**known.times, **prepared.partition_times},
            changelogs={**known.changelogs, **logged},
        )

    def _write(self, output: TaskOutput) -> dict[str, int]:
        to = Destination(self._origin.task, self._spec.repartition_topics, self._origin)
        try:
            return self._link.run(write(self._link.producer(), output, to))
        except BaseException:
            self._link.discard_producer()
            raise

    def _add(self, batch: pa.RecordBatch) -> None:
        """Gives the kernel what its stores have not seen. Rows of one batch are of one topic or of several."""
        import pyarrow.compute as pc

        for topic in pc.unique(batch.column("topic")).to_pylist():
            rows = batch.filter(pc.equal(batch.column("topic"), topic))
            self._read += rows.num_rows
            first = self._position.offsets.get(topic, 0)
            fresh = rows.filter(pc.greater_equal(rows.column("offset"), first))
            if topic in self._spec.repartition_topics and fresh.num_rows:
                fresh, seen = only_new(fresh, self._position.seen.get(topic, {}))
                all_seen = {**self._position.seen, topic: seen}
                self._position = replace(self._position, seen=all_seen)
            self._skipped += rows.num_rows - fresh.num_rows
            if fresh.num_rows:
                self._task.add(topic, as_raw(fresh))

    def _restore(self, *, is_new: bool) -> None:
        """Reads the changelogs into stores that have no position: new ones, lost ones, those of the user's own in memory."""
        reader, task = self._link.reader(), self._task
        lost = [store for store in task.stores if task.store_marker(store) is None]
        positions = task.restore_positions()
        for topic in (
            task.changelog_topics[store] for store in lost if store in task.changelog_topics
        ):
            position = positions[topic]
            start = self._offset(topic, EARLIEST)
            end = self._offset(topic, LATEST)
            if is_new and end > start and self._origin.batch == 0:
                raise ConfigError(
                    f"application {self._spec.config.application_id} has state in topic {topic}, but its directory is new: "
                    "what it has counted would be counted again. Give it the directory it had, or reset it: "
                    "delete its topics that end with -changelog and -repartition"
                )
            first = max(position or 0, start)
            self._task.start_restore(topic, first, end)
            records = reader.read(topic, self._origin.task, first, end, headers=True)
            for batch in self._link.iterate(records):
                self._task.restore(topic, as_raw(batch))
                self._restored += batch.num_rows
            self._task.end_restore(topic)
        if is_new:
            commit(self._task, self._position, self._file)

    def _require_same_topics(self) -> None:
        """A new checkpoint over stores that are there is a good start, unless they know other topics of these names.

        Changelogs are looked at once in each process: they may have been deleted since the application ran last.
        """
        known = {} if self._origin.batch else dict(self._position.offsets)
        this_task = (self._spec.state_directory, self._task.id)
        if this_task not in self._link.verified:
            known |= {topic: offset + 1 for topic, offset in self._position.changelogs.items()}
        for topic, offset in known.items():
            end = self._offset(topic, LATEST)
            if end < offset:
                raise ConfigError(
                    f"the stores in {self._spec.state_directory} cover topic {topic} up to offset {offset}, but it ends at {end}: "
                    "it was made anew. Delete the application's directory and its -changelog and -repartition topics"
                )
        self._link.verified.add(this_task)

    def _offset(self, topic: str, which: int) -> int:
        offsets = self._link.run(self._link.reader().offsets(topic, which))
        return offsets.get(self._origin.task, 0)


@contextmanager
def open_run(spec: TaskSpec, origin: Origin, coverage: Coverage) -> Iterator[TaskRun]:
    """The task `origin.task` with its stores open, for the offsets that the micro-batch covers. Raises StoreLocked."""
    task = _open(spec, origin.task)
    try:
        yield TaskRun(spec, task, origin, coverage)
    finally:
        task.close()


def _open(spec: TaskSpec, partition: int) -> StreamTask:
    """Waits for a worker that is still closing the stores, then says who holds them. RocksDB has no lock to wait on."""
    link = connections(spec.kafka)
    stores = rocksdb_stores(Path(spec.state_directory), persist_all=True)
    config = spec.config
    if config.partition_count is None:
        config = replace(config, partition_count=lambda topic: _partition_count(link, topic))
    clock = SystemClock()
    deadline_ms = clock.now().monotonic_ms + OPEN_TIMEOUT_MS
    while True:
        try:
            return StreamTask(spec.topology, spec.sub_topology, partition, stores, config)
        except Exception as error:
            if not _is_lock_error(error):
                raise
            if clock.now().monotonic_ms >= deadline_ms:
                raise StoreLocked(
                    f"the stores of task {spec.sub_topology}_{partition} in {spec.state_directory} are open in another "
                    "process: stop the other query of this application, or give each its own state directory"
                ) from error
            link.run(asyncio.sleep(OPEN_RETRY_S))


def _is_lock_error(error: Exception) -> bool:
    """RocksDB tells in words only: `IO error: While lock file: .../LOCK: ...`, or `lock hold by current process`."""
    return "/LOCK" in str(error)


def _partition_count(link: Connections, topic: str) -> int:
    return len(link.run(link.producer().partitions_for(topic)))


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
        keys=ArrowBytes(records.column("key")),
        values=ArrowBytes(records.column("value")),
        timestamps=timestamps.to_pylist(),
        offsets=records.column("offset").to_pylist(),
        headers=headers,
    )


def _has_headers(records: pa.RecordBatch) -> pa.Array:
    import pyarrow.compute as pc

    return pc.greater(pc.list_value_length(records.column("headers")), 0)
