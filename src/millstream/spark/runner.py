"""Runs a topology on Spark: one streaming query for each sub-topology, one Spark task for each stream task.

The queries are joined by the application's repartition topics, as the instances of a Kafka Streams application are.
Decides nothing about records: the plan says what runs, the kernel what happens.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import UUID

from millstream.clients import RangeReader
from millstream.clients.admin import Admin, NewTopic
from millstream.errors import ConfigError, MillstreamError
from millstream.runtime.system import SystemClock
from millstream.spark.coverage import announced
from millstream.spark.failures import cause, is_worth_another_start
from millstream.spark.kafka_settings import for_both
from millstream.spark.origin import Origin
from millstream.spark.plan import (
    InternalTopic,
    SubTopologyPlan,
    TopologyPlan,
    plan_topology,
    require_supported,
)
from millstream.spark.source import FORMAT, register
from millstream.spark.source_options import EARLIEST, LATEST
from millstream.spark.task import TaskReport, TaskSpec, open_run
from millstream.streams.config import StreamsConfig
from millstream.streams.options import OffsetReset
from millstream.streams.topology.topology import Topology

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.listener import StreamingQueryProgress
    from pyspark.sql.streaming.query import StreamingQuery

RECORDS_PER_TRIGGER_MAX: Final = 200_000
_OBSERVE_S: Final = 0.2
_REPORTS: Final = "reports"
_STARTS_MAX: Final = 5
_LOGGER = logging.getLogger(__name__)
_REPORT: Final = "task string, read bigint, processed bigint, skipped bigint, written bigint, logged bigint, dropped bigint, restored bigint"


class PipelineFailed(MillstreamError):
    """A streaming query ended with an error; its text names the sub-topology and the cause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerOptions:
    """`directory` holds Spark's offset logs (`checkpoints/`) and the stores (`state/`); it outlives the run.

    Keep it: a new one does not know what the application has counted, and is refused when there is something.
    On a cluster the offset logs belong on shared storage (`checkpoint_directory`), the stores on local disks.
    """

    bootstrap_servers: str
    directory: str
    checkpoint_directory: str | None = None
    records_per_trigger_max: int | None = RECORDS_PER_TRIGGER_MAX
    """Records of one micro-batch, over all partitions; they are in memory together. None: all there are."""

    client_settings: Mapping[str, str | int | bool] = field(default_factory=dict, repr=False)
    """Of all clients, by Kafka's names: `{"security.protocol": "SASL_SSL", …}`. Secrets are shown nowhere.

    Unlike Kafka's, `isolation.level` is read_committed where nothing else is said.
    """

    @property
    def checkpoints(self) -> str:
        return self.checkpoint_directory or f"{self.directory}/checkpoints"


@dataclass(frozen=True, slots=True)
class Progress:
    """The records that one micro-batch has read."""

    sub_topology: int
    batch_id: int
    input_records: int
    duration_ms: int


