"""The states of an application are Kafka Streams', and so are the ways between them (KafkaStreams.State)."""

from __future__ import annotations

import pytest

from millstream.streams.application.states import (
    APPLICATION_TRANSITIONS,
    ApplicationState,
    ThreadState,
    state_of_threads,
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


@pytest.mark.parametrize("before", ApplicationState)
@pytest.mark.parametrize("after", ApplicationState)
def test_only_these_ways_are_open(before: ApplicationState, after: ApplicationState) -> None:
    assert (after in APPLICATION_TRANSITIONS[before]) == ((before, after) in ALLOWED)


def test_predicates() -> None:
    assert [s for s in ApplicationState if s.is_running_or_rebalancing] == [REBALANCING, RUNNING]
    assert [s for s in ApplicationState if s.has_completed_shutdown] == [NOT_RUNNING, ERROR]


@pytest.mark.parametrize(
    ("threads", "state"),
    [
        ([ThreadState.RUNNING, ThreadState.RUNNING], RUNNING),
        ([ThreadState.RUNNING, ThreadState.DEAD], RUNNING),
        ([ThreadState.RUNNING, ThreadState.PARTITIONS_ASSIGNED], REBALANCING),
        ([ThreadState.STARTING], REBALANCING),
    ],
)
def test_an_application_runs_once_all_its_threads_do(
    threads: list[ThreadState], state: ApplicationState
) -> None:
    assert state_of_threads(threads) is state
