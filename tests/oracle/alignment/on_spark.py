"""A case on Spark: micro-batches of any size, until nothing is left or continuously, by drivers that end in the middle and are started anew."""

from __future__ import annotations

import random
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from live_cases.cluster import Cluster
from live_cases.conversion import Input
from live_cases.end_of_input import EndOfInput
from live_cases.on_spark import SparkDriver

from alignment.case import Case
from millstream.spark import Progress, RunnerOptions, SparkStreams
from millstream.spark.pipeline.runner_options import RECORDS_PER_TRIGGER_MAX
from millstream.streams.config import ProcessingGuarantee

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LIMITS: Final = (20, 100, 500, RECORDS_PER_TRIGGER_MAX, None)
"""Records of a micro-batch, over all partitions."""
CONTINUOUS: Final = 0.3
ENDS: Final = 0.3
"""So often a driver ends after one of its first micro-batches."""
BATCHES_MAX: Final = 8


@dataclass(frozen=True)
class SparkWay:
    """`chance` decides when a driver ends, and whether its stores are lost then."""

    limit: int | None
    is_continuous: bool
    ends: bool
    guarantee: ProcessingGuarantee
    chance: str

    def __str__(self) -> str:
        how = "continuous" if self.is_continuous else "run_available"
        restarts = ", a driver that is started anew" if self.ends else ""
        return f"{how} of {self.limit}, {self.guarantee}{restarts}"


def random_spark_way(chance: str) -> SparkWay:
    rng = random.Random(chance)
    is_continuous = rng.random() < CONTINUOUS
    return SparkWay(
        limit=rng.choice(LIMITS),
        is_continuous=is_continuous,
        ends=not is_continuous and rng.random() < ENDS,
        guarantee=rng.choice(list(ProcessingGuarantee)),
        chance=chance,
    )


def spark_ways() -> list[SparkWay]:
    """Those of the case of orders."""
    exactly, at_least = ProcessingGuarantee.EXACTLY_ONCE_V2, ProcessingGuarantee.AT_LEAST_ONCE
    available = SparkWay(None, False, False, exactly, "orders")
    of_limits = [
        replace(available, limit=limit) for limit in (100, 500, RECORDS_PER_TRIGGER_MAX, None)
    ]
    continuous = [replace(available, limit=limit, is_continuous=True) for limit in (500, None)]
    ended = [replace(available, limit=500, ends=True, chance=str(seed)) for seed in range(2)]
    return [*of_limits, replace(available, guarantee=at_least), *continuous, *ended]


class _Ended(Exception):
    """Stands for the end of a driver."""


class RunningOnSpark:
    """One case on one cluster. `run` may be called once; it leaves the topics."""

    def __init__(
        self,
        case: Case,
        way: SparkWay,
        cluster: Cluster,
        application_id: str,
        directory: Path,
        *,
        session: SparkSession | None,
    ) -> None:
        self._case, self._way, self._cluster = case, way, cluster
        self._chance = random.Random(way.chance)
        self._directory, self._session = directory, session
        config = case.config_of(application_id)
        self._config = replace(config, processing_guarantee=way.guarantee)
        sources = {
            topic
            for group in case.topology.sub_topologies
            for topic in case.topology.source_topics(group, application_id)
        }
        self._end = EndOfInput(cluster, application_id, sources)
        self._left = self._chance.randint(1, BATCHES_MAX) if way.ends else -1

    def run(self) -> None:
        """Raises PipelineFailed, and AssertionError where it does not come to an end."""
        with SparkDriver(self._session).kept_topics():
            if self._way.is_continuous:
                self._run_continuously()
                return
            application = self._open()
            try:
                for portion in self._case.portions:
                    self._put(portion)
                    application = self._run_available(application)
            finally:
                application.close()

    def _run_continuously(self) -> None:
        is_backlog = len(self._case.portions) == 1
        if is_backlog:
            self._put(self._case.inputs)
        application = self._open()
        try:
            application.start()
            for portion in () if is_backlog else self._case.portions:
                self._put(portion)
            self._cluster.run(self._end.wait(()))
            application.await_termination(0)  # raises where it has failed
        finally:
            application.close()

    def _run_available(self, application: SparkStreams) -> SparkStreams:
        try:
            application.run_available(self._observe)
        except _Ended:
            application.close()
            if self._chance.random() < 0.5:
                shutil.rmtree(self._directory, ignore_errors=True)
            application = self._open()
            application.run_available()
        return application

    def _observe(self, _progress: Progress) -> None:
        self._left -= 1
        if self._left == 0:
            raise _Ended

    def _put(self, portion: Sequence[Input]) -> None:
        self._cluster.put(portion, (), plain=self._chance.random() < 0.5)

    def _open(self) -> SparkStreams:
        options = RunnerOptions(
            bootstrap_servers=self._cluster.servers,
            directory=str(self._directory),
            records_per_trigger_max=self._way.limit,
            show_progress=False,
        )
        return SparkStreams(self._case.topology, self._config, self._session, options)


class SparkRunner:
    """Chooses the way by chance, or takes the one that is given. `session`: None where the jobs do not need one."""

    def __init__(self, session: SparkSession | None, way: SparkWay | None = None) -> None:
        self._session, self._way = session, way

    def running(
        self, case: Case, chance: str, cluster: Cluster, application_id: str, directory: Path
    ) -> tuple[str, RunningOnSpark]:
        way = self._way or random_spark_way(chance)
        return str(way), RunningOnSpark(
            case, way, cluster, application_id, directory, session=self._session
        )

    def all_ways(self) -> list[SparkRunner]:
        return [SparkRunner(self._session, way) for way in spark_ways()]
