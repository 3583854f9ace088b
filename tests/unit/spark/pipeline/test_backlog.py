"""Which tasks of a sub-topology run next, by what the group has committed and what runs report."""

from __future__ import annotations

from millstream.model import Offset, TopicPartition
from millstream.spark.pipeline.backlog import RENEW_MS, Backlog, DueTask
from millstream.streams.runtime.report import TaskReport

NOW_MS = 1_000_000
LEFT, RIGHT = TopicPartition("left", 0), TopicPartition("right", 0)
OTHER_LEFT, OTHER_RIGHT = TopicPartition("left", 1), TopicPartition("right", 1)
COMMITTED = {LEFT: 5, RIGHT: 7, OTHER_LEFT: 0, OTHER_RIGHT: 0}


def report(task: str, left: int, right: int, **facts: object) -> TaskReport:
    return TaskReport(task, {"left": left, "right": right}, is_committed=True, **facts)  # type: ignore[arg-type]  # of any field


def backlog() -> Backlog:
    """Two tasks that have run and renewed their offsets."""
    tasks = Backlog(dict.fromkeys((0, 1), ("left", "right")))
    tasks.learn(COMMITTED)
    tasks.take(0, report("0_0", 5, 7), NOW_MS)
    tasks.take(1, report("0_1", 0, 0), NOW_MS)
    return tasks


def ends(**offsets: int) -> dict[TopicPartition, Offset]:
    return {TopicPartition(topic, 0): Offset(offset) for topic, offset in offsets.items()}


def test_tasks_with_records_before_the_ends_are_due_up_to_there() -> None:
    assert backlog().due(ends(left=9, right=7), NOW_MS) == [DueTask(0, {"left": 9})]


def test_nothing_is_due_where_nothing_has_come() -> None:
    assert backlog().due(ends(left=5, right=6), NOW_MS) == []


def test_a_task_with_a_topic_that_has_no_commit_is_asked_where_it_begins() -> None:
    tasks = Backlog(dict.fromkeys((0, 1), ("left", "right")))
    tasks.learn({tp: offset for tp, offset in COMMITTED.items() if tp != OTHER_RIGHT})
    assert tasks.position == {LEFT: 5, RIGHT: 7}
    assert not tasks.is_known
    assert DueTask(1, {}, renew=True) in tasks.due(ends(left=9), NOW_MS)
    tasks.take(1, report("0_1", 3, 4), NOW_MS)
    assert tasks.position[OTHER_RIGHT] == 4
    assert tasks.is_known


def test_every_task_renews_its_offsets_at_first_and_now_and_then() -> None:
    tasks = Backlog(dict.fromkeys((0, 1), ("left", "right")))
    tasks.learn(COMMITTED)
    assert tasks.due({}, NOW_MS) == [DueTask(0, {}, True), DueTask(1, {}, True)]
    tasks = backlog()
    later_ms = NOW_MS + RENEW_MS
    assert tasks.due({}, later_ms - 1) == []
    assert tasks.next_due_ms() == later_ms
    assert tasks.due(ends(left=6), later_ms) == [
        DueTask(0, {"left": 6}, True),
        DueTask(1, {}, True),
    ]


def test_a_run_that_committed_nothing_does_not_renew() -> None:
    tasks = backlog()
    silent = TaskReport("0_0", {"left": 5, "right": 7})
    tasks.take(0, silent, NOW_MS + RENEW_MS)
    assert [each.partition for each in tasks.due({}, NOW_MS + RENEW_MS)] == [0, 1]


def test_a_task_punctuates_without_records() -> None:
    tasks = backlog()
    tasks.take(0, report("0_0", 5, 7, next_punctuation_ms=NOW_MS + 50), NOW_MS)
    assert tasks.next_due_ms() == NOW_MS + 50
    assert tasks.due({}, NOW_MS + 49) == []
    assert tasks.due({}, NOW_MS + 50) == [DueTask(0, {})]


def test_what_a_failed_task_has_done_is_asked_of_the_group() -> None:
    tasks = backlog()
    tasks.forget(0)
    assert LEFT not in tasks.position
    tasks.learn({**COMMITTED, LEFT: 8})
    assert tasks.position[LEFT] == 8


def test_a_task_with_a_new_topic_is_asked_where_it_begins_there() -> None:
    tasks = backlog()
    tasks.assign({0: ("left", "right"), 1: ("left", "new", "right"), 2: ("new",)})
    tasks.learn(COMMITTED)
    assert tasks.position == {LEFT: 5, RIGHT: 7}, "the one that has no more topics goes on"
    assert tasks.due({}, NOW_MS) == [DueTask(1, {}, True), DueTask(2, {}, True)]
    tasks.take(2, TaskReport("0_2", {"new": 4}, is_committed=True), NOW_MS)
    assert tasks.position[TopicPartition("new", 2)] == 4


def test_a_task_whose_topic_has_gone_goes_on_with_the_others() -> None:
    tasks = backlog()
    tasks.assign({0: ("left",)})
    tasks.learn(COMMITTED)
    assert tasks.position == {LEFT: 5}


def test_records_that_a_task_holds_are_not_due_until_others_come_or_its_time_does() -> None:
    tasks = backlog()
    held = {"held_to": {"left": 9}, "idles_until_ms": NOW_MS + 50}
    tasks.take(0, report("0_0", 5, 7, **held), NOW_MS)
    assert (tasks.position[LEFT], tasks.read_to[LEFT]) == (5, 9)
    assert tasks.due(ends(left=9, right=7), NOW_MS + 49) == []
    assert tasks.due(ends(left=9, right=8), NOW_MS) == [DueTask(0, {"left": 9, "right": 8})]
    assert tasks.due(ends(left=9, right=7), NOW_MS + 50) == [DueTask(0, {"left": 9})]
    assert (tasks.idles_until_ms(), tasks.next_due_ms()) == (NOW_MS + 50, NOW_MS + 50)
