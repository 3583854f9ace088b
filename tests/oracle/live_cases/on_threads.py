"""A case as instances of `KafkaStreams`, one to three, that come and go between two portions of the input.

The order in which each task takes records from its queues is noted, and counts once the task has committed. Instances live on the
loop of the cluster, which runs while something is awaited.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Self

from live_cases.conversion import Mode
from live_cases.end_of_input import EndOfInput
from live_cases.found import TaskKey
from live_cases.live import ApplicationFailed, LiveApplication
from millstream.streams.application.kafka_streams import KafkaStreams
from millstream.streams.config import GroupProtocol, ProcessingGuarantee, TimeAcrossRepartitions
from millstream.streams.handlers import OnUncaughtError
from millstream.streams.kernel import StreamTask, TaskOutput
from millstream.streams.kernel.task.partition_group import PartitionGroup
from millstream.streams.kernel.task.queues import TakenRows
from millstream.streams.options import OffsetReset
from millstream.streams.runtime.commits import TaskCommits, WrittenOutput
from millstream.streams.runtime.committed import CommittedPosition
from millstream.streams.runtime.report import TaskReport
from millstream.streams.runtime.steps import ObservedStep, Step
from millstream.streams.runtime.tasks.active_task import ActiveTask

INSTANCES: Final = (1, 1, 2, 3)
DISTURBED: Final = 0.4
EXACTLY_ONCE: Final = 0.6
"""Of applications whose input has no transactions."""
CRASHES: Final = 0.03
"""So many steps of tasks end their thread, which is replaced; only where it is exactly once."""
CRASHES_MAX: Final = 6
DAY_MS: Final = 86_400_000
"""Repartition topics are read afterwards."""
QUICK: Final = {"heartbeat_interval_ms": 100, "session_timeout_ms": 6_000}
"""Of members of classic groups."""
SETTINGS: Final = {
    "group.initial.rebalance.delay.ms": "0",
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.heartbeat.interval.ms": "100",
    "group.streams.min.heartbeat.interval.ms": "100",
    "group.streams.assignment.interval.ms": "0",
}
"""Of a broker whose groups share their tasks at once."""


@dataclass
class _Taken:
    """The records that each task has taken since its last commit, by its queues: one that is started anew has others."""

    since_commit: dict[PartitionGroup, list[tuple[str, int]]] = field(default_factory=dict)
    directories: dict[TaskKey, Path] = field(default_factory=dict)
    applications: dict[str, LiveApplication] = field(default_factory=dict)

    def took(self, group: PartitionGroup, rows: TakenRows) -> None:
        topic = rows.run.topic
        assert topic is not None, "queues have topics"
        taken = self.since_commit.setdefault(group, [])
        taken += [(topic, offset) for offset in rows.run.offsets]

    def committed(
        self, commits: TaskCommits, group: PartitionGroup, committed: Mapping[str, int]
    ) -> None:
        key = (commits._spec.sub_topology, commits._partition)
        positions = self.applications[commits._spec.application].found.positions
        positions = positions.setdefault(key, [])
        position = dict.fromkeys(committed, 0) | (positions[-1] if positions else {})
        for topic, offset in self.since_commit.pop(group, []):
            position[topic] = offset + 1
            positions.append(dict(position))
        positions.append(dict(committed))
        self.directories[key] = Path(commits._spec.state_directory)


class ThreadsDriver:
    """For as long as it is entered, it is noted what all tasks of this process take, and in which order."""

    reads_at_once = False

    def __init__(self) -> None:
        self._taken = _Taken()
        self._instead: list[tuple[type, str, Any]] = []

    def __enter__(self) -> Self:
        taken, take, report = self._taken, PartitionGroup.take, ActiveTask.commit
        commit = TaskCommits.commit

        def noted_take(group: PartitionGroup, rows_max: int) -> TakenRows | None:
            rows = take(group, rows_max)
            if rows is not None:
                taken.took(group, rows)
            return rows

        async def noted_commit(
            commits: TaskCommits, task: StreamTask, position: CommittedPosition, output: TaskOutput
        ) -> WrittenOutput:
            try:
                written = await commit(commits, task, position, output)
            except Crash as crash:
                if crash.step is Step.COMMITTED:
                    taken.committed(commits, task.inputs.group, position.offsets)
                raise
            taken.committed(commits, task.inputs.group, position.offsets)
            return written

        async def noted_report(active: ActiveTask, **settings: Any) -> TaskReport:
            found = await report(active, **settings)
            taken.applications[active._spec.application].found.dropped += found.dropped
            return found

        self._instead = [
            (PartitionGroup, "take", take),
            (TaskCommits, "commit", commit),
            (ActiveTask, "commit", report),
        ]
        PartitionGroup.take = noted_take  # type: ignore[method-assign]
        TaskCommits.commit = noted_commit  # type: ignore[method-assign]
        ActiveTask.commit = noted_report  # type: ignore[assignment, method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        for owner, name, method in self._instead:
            setattr(owner, name, method)

    def started(self, application: LiveApplication) -> RunningInThreads:
        return RunningInThreads(application, self._taken)

    @contextmanager
    def kept_topics(self) -> Iterator[None]:
        yield


class Crash(Exception):
    """Stands for the end of a stream thread, after this step of a task."""

    def __init__(self, step: ObservedStep) -> None:
        super().__init__(step)
        self.step = step


def replace_crashed(error: Exception) -> OnUncaughtError:
    if isinstance(error, Crash):
        return OnUncaughtError.REPLACE_THREAD
    return OnUncaughtError.SHUTDOWN_CLIENT


class RunningInThreads:
    def __init__(self, of: LiveApplication, taken: _Taken) -> None:
        self._of, self._cluster = of, of.cluster
        # At least once reads what was aborted, too.
        is_exact = not of.is_plain or of.chance.random() < EXACTLY_ONCE
        guarantee = ProcessingGuarantee.AT_LEAST_ONCE
        if is_exact:
            guarantee = ProcessingGuarantee.EXACTLY_ONCE_V2
        of.config = replace(
            of.config, processing_guarantee=guarantee, time_across_repartitions=TimeAcrossRepartitions.KAFKA, commit_interval_ms=20, poll_ms=20,
            num_stream_threads=of.chance.choice((1, 1, 2)), num_standby_replicas=of.chance.choice((0, 1)),
            group_protocol=of.chance.choice(list(GroupProtocol)), acceptable_recovery_lag=of.chance.choice((0, 10_000)),
            probing_rebalance_interval_ms=500,
        )  # fmt: skip
        taken.applications[of.id] = of
        taken.directories.clear()
        self._numbers = itertools.count()
        self._last = Path()
        of.directory_of = lambda key: taken.directories.get(key, self._last)
        self._begun_late = {
            topic
            for group in of.topology.sub_topologies
            for topic in of.topology.topics_of(group, of.id).sources
            if of.spec(group.id, self._last, None).reset_of(topic) is not OffsetReset.EARLIEST
        }
        may_crash = is_exact and of.case.can_restart and of.way.mode is Mode.TASKS
        self._crashes_left = CRASHES_MAX if may_crash else 0
        self._instances: list[KafkaStreams] = []
        many = of.chance.choice(INSTANCES) if of.case.can_restart else 1
        self._cluster.run(self._start(many))

    def work(self) -> None:
        end = EndOfInput(self._cluster, self._of.id, self._sources(), self._begun_late)
        self._cluster.run(end.wait(self._instances))

    def disturb(self) -> None:
        chance = self._of.chance
        if chance.random() >= DISTURBED:
            return
        self._of.found.restarts += 1
        match chance.randrange(4):
            case 0:
                self._cluster.run(self._start(1))
            case 1 if len(self._instances) > 1:
                self._cluster.run(self._close(chance.randrange(len(self._instances))))
            case 2:
                self._cluster.run(self._restart_all())
                if chance.random() < 0.5:
                    shutil.rmtree(self._of.directory, ignore_errors=True)
                self._cluster.run(self._start(chance.choice(INSTANCES)))
            case _:
                self._cluster.run(self._add_thread())

    def close(self) -> None:
        self._cluster.run(self._restart_all())

    async def _start(self, count: int) -> None:
        for _ in range(count):
            self._last = self._of.directory / str(next(self._numbers))
            config = replace(
                self._of.config, state_dir=str(self._last), repartition_purge_interval_ms=DAY_MS
            )
            self._last /= self._of.id
            instance = KafkaStreams(
                self._of.topology,
                config,
                {"bootstrap_servers": self._cluster.servers, **QUICK},
                observe=self._observe,
                on_uncaught_error=replace_crashed,
            )
            self._instances.append(instance)
            try:
                await instance.start()
            except Exception as error:
                raise ApplicationFailed(str(error)) from error

    def _observe(self, step: ObservedStep, _task: str) -> None:
        if self._crashes_left and self._of.chance.random() < CRASHES:
            self._crashes_left -= 1
            self._of.found.crashes += 1
            raise Crash(step)

    async def _close(self, number: int) -> None:
        await self._instances.pop(number).close()

    async def _restart_all(self) -> None:
        while self._instances:
            await self._close(-1)

    async def _add_thread(self) -> None:
        if self._instances[0].state.is_running_or_rebalancing and self._of.case.groups:
            self._instances[0].add_stream_thread()

    def _sources(self) -> set[str]:
        matched = self._of.topology.with_pattern_topics(self._of.found.outside)
        return {
            topic
            for group in matched.sub_topologies
            if not group.is_global
            for topic in matched.topics_of(group, self._of.id).sources
        }
