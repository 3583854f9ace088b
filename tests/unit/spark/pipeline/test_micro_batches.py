"""What a driver asks of tasks when the cluster has changed since it planned."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from millstream.clients.admin import TransactionDescription, TransactionState
from millstream.clients.admin.core.results import Results
from millstream.errors import (
    LeaderNotAvailable,
    NotLeaderOrFollower,
    RequestTimedOut,
    RetriableError,
    UnknownTopicOrPartition,
)
from millstream.model import TopicPartition
from millstream.runtime.system import SystemClock
from millstream.spark.kafka_settings import for_both
from millstream.spark.pipeline.backlog import DueTask
from millstream.spark.pipeline.messages import Reply, RunTask, TaskFailed
from millstream.spark.pipeline.micro_batches import ApplicationDriver, MicroBatches, Progress
from millstream.spark.pipeline.upstreams import TimeOrder
from millstream.streams.dropped_log import DroppedLog
from millstream.streams.dropped_records import DroppedRecords, DropReason
from millstream.streams.runtime.report import TaskReport
from millstream.streams.topology.alignment import Alignment
from millstream.streams.topology.plan import SubTopologyPlan

BEFORE = SubTopologyPlan(0, {"gone": 1, "kept": 1})
NOW = SubTopologyPlan(0, {"kept": 1})
DROPPED = DroppedRecords("COUNT", "kept", 0, DropReason.NULL_KEY, 2, 2, 3, 10, 10)


class Plan:
    """The plan of a cluster that has deleted a topic: seen by those who look at once."""

    interval_ms = 30_000

    def of(self, _sub_topology: int, *, at_once: bool = False) -> SubTopologyPlan:
        return NOW if at_once else BEFORE


class Jobs:
    """Notes the requests; the application stops with the first that succeeds. A run with the topic that is gone fails."""

    def __init__(self, stopping: threading.Event) -> None:
        self.requests: list[RunTask] = []
        self._stopping = stopping

    def run(self, requests: Sequence[RunTask], _description: str) -> list[Reply]:
        self.requests += requests
        if any("gone" in run.topics for run in requests):
            return [TaskFailed("0_0", "topic 'gone' was deleted", is_retriable=True)]
        self._stopping.set()
        return [
            TaskReport("0_0", dict.fromkeys(run.topics, 5), dropped=2, dropped_records=(DROPPED,))
            for run in requests
        ]


@dataclass
class Link:
    """The clients of a driver: everything is committed up to 3 and readable up to 5. A topic that is gone has no leader."""

    missing: str

    def reader(self) -> Link:
        return self

    async def offsets(self, topic: str, _which: int, timeout_ms: int = 0) -> Mapping[int, int]:
        if topic == self.missing:
            raise RequestTimedOut(f"{topic} within {timeout_ms} ms")
        return {0: 5}

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:  # Any: whatever is waited for
        return asyncio.run(work)

    def times_at(self, _samples: object) -> Mapping[TopicPartition, int]:
        return {}

    def offsets_after(self, _times: object) -> Mapping[TopicPartition, int]:
        return {}


class UnsettledLink(Link):
    """Leaders answer with an error until the short time limit of the first look is over."""

    def __init__(self, error: RetriableError) -> None:
        super().__init__(missing="")
        self._error = error

    async def offsets(self, topic: str, which: int, timeout_ms: int = 0) -> Mapping[int, int]:
        if timeout_ms:
            raise self._error
        return await super().offsets(topic, which)


def nothing_is_due(_readable: Mapping[TopicPartition, int]) -> list[DueTask]:
    return []


@dataclass
class Admin:
    """Describes each transaction with the next of these states."""

    states: list[TransactionState]

    async def describe_transactions(
        self, ids: Sequence[str]
    ) -> Results[str, TransactionDescription]:
        state = self.states.pop(0)
        return Results(
            {
                each: TransactionDescription(0, state, 1, 0, 60_000, None, frozenset())
                for each in ids
            }
        )


def batches(
    monkeypatch: pytest.MonkeyPatch,
    link: Any,
    transactional_ids: Sequence[str] = (),
    observed: list[Progress] | None = None,
) -> tuple[MicroBatches, Jobs]:
    observed = [] if observed is None else observed
    stopping = threading.Event()
    made = Jobs(stopping)
    jobs: Any = made
    plan: Any = Plan()
    driver = ApplicationDriver(
        application_id="app",
        kafka=for_both({"bootstrap.servers": "b:1"}),
        jobs=jobs,
        clock=SystemClock(),
        stopping=stopping,
        paused=threading.Event(),
        observe=observed.append,
        transactional_ids=lambda _: transactional_ids,
        records_max=None,
        plan=plan,
        max_task_idle_ms=0,
        repartition_purge_interval_ms=30_000,
        metrics={},
        order=TimeOrder(Alignment(), 300_000),
        own_outputs=frozenset(),
        dropped_log=DroppedLog(SystemClock(), "application app:"),
    )
    batches = MicroBatches(BEFORE, driver)
    monkeypatch.setattr(batches, "_link", link)
    committed = {TopicPartition("gone", 0): 3, TopicPartition("kept", 0): 3}
    monkeypatch.setattr(batches, "_learn", lambda: batches._backlog.learn(committed))
    return batches, made


def test_a_task_is_not_run_with_a_topic_that_was_found_to_be_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its run would find that out only when it commits that topic's offset."""
    running, jobs = batches(monkeypatch, Link("gone"))
    running.run()
    assert [run.topics for run in jobs.requests] == [("kept",)]


@pytest.mark.parametrize(
    "error", [RequestTimedOut(), NotLeaderOrFollower(), LeaderNotAvailable(), UnknownTopicOrPartition()]
)  # fmt: skip
def test_a_leader_that_begins_late_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, error: RetriableError
) -> None:
    """A broker hears of a topic that was just made after the controller has answered."""
    running, jobs = batches(monkeypatch, UnsettledLink(error))
    running.run_available()
    assert [run.topics for run in jobs.requests] == [("kept",)]


@pytest.mark.parametrize("run", [MicroBatches.run, MicroBatches.run_available])
def test_a_run_that_finds_a_topic_gone_is_repeated_without_it(
    monkeypatch: pytest.MonkeyPatch, run: Callable[[MicroBatches], None]
) -> None:
    running, jobs = batches(monkeypatch, Link(missing=""))
    run(running)
    assert [request.topics for request in jobs.requests] == [("gone", "kept"), ("kept",)]


def test_what_tasks_have_committed_can_be_read_when_the_driver_goes_on_to_their_readers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A task of an earlier session may have committed just before that one ended: it need not have run now."""
    running, _ = batches(monkeypatch, Link(missing=""), ["app@kept_0"])
    monkeypatch.setattr(running, "_due", nothing_is_due)
    admin = Admin([TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT])
    monkeypatch.setattr(running, "_admin_client", lambda: admin)
    assert not running.run_available()
    assert admin.states == []


def test_what_a_run_has_dropped_is_in_its_progress_and_in_the_log_of_the_driver(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    observed: list[Progress] = []
    running, _ = batches(monkeypatch, Link(missing="gone"), observed=observed)
    running.run()
    told = [(each.dropped_records, each.dropped) for each in observed if each.dropped_records]
    assert told == [(2, (DROPPED,))]
    (line,) = [each.getMessage() for each in caplog.records if "left out" in each.getMessage()]
    assert line.startswith(
        "application app: task [0_0] COUNT has left out 2 records of topic kept. The first: kept-0, offset 3"
    )
