"""When offsets are committed, and for how long planning waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, cast

import pytest

from millstream.clients import Admin, OffsetAndMetadata
from millstream.clients.admin import Results
from millstream.errors import CoordinatorNotAvailable, KafkaError
from millstream.model import Offset, TopicPartition, Uuid
from millstream.spark.offsets import Offsets
from millstream.spark.source.offset_commits import (
    OffsetCommits,
    commit_metadata,
    marked,
    topic_id_in,
)

PARTITION = TopicPartition("t", 0)


class Clock:
    def __init__(self) -> None:
        self.now_ms = 50_000

    def __call__(self) -> int:
        return self.now_ms


class Coordinator:
    """Answers while `answers` is set, with `error` if there is one."""

    def __init__(self) -> None:
        self.answers = asyncio.Event()
        self.answers.set()
        self.error: KafkaError | None = None
        self.commits: list[int] = []
        self.metadata: list[str] = []

    async def list_consumer_group_offsets(self, groups: Mapping[str, object]) -> Any:
        await self.answers.wait()
        return Results[str, Any]({group: Results() for group in groups})

    async def alter_consumer_group_offsets(
        self, _group: str, offsets: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> Results[TopicPartition, None]:
        self.commits.append(offsets[PARTITION].offset)
        self.metadata.append(offsets[PARTITION].metadata)
        return Results({PARTITION: self.error})

    def as_admin(self) -> Admin:
        return cast("Admin", self)


def at(offset: int) -> Offsets:
    return {PARTITION: Offset(offset)}


async def settled(commits: OffsetCommits, coordinator: Coordinator) -> None:
    commits.begin(coordinator.as_admin(), asyncio.get_running_loop())
    await commits.wait(60)


def test_nothing_is_committed_where_there_is_nothing() -> None:
    assert not OffsetCommits("g", "r", 0, Clock()).is_due({}, {})


async def test_offsets_that_have_not_moved_are_not_committed_again() -> None:
    commits, coordinator = OffsetCommits("g", "r", 0, Clock()), Coordinator()
    assert commits.is_due(at(5), {})
    await settled(commits, coordinator)
    assert not commits.is_due(at(5), {})
    await commits.finish(coordinator.as_admin())
    assert commits.is_due(at(6), {})
    assert coordinator.commits == [5]


async def test_one_commit_is_under_way_and_the_newest_offsets_go_next() -> None:
    commits, coordinator = OffsetCommits("g", "r", 0, Clock()), Coordinator()
    coordinator.answers.clear()
    assert commits.is_due(at(5), {})
    commits.begin(coordinator.as_admin(), asyncio.get_running_loop())
    assert [commits.is_due(at(offset), {}) for offset in (6, 7, 8)] == [False] * 3
    coordinator.answers.set()
    await commits.wait(60)
    assert commits.is_due(at(8), {})
    await settled(commits, coordinator)
    assert coordinator.commits == [5, 8]
    assert commits.report().succeeded == 2


async def test_a_commit_that_fails_is_counted_and_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    commits, coordinator = OffsetCommits("g", "r", 0, Clock()), Coordinator()
    coordinator.error = CoordinatorNotAvailable("restarts")
    assert commits.is_due(at(5), {})
    await settled(commits, coordinator)
    assert (commits.report().failed, commits.report().offsets) == (1, {})
    assert "offsets were not committed in group g, for the 1. time: restarts" in caplog.text
    coordinator.error = None
    assert commits.is_due(at(5), {})
    await settled(commits, coordinator)
    assert (commits.report().failed, commits.report().offsets) == (1, at(5))


async def test_a_commit_before_reading_that_fails_is_counted_too() -> None:
    commits, coordinator = OffsetCommits("g", "r", 0, Clock()), Coordinator()
    coordinator.error = CoordinatorNotAvailable("restarts")
    with pytest.raises(CoordinatorNotAvailable):
        await commits.commit_now(coordinator.as_admin(), at(5), {})
    assert commits.report().failed == 1


async def test_periodic_commits_keep_their_interval() -> None:
    clock = Clock()
    commits, coordinator = OffsetCommits("g", "r", 2_000, clock), Coordinator()
    assert commits.is_due(at(1), {})
    await settled(commits, coordinator)
    clock.now_ms += 1_999
    assert not commits.is_due(at(2), {})
    clock.now_ms += 1
    assert commits.is_due(at(3), {})


async def test_commits_that_are_slower_than_micro_batches_are_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = Clock()
    commits, coordinator = OffsetCommits("g", "r", 0, clock), Coordinator()
    coordinator.answers.clear()
    assert commits.is_due(at(1), {})
    commits.begin(coordinator.as_admin(), asyncio.get_running_loop())
    clock.now_ms += 3_600_000  # the loop stands still while Spark works on a micro-batch
    assert not commits.is_due(at(2), {})
    assert "slower" not in caplog.text
    for offset in range(3, 30):
        clock.now_ms += 900
        assert not commits.is_due(at(offset), {})
    assert caplog.text.count("commits are slower than micro-batches") == 1
    coordinator.answers.set()
    await commits.wait(60)


def test_planning_waits_a_tenth_of_the_time_between_rare_triggers() -> None:
    clock = Clock()
    commits = OffsetCommits("g", "r", 0, clock)
    patience_s = []
    for pause_ms in (0, 999, 1_000, 30_000, 3_600_000):
        clock.now_ms += pause_ms
        assert commits.is_due(at(pause_ms), {})
        patience_s.append(commits.patience_s)
    assert patience_s == [0.0, 0.0, 0.1, 3.0, 5.0]


async def test_a_commit_says_of_which_topic_it_is_and_is_made_again_for_another_one() -> None:
    commits, coordinator = OffsetCommits("g", "r", 0, Clock()), Coordinator()
    assert commits.is_due(at(5), {"t": "a", "u": "b"})
    await settled(commits, coordinator)
    assert not commits.is_due(at(5), {"t": "a"})
    assert commits.is_due(at(5), {"t": "made anew"})
    await settled(commits, coordinator)
    assert commits.is_due(at(6), {})
    await settled(commits, coordinator)
    assert [topic_id_in(each) for each in coordinator.metadata] == ["a", "made anew", None]


def test_a_commit_has_the_epoch_of_the_leader_of_its_topic() -> None:
    mine, other = Uuid(bytes(15) + b"\x05"), Uuid(bytes(15) + b"\x06")
    ids = {PARTITION.topic: str(mine)}
    assert marked(at(5), ids, {(mine, PARTITION): 3})[PARTITION].leader_epoch == 3
    assert marked(at(5), ids, {(other, PARTITION): 3})[PARTITION].leader_epoch == -1


@pytest.mark.parametrize("metadata", ["", "not JSON", "[]", '"text"', '{"topicId":5}'])
def test_what_others_have_committed_says_no_topic(metadata: str) -> None:
    assert topic_id_in(metadata) is None
    assert topic_id_in(commit_metadata("a", queryId="q")) == "a"
