"""Bugs that are put into coordinators are found by the history of a partition that leads, loses and leads again: each within 500 seeds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest

from millstream.broker.coordination.coordinator_partition import CoordinatorPartition
from millstream.broker.coordination.coordinator_topic import CoordinatorTopic
from millstream.coordinator.result import Reply
from millstream.coordinator.runtime import CoordinatorRuntime
from millstream.model import Offset
from millstream.runtime import Instant
from tests.properties.coordinator.test_replicated_coordinator import play

SEEDS = 500
Runtime = CoordinatorRuntime[Any]  # Any: of whatever coordinator


def the_log_end_at_the_load_is_told_as_committed(patch: pytest.MonkeyPatch) -> None:
    def finish(
        self: Runtime, end_offset: Offset, now: Instant, committed_offset: Offset | None = None
    ) -> None:
        del committed_offset
        true_finish(self, end_offset, now)

    true_finish = CoordinatorRuntime.finish_loading
    patch.setattr(CoordinatorRuntime, "finish_loading", finish)


def answers_leave_before_the_commit(patch: pytest.MonkeyPatch) -> None:
    def park(self: Runtime, replies: Sequence[Reply], _now: Instant) -> None:
        self._replies.extend(replies)

    patch.setattr(CoordinatorRuntime, "_park", park)


def a_shard_outlives_its_leader_epoch(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(CoordinatorTopic, "_is_over", lambda _self, _shard, _topic: False)
    patch.setattr(CoordinatorPartition, "_check_leads", lambda _self: None)


def steps_of(random: Random) -> list[tuple[object, bool]]:
    def share() -> float:
        return random.choice([0.0, 0.5, 1.0])

    def happening() -> object:
        kind = random.choice(
            ["commit", "commit", "fetch", "fetch", "apply", "shrink", "replicate", "lose", "lose"]
        )
        if kind == "replicate":
            return kind, share()
        if kind == "lose":
            return kind, share(), random.randint(0, 2), random.choice([True, False])
        return kind

    return [(happening(), random.random() < 0.7) for _ in range(random.randint(5, 40))]


def first_found() -> int | None:
    """The first seed whose history shows a bug."""
    for seed in range(SEEDS):
        if shows_a_bug(seed):
            return seed
    return None


def shows_a_bug(seed: int) -> bool:
    try:
        asyncio.run(play(steps_of(Random(seed))))
    except BaseExceptionGroup as failed:
        return failed.subgroup(AssertionError) is not None
    return False


@pytest.mark.parametrize(
    "plant",
    [
        the_log_end_at_the_load_is_told_as_committed,
        answers_leave_before_the_commit,
        a_shard_outlives_its_leader_epoch,
    ],
)
def test_a_planted_bug_is_found(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    assert first_found() is not None


def test_nothing_is_found_where_nothing_is_planted() -> None:
    assert first_found() is None