class MicroBatchRunner:
    """A topology as streaming queries. `run_available` works through what is there; `start` goes on until `stop`."""

    def __init__(
        self,
        topology: Topology,
        config: StreamsConfig,
        session: SparkSession,
        options: RunnerOptions,
    ) -> None:
        self._session = session
        register(session)
        self._options = options
        given = {"bootstrap.servers": options.bootstrap_servers, **options.client_settings}
        self._kafka = for_both(given)
        self._config = config
        self._topology = topology.with_own_changelogs()  # Spark tells a task of new records alone
        self._queries: list[StreamingQuery] = []
        require_supported(self._topology, config)
        _require_portable(self._topology, config)
        self.plan = self._prepare()

    def run_available(self, observe: Callable[[Progress], None] = lambda _: None) -> None:
        """Processes everything that is in the source topics now, writers before readers, then returns.

        `observe` is called after each micro-batch. Raises PipelineFailed. Interrupted, it stops what is running.
        """
        try:
            for each in self.plan.queries:
                for starts_left in reversed(range(_STARTS_MAX)):
                    try:
                        self._run_to_the_end(each, observe)
                        break
                    except PipelineFailed as error:
                        if not (starts_left and is_worth_another_start(str(error))):
                            raise
                        _LOGGER.warning("%s; it is started again", error)
        finally:
            self.stop()

    def _run_to_the_end(self, each: SubTopologyPlan, observe: Callable[[Progress], None]) -> None:
        query = self._start(each, available_now=True)
        self._queries = [query]
        seen = -1
        while not _wait(query, each, _OBSERVE_S):
            seen = _observe(query, each, seen, observe)
        _observe(query, each, seen, observe)

    def start(self) -> None:
        """Starts all queries; they run until `stop`."""
        self._queries = [self._start(each, available_now=False) for each in self.plan.queries]

    def await_termination(self, timeout_s: float | None = None) -> bool:
        """Waits until all queries have been stopped. False at the time limit.

        Raises PipelineFailed as soon as one has failed; the others are stopped then.
        """
        from pyspark.errors import StreamingQueryException

        clock, streams = SystemClock(), self._session.streams
        began_ms = clock.now().monotonic_ms
        started = list(zip(self._queries, self.plan.queries, strict=False))
        while True:
            streams.resetTerminated()  # before looking: what ends after this ends the wait below
            ended = [(query, each) for query, each in started if not query.isActive]
            self._require_success(ended)
            if len(ended) == len(started):
                return True
            with suppress(
                StreamingQueryException
            ):  # of any query of the session; ours are looked at above
                if timeout_s is None:
                    streams.awaitAnyTermination()
                    continue
                left_s = timeout_s - (clock.now().monotonic_ms - began_ms) / 1000
                if left_s <= 0 or not streams.awaitAnyTermination(left_s):  # type: ignore[arg-type]  # floats are taken, the stub says int
                    return False

    def _require_success(self, ended: Iterable[tuple[StreamingQuery, SubTopologyPlan]]) -> None:
        try:
            for query, each in ended:
                _wait(query, each, None)
        except PipelineFailed:
            self.stop()
            raise

    def stop(self) -> None:
        """Stops all queries; micro-batches under way are repeated by the next run."""
        for query in self._queries:
            query.stop()
        self._queries = []

    # Set-up.

    def _prepare(self) -> TopologyPlan:
        async def prepare() -> TopologyPlan:
            async with Admin(**self._kafka.of_client()) as admin:
                names = await admin.list_topics(include_internal=True)
                topics = (await admin.describe_topics(names)).raise_errors()
                partitions = {name: len(topics.result(name).partitions) for name in topics}
                plan = plan_topology(self._topology, self._config.application_id, partitions)
                await _create_internal_topics(admin, plan.internal_topics, partitions)
            return plan

        return asyncio.run(prepare())

    def _start(self, query: SubTopologyPlan, *, available_now: bool) -> StreamingQuery:
        from pyspark.sql.functions import sum as sum_of

        options = self._options
        source = (
            self._session.readStream.format(FORMAT)
            .options(**self._kafka.source_options())
            .option("subscribe", ",".join(query.sources))
            .option("startingOffsets", self._starting_offsets(query))
            .option("copartition", "true")
            .option("includeHeaders", "true")
            .option("announceRanges", "true")
        )
        if options.records_per_trigger_max is not None:
            source = source.option("maxRecordsPerTrigger", str(options.records_per_trigger_max))
        name = f"{self._config.application_id}-{query.id}"
        return (
            source.load()
            .mapInArrow(_task_function(self._task_spec(query)), _REPORT)
            .observe(_REPORTS, sum_of("read").alias("read"))
            .writeStream.format("noop")
            .queryName(name)
            .option("checkpointLocation", f"{options.checkpoints}/{name}")
            .trigger(
                **({"availableNow": True} if available_now else {"processingTime": "0 seconds"})
            )
            .start()
        )

    def _starting_offsets(self, query: SubTopologyPlan) -> str:
        """The offsets at which the query begins without a checkpoint: by the `reset` of its sources, or the start."""
        if not query.resets:
            return "earliest"

        async def found() -> dict[str, dict[int, int]]:
            now_ms = SystemClock().now().wall_ms
            async with RangeReader(**self._kafka.of_reader()) as reader:
                return {
                    topic: await reader.offsets(topic, _time_of(reset, now_ms))
                    for topic, reset in query.resets.items()
                }

        return json.dumps(asyncio.run(found()))

    def _task_spec(self, query: SubTopologyPlan) -> TaskSpec:
        return TaskSpec(
            topology=self._topology,
            sub_topology=query.id,
            config=self._config,
            kafka=self._kafka,
            state_directory=str(
                Path(self._options.directory, "state", self._config.application_id).resolve()
            ),
            repartition_topics=self.plan.repartition_topics,
        )


