"""When offsets are committed, and for how long planning waits for it."""

from __future__ import annotations

from millstream.model import Offset, TopicPartition
from millstream.spark.offsets import Offsets
from millstream.spark.source.offset_commits import OffsetCommits


class Clock:
    def __init__(self) -> None:
        self.now_ms = 50_000

    def __call__(self) -> int:
        return self.now_ms


def at(offset: int) -> Offsets:
    return {TopicPartition("t", 0): Offset(offset)}


def test_nothing_is_committed_where_there_is_nothing() -> None:
    assert not OffsetCommits("g", "r", 0, Clock()).is_due({})


def test_planning_waits_a_tenth_of_the_time_between_rare_triggers() -> None:
    clock = Clock()
    commits = OffsetCommits("g", "r", 0, clock)
    patience_s = []
    for pause_ms in (0, 999, 1_000, 30_000, 3_600_000):
        clock.now_ms += pause_ms
        assert commits.is_due(at(pause_ms))
        patience_s.append(commits.patience_s)
    assert patience_s == [0.0, 0.0, 0.1, 3.0, 5.0]
