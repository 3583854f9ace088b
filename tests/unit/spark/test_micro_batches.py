"""What a driver asks of tasks when the cluster has changed since it planned."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any

import pytest

from millstream.errors import RequestTimedOut
from millstream.model import TopicPartition
from millstream.runtime.system import SystemClock
from millstream.spark.kafka_settings import for_both
from millstream.spark.pipeline.messages import Reply, RunTask
from millstream.spark.pipeline.micro_batches import ApplicationDriver, MicroBatches
from millstream.spark.pipeline.plan import SubTopologyPlan
from millstream.streams.runtime.report import TaskReport

BEFORE = SubTopologyPlan(0, {"gone": 1, "kept": 1})
NOW = SubTopologyPlan(0, {"kept": 1})


class Plan:
    """The plan of a cluster that has deleted a topic: seen by those who look at once."""

    interval_ms = 30_000

    def of(self, _sub_topology: int, *, at_once: bool = False) -> SubTopologyPlan:
        return NOW if at_once else BEFORE


class Jobs:
    """Notes the requests; the application stops with the first."""

    def __init__(self, stopping: threading.Event) -> None:
        self.requests: list[RunTask] = []
        self._stopping = stopping

    def run(self, requests: Sequence[RunTask], _description: str) -> list[Reply]:
        self.requests += requests
        self._stopping.set()
        return [TaskReport("0_0", dict.fromkeys(run.topics, 5)) for run in requests]


class Link:
    """The clients of a driver: everything is committed up to 3 and readable up to 5, and the topic that is gone has no leader."""

    def reader(self) -> Link:
        return self

    async def offsets(self, topic: str, _which: int, timeout_ms: int = 0) -> Mapping[int, int]:
        if topic == "gone":
            raise RequestTimedOut(f"{topic} within {timeout_ms} ms")
        return {0: 5}

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:  # Any: whatever is waited for
        return asyncio.run(work)

    def times_at(self, _samples: object) -> Mapping[TopicPartition, int]:
        return {}

    def offsets_after(self, _times: object) -> Mapping[TopicPartition, int]:
        return {}


def test_a_task_is_not_run_with_a_topic_that_was_found_to_be_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It could not commit that topic's offset, and would be fenced when its transaction has taken too long."""
    stopping = threading.Event()
    jobs: Any = Jobs(stopping)
    plan: Any = Plan()
    link: Any = Link()
    driver = ApplicationDriver(
        application_id="app",
        kafka=for_both({"bootstrap.servers": "b:1"}),
        jobs=jobs,
        clock=SystemClock(),
        stopping=stopping,
        paused=threading.Event(),
        observe=lambda _: None,
        records_max=None,
        plan=plan,
        max_task_idle_ms=0,
        metrics={},
    )
    batches = MicroBatches(BEFORE, driver)
    monkeypatch.setattr(batches, "_link", link)
    committed = {TopicPartition("gone", 0): 3, TopicPartition("kept", 0): 3}
    monkeypatch.setattr(batches, "_learn", lambda: batches._backlog.learn(committed))
    batches.run()
    assert [run.topics for run in jobs.requests] == [("kept",)]