def _time_of(reset: OffsetReset | timedelta, now_ms: int) -> int:
    if isinstance(reset, timedelta):
        return max(0, now_ms - reset // timedelta(milliseconds=1))
    return LATEST if reset is OffsetReset.LATEST else EARLIEST


def _require_portable(topology: Topology, config: StreamsConfig) -> None:
    """Raises ConfigError where Spark could not send the application to its workers, before anything is created for it."""
    from pyspark import cloudpickle

    try:
        cloudpickle.dumps((topology, config))  # type: ignore[no-untyped-call]  # it has no types
    except Exception as error:
        raise ConfigError(
            f"application {config.application_id} cannot be sent to Spark's workers: {error}. Functions, serdes and settings "
            "must not hold what belongs to one process, as connections, locks and open files do: make these where they are used"
        ) from error


def _task_function(
    spec: TaskSpec,
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that Spark sends to its workers: rows of one partition in, one row of report out."""

    def run(rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = iter(rows)
        first = next((batch for batch in rows if batch.num_rows), None)
        if first is None:
            return
        partition, coverage = announced(first)
        with open_run(spec, _origin(partition), coverage) as task:
            report = task.run(_chained(first.slice(1), rows))
        yield _report_row(report)

    return run


def _chained(first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from rest


def _origin(partition: int) -> Origin:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None, "a task runs inside Spark"
    query = context.getLocalProperty("sql.streaming.queryId")
    batch = context.getLocalProperty("streaming.sql.batchId")
    assert query is not None, "a task belongs to a streaming query"
    assert batch is not None, "a task belongs to a micro-batch"
    return Origin(UUID(query).bytes, partition, int(batch))


def _report_row(report: TaskReport) -> pa.RecordBatch:
    import pyarrow as pa

    return pa.RecordBatch.from_pylist([asdict(report)])


def _wait(query: StreamingQuery, plan: SubTopologyPlan, timeout_s: float | None) -> bool:
    from pyspark.errors import StreamingQueryException

    try:
        if timeout_s is None:
            query.awaitTermination()
            return True
        return bool(query.awaitTermination(timeout_s))  # type: ignore[arg-type]  # floats are taken, the stub says int
    except StreamingQueryException as error:
        raise PipelineFailed(f"sub-topology {plan.id} failed: {cause(str(error))}") from error


def _observe(
    query: StreamingQuery, plan: SubTopologyPlan, seen: int, observe: Callable[[Progress], None]
) -> int:
    """Calls the observer for micro-batches that are new since `seen`; gives back the newest."""
    for progress in query.recentProgress:
        if progress.batchId > seen:
            seen = progress.batchId
            observe(Progress(plan.id, seen, _records_of(progress), progress.batchDuration))
    return seen


def _records_of(progress: StreamingQueryProgress) -> int:
    """The number of records that the tasks have read; Spark counts the rows that announce ranges, too."""
    reports = progress.observedMetrics.get(_REPORTS)
    return 0 if reports is None else int(reports["read"] or 0)


async def _create_internal_topics(
    admin: Admin, topics: Iterable[InternalTopic], existing: Mapping[str, int]
) -> None:
    """Creates what is missing. Raises ConfigError when an internal topic has another number of partitions."""
    missing = []
    for topic in topics:
        count = existing.get(topic.name)
        if count is None:
            missing.append(NewTopic(topic.name, topic.partitions, configs=dict(topic.settings)))
        elif count != topic.partitions:
            raise ConfigError(
                f"internal topic {topic.name} has {count} partitions, the topology needs {topic.partitions}: "
                "a source topic has been given more partitions since; reset the application to go on"
            )
    if missing:
        _LOGGER.info("creating internal topics %s", ", ".join(topic.name for topic in missing))
        (await admin.create_topics(missing)).raise_errors()
