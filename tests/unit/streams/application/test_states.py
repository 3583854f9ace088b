"""The states of an application are Kafka Streams', and so are the ways between them (KafkaStreams.State)."""

from __future__ import annotations

import pytest

from millstream.clients.core.illegal_state import IllegalState
from millstream.streams.application.states import (
    APPLICATION_TRANSITIONS,
    THREAD_TRANSITIONS,
    ApplicationState,
    ThreadState,
    are_restoring,
    require_transition,
    state_of_threads,
    thread_state_after,
)

CREATED, REBALANCING, RUNNING, PENDING_SHUTDOWN, NOT_RUNNING, PENDING_ERROR, ERROR = (
    ApplicationState
)
ALLOWED = {
    (CREATED, REBALANCING),
    (CREATED, PENDING_SHUTDOWN),
    (REBALANCING, RUNNING),
    (REBALANCING, PENDING_SHUTDOWN),
    (REBALANCING, PENDING_ERROR),
    (RUNNING, REBALANCING),
    (RUNNING, PENDING_SHUTDOWN),
    (RUNNING, PENDING_ERROR),
    (PENDING_SHUTDOWN, NOT_RUNNING),
    (PENDING_ERROR, ERROR),
}
ENDS = "PENDING_SHUTDOWN"
THREAD_ALLOWED: dict[str, list[str]] = {
    "CREATED": ["STARTING", ENDS],
    "STARTING": ["PARTITIONS_REVOKED", "PARTITIONS_ASSIGNED", ENDS],
    "PARTITIONS_REVOKED": ["PARTITIONS_ASSIGNED", ENDS],
    "PARTITIONS_ASSIGNED": ["PARTITIONS_REVOKED", "RUNNING", ENDS],
    "RUNNING": ["PARTITIONS_REVOKED", "PARTITIONS_ASSIGNED", ENDS],
    "PENDING_SHUTDOWN": ["DEAD"],
    "DEAD": [],
}
"""StreamThread.State of Kafka 4.3, whose ways from a state to itself change nothing."""


@pytest.mark.parametrize("before", ApplicationState)
@pytest.mark.parametrize("after", ApplicationState)
def test_only_these_ways_are_open(before: ApplicationState, after: ApplicationState) -> None:
    assert (after in APPLICATION_TRANSITIONS[before]) == ((before, after) in ALLOWED)


@pytest.mark.parametrize(("before", "after"), [(CREATED, RUNNING), (NOT_RUNNING, REBALANCING)])
def test_another_way_is_refused_by_both_names(
    before: ApplicationState, after: ApplicationState
) -> None:
    with pytest.raises(IllegalState, match=f"application app is {before} .* become {after}"):
        require_transition("app", before, after)


def test_the_ways_of_threads_are_those_of_kafka_streams() -> None:
    found = {before: sorted(after) for before, after in THREAD_TRANSITIONS.items()}
    assert found == {before: sorted(after) for before, after in THREAD_ALLOWED.items()}
    assert list(ThreadState) == list(THREAD_ALLOWED), "the metric has their numbers"


def test_a_thread_that_shuts_down_heeds_nothing_but_its_end() -> None:
    pending, dead = ThreadState.PENDING_SHUTDOWN, ThreadState.DEAD
    for wanted in ThreadState:
        after = thread_state_after("t", pending, wanted)
        assert after is (dead if wanted is dead else pending)
    assert thread_state_after("t", dead, dead) is dead
    with pytest.raises(IllegalState, match=r"stream-thread \[t\] is DEAD .* become RUNNING"):
        thread_state_after("t", dead, ThreadState.RUNNING)


def test_predicates() -> None:
    assert [s for s in ApplicationState if s.is_running_or_rebalancing] == [REBALANCING, RUNNING]
    assert [s for s in ApplicationState if s.has_completed_shutdown] == [NOT_RUNNING, ERROR]


@pytest.mark.parametrize(
    ("threads", "state"),
    [
        ([ThreadState.RUNNING, ThreadState.RUNNING], RUNNING),
        ([ThreadState.RUNNING, ThreadState.DEAD], RUNNING),
        ([ThreadState.RUNNING, ThreadState.PARTITIONS_ASSIGNED], REBALANCING),
        ([ThreadState.RUNNING, ThreadState.PARTITIONS_REVOKED], REBALANCING),
        ([ThreadState.STARTING], REBALANCING),
    ],
)
def test_an_application_runs_once_all_its_threads_do(
    threads: list[ThreadState], state: ApplicationState
) -> None:
    assert state_of_threads(threads) is state


@pytest.mark.parametrize(
    ("threads", "restore"),
    [
        ([], True),
        ([ThreadState.STARTING], True),
        ([ThreadState.RUNNING, ThreadState.PARTITIONS_ASSIGNED], True),
        ([ThreadState.RUNNING, ThreadState.PARTITIONS_REVOKED, ThreadState.DEAD], False),
    ],
)
def test_stores_are_awaited_while_a_thread_has_tasks_to_come(
    threads: list[ThreadState], *, restore: bool
) -> None:
    assert are_restoring(threads) is restore
