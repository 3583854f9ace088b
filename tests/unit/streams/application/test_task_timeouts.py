"""A task that is tried again and again without progress ends its thread after task.timeout.ms."""

from __future__ import annotations

import pytest

from millstream.streams.application.group.membership import StreamsTaskId
from millstream.streams.application.task_timeouts import TaskTimeouts
from millstream.streams.errors import TaskTimedOut
from millstream.streams.runtime.errors import StoreLocked

TASK, OTHER = StreamsTaskId(0, 1), StreamsTaskId(1, 1)
LOCKED = StoreLocked("another process has the stores")


def test_failures_are_borne_until_the_time_is_over_and_the_last_one_is_told() -> None:
    timeouts = TaskTimeouts(timeout_ms=1_000)
    timeouts.maybe_init_task_timeout_or_raise(TASK, LOCKED, now_ms=5_000)
    timeouts.maybe_init_task_timeout_or_raise(TASK, LOCKED, now_ms=5_999)
    timeouts.maybe_init_task_timeout_or_raise(OTHER, LOCKED, now_ms=6_000)
    with pytest.raises(TaskTimedOut, match="task 0_1 made no progress within 1000 ms") as told:
        timeouts.maybe_init_task_timeout_or_raise(TASK, LOCKED, now_ms=6_000)
    assert "StoreLocked: another process has the stores" in str(told.value)
    assert told.value.__cause__ is LOCKED


def test_progress_begins_the_time_anew() -> None:
    timeouts = TaskTimeouts(timeout_ms=1_000)
    timeouts.maybe_init_task_timeout_or_raise(TASK, LOCKED, now_ms=0)
    timeouts.clear_task_timeout(TASK)
    timeouts.maybe_init_task_timeout_or_raise(TASK, LOCKED, now_ms=1_000)
    with pytest.raises(TaskTimedOut):
        timeouts.maybe_init_task_timeout_or_raise(TASK, LOCKED, now_ms=2_000)


def test_no_time_at_all_ends_it_at_the_first_failure() -> None:
    with pytest.raises(TaskTimedOut):
        TaskTimeouts(timeout_ms=0).maybe_init_task_timeout_or_raise(TASK, LOCKED, now_ms=7)
