"""A case as an application on Spark: `SparkStreams`, micro-batch by micro-batch."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from live_cases.live import ApplicationFailed, LiveApplication
from millstream.spark import PipelineFailed, Progress, RunnerOptions, SparkStreams
from millstream.spark.pipeline import micro_batches
from millstream.spark.pipeline.jobs import TaskJobs
from millstream.spark.pipeline.messages import Reply, RunTask
from millstream.streams.runtime.report import TaskReport

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LIMITS = (1, 2, 3, 5, 8, 20, None)
"""Records of a micro-batch, over all partitions. One with a record cache: the driver empties it after every record, ours after every micro-batch."""
RESTARTS = 0.25
"""How often an application is closed and made anew between two portions; in half of these cases its stores are deleted."""
ROUNDS_MAX = 20


class SparkDriver:
    """On one session; None where its jobs do not need one."""

    reads_at_once = True

    def __init__(self, session: SparkSession | None) -> None:
        self._session = session

    def started(self, application: LiveApplication) -> RunningOnSpark:
        return RunningOnSpark(application, self._session)

    @contextmanager
    def kept_topics(self) -> Iterator[None]:
        purge = micro_batches.MicroBatches._purge
        micro_batches.MicroBatches._purge = lambda _batches: None  # type: ignore[method-assign]
        try:
            yield
        finally:
            micro_batches.MicroBatches._purge = purge  # type: ignore[method-assign]


class RunningOnSpark:
    def __init__(self, of: LiveApplication, session: SparkSession | None) -> None:
        self._of, self._session = of, session
        self._limit = 1 if of.case.config.cache_max_bytes else of.chance.choice(LIMITS)
        self._jobs = 0
        self._application = self._open()

    def _open(self) -> SparkStreams:
        options = RunnerOptions(
            bootstrap_servers=self._of.cluster.servers,
            directory=str(self._of.directory),
            records_per_trigger_max=self._limit,
        )
        application = SparkStreams(self._of.topology, self._of.config, self._session, options)
        self._note_positions(application._jobs)
        return application

    def work(self) -> None:
        for _ in range(ROUNDS_MAX):
            before = self._jobs
            try:
                self._application.run_available(self._take)
            except PipelineFailed as error:
                raise ApplicationFailed(str(error)) from error
            if self._jobs == before or not self._of.feeds_itself:
                return
        raise AssertionError(f"{self._of.way.seed} does not come to an end")

    def disturb(self) -> None:
        if self._of.chance.random() >= RESTARTS:
            return
        self._application.close()
        if self._of.chance.random() < 0.5:
            shutil.rmtree(self._of.directory, ignore_errors=True)
        self._of.found.restarts += 1
        self._application = self._open()

    def close(self) -> None:
        self._application.close()

    def _take(self, progress: Progress) -> None:
        self._of.found.dropped += progress.dropped_records
        self._jobs += progress.input_records > 0

    def _note_positions(self, jobs: TaskJobs) -> None:
        """Has the places noted where each micro-batch of a task ends."""
        run, positions = jobs.run, self._of.found.positions

        def noted(requests: Sequence[RunTask], description: str) -> list[Reply]:
            replies = run(requests, description)
            for request, reply in zip(requests, replies, strict=True):
                if isinstance(reply, TaskReport):
                    key = (request.sub_topology, request.partition)
                    positions.setdefault(key, []).append(dict(reply.position))
            return replies

        jobs.run = noted  # type: ignore[method-assign]
