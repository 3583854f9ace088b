"""When offsets are committed by themselves, and what a crash between two commits repeats."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from millstream.clients.consumer.auto_commit import AutoCommit
from millstream.clients.core.values import OffsetAndMetadata
from millstream.errors import KafkaError, NotCoordinator
from millstream.model import TopicPartition

PARTITION = TopicPartition("t", 0)


class World:
    """Polls each second; each poll returns the record of that second. Commits succeed at once unless `error` is set."""

    def __init__(self, interval_ms: int) -> None:
        self.now_ms, self.position, self.committed = 0, 0, 0
        self.error: KafkaError | None = None
        self.commits: list[Callable] = []
        self.is_slow = False
        cluster: Any = SimpleNamespace(
            now_ms=lambda: self.now_ms,
            backoff=SimpleNamespace(delay_ms=lambda _attempt, _random: 100),
            random=None,
        )
        commits: Any = SimpleNamespace(commit_soon=self.commit_soon)
        self.auto_commit = AutoCommit(cluster, commits, self.returned, interval_ms)

    def returned(self) -> dict[TopicPartition, OffsetAndMetadata]:
        return {PARTITION: OffsetAndMetadata(self.position)}

    def commit_soon(self, offsets: dict[TopicPartition, OffsetAndMetadata], told: Callable) -> None:
        self.commits.append(told)
        if self.is_slow:
            return
        if self.error is None:
            self.committed = offsets[PARTITION].offset
        told(offsets, self.error)

    def poll_for(self, seconds: int) -> None:
        for _ in range(seconds):
            self.auto_commit.poll()
            self.position += 1
            self.now_ms += 1_000


@pytest.mark.parametrize(
    ("interval_ms", "seconds", "repeated"),
    [(5_000, 8, 3), (5_000, 5, 5), (5_000, 6, 1), (1_000, 8, 1), (0, 8, 1)],
)
def test_a_crash_repeats_what_was_returned_since_the_last_commit(
    interval_ms: int, seconds: int, repeated: int
) -> None:
    """Never more than an interval, and never nothing: what was returned last may not have been processed."""
    world = World(interval_ms)
    world.poll_for(seconds)
    assert world.position - world.committed == repeated


def test_the_first_commit_comes_an_interval_after_the_first_call() -> None:
    world = World(5_000)
    world.poll_for(5)
    assert world.commits == []
    world.poll_for(1)
    assert len(world.commits) == 1


def test_while_a_commit_is_under_way_no_other_is_sent() -> None:
    world = World(1_000)
    world.is_slow = True
    world.poll_for(10)
    (told,) = world.commits
    told({}, None)
    world.poll_for(1)
    assert len(world.commits) == 2


def test_a_commit_that_failed_for_the_moment_is_tried_again_after_a_backoff() -> None:
    world = World(5_000)
    world.error = NotCoordinator()
    world.poll_for(6)
    assert world.committed == 0
    world.error = None
    world.poll_for(1)
    assert world.committed == 6
