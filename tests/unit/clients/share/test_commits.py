"""Acknowledgements that are committed, and the last ones of a consumer that is closed."""

from __future__ import annotations

import pytest

from millstream.clients.share.core.planned_requests import PlannedAcknowledge
from millstream.errors import (
    InvalidRecordState,
    KafkaError,
    NetworkException,
    NotLeaderOrFollower,
    RequestTimedOut,
    ShareSessionNotFound,
    UnknownTopicId,
)
from millstream.protocol.enums import AcknowledgeType
from tests.unit.clients.share.share_world import (
    FOREVER_MS,
    P0,
    P1,
    World,
    accepted,
    data,
    told,
)

ACCEPT = AcknowledgeType.ACCEPT


# ---- commits


def test_a_commit_goes_at_once_and_before_the_next_fetch() -> None:
    world = World(1)
    world.open_session()
    commit = world.commit(accepted(0, 1))
    world.want()
    planned = world.acknowledge()
    assert (told(planned), planned.request.share_session_epoch) == ({0: [(0, 1, [1])]}, 1)
    assert not commit.is_complete
    world.answer_acknowledge(planned, (0, None))
    assert (commit.is_complete, commit.results) == (True, {P0: None})
    assert world.outcomes() == [(0, {0: ACCEPT, 1: ACCEPT}, None)]
    assert world.fetch().request.share_session_epoch == 2


def test_a_commit_of_nothing_is_complete() -> None:
    assert World(1).commit().is_complete


def test_commits_wait_for_the_request_before() -> None:
    world = World(1)
    world.open_session()
    first, second = world.commit(accepted(0)), world.commit(accepted(1))
    planned = world.acknowledge()
    assert world.plan() == []
    world.answer_acknowledge(planned, (0, None))
    assert (first.is_complete, second.is_complete) == (True, False)
    assert told(world.acknowledge()) == {0: [(1, 1, [1])]}


def test_a_commit_goes_to_every_broker_that_handed_out_records() -> None:
    world = World(1, 2)
    world.want()
    first, second = world.fetches()
    world.answer(first, data(0, (0, 0, 1)))
    world.answer(second, data(1, (0, 0, 1)))
    commit = world.commit(accepted(0), accepted(0, node=2, partition=P1))
    one, other = world.plan()
    assert (told(one), told(other)) == ({0: [(0, 0, [1])]}, {1: [(0, 0, [1])]})
    assert isinstance(one, PlannedAcknowledge)
    assert isinstance(other, PlannedAcknowledge)
    world.answer_acknowledge(one, (0, None))
    assert not commit.is_complete
    world.answer_acknowledge(other, (1, InvalidRecordState))
    assert commit.is_complete
    assert commit.results[P0] is None
    assert isinstance(commit.results[P1], InvalidRecordState)


def test_a_partition_that_fails_for_the_moment_is_committed_again() -> None:
    world = World(1, 1)
    world.open_session()
    commit = world.commit(accepted(0), accepted(4, partition=P1))
    world.answer_acknowledge(world.acknowledge(), (0, None), (1, RequestTimedOut))
    assert world.outcomes() == [(0, {0: ACCEPT}, None)]
    assert world.plan() == []
    world.now_ms = 121
    again = world.acknowledge()
    assert told(again) == {1: [(4, 4, [1])]}
    world.answer_acknowledge(again, (1, None))
    assert (commit.is_complete, commit.results) == (True, {P0: None, P1: None})


@pytest.mark.parametrize("error", [NotLeaderOrFollower, UnknownTopicId, InvalidRecordState])
def test_a_partition_that_fails_for_good_is_not_committed_again(error: type[KafkaError]) -> None:
    world = World(1)
    world.open_session()
    commit = world.commit(accepted(0))
    world.answer_acknowledge(world.acknowledge(), (0, error))
    assert commit.is_complete
    assert isinstance(commit.results[P0], error)
    assert world.plan() == []


def test_a_commit_in_a_session_that_is_gone_fails() -> None:
    world = World(1)
    world.open_session()
    commit = world.commit(accepted(0))
    world.answer_acknowledge(world.acknowledge(), error=ShareSessionNotFound)
    world.now_ms = 121
    assert world.plan() == []
    assert commit.is_complete
    assert isinstance(commit.results[P0], NotLeaderOrFollower)


def test_a_commit_without_an_answer_fails() -> None:
    world = World(1)
    world.open_session()
    commit = world.commit(accepted(0))
    world.fetcher.handle_failure(world.acknowledge(), RequestTimedOut(), 0)
    assert commit.is_complete
    assert isinstance(commit.results[P0], RequestTimedOut)


def test_a_commit_to_a_leader_of_the_past_fails_at_once() -> None:
    world = World(1)
    world.open_session()
    world.lead(2)
    commit = world.commit(accepted(0))
    assert commit.is_complete
    assert isinstance(commit.results[P0], NotLeaderOrFollower)


def test_a_commit_that_could_not_be_sent_in_time_fails() -> None:
    world = World(1)
    world.open_session()
    commit = world.commit(accepted(0), deadline_ms=1_000)
    world.answer_acknowledge(world.acknowledge(), (0, RequestTimedOut))
    world.now_ms = 1_000
    assert world.plan() == []
    assert isinstance(commit.results[P0], RequestTimedOut)


# ---- closing


def test_closing_tells_every_broker_the_last_of_it() -> None:
    world = World(1, 2)
    world.want()
    first, second = world.fetches()
    world.answer(first, data(0, (0, 1, 1)))
    world.answer(second, data(1))
    commit = world.fetcher.close([accepted(0)], world.cluster, FOREVER_MS)
    one, other = world.plan()
    assert isinstance(one, PlannedAcknowledge)
    assert isinstance(other, PlannedAcknowledge)
    assert (one.request.share_session_epoch, told(one)) == (-1, {0: [(0, 0, [1])]})
    assert (other.request.share_session_epoch, told(other)) == (-1, {})
    world.answer_acknowledge(one, (0, None))
    world.answer_acknowledge(other)
    assert commit.is_complete
    assert world.outcomes() == [(0, {0: ACCEPT}, None)]


def test_closing_waits_for_the_request_that_is_out_and_says_what_waited_for_the_next_one() -> None:
    world = World(1)
    world.open_session()
    world.want(accepted(0))
    fetch = world.fetch()
    world.want(accepted(1))
    commit = world.fetcher.close([], world.cluster, FOREVER_MS)
    assert world.plan() == []
    world.answer(fetch, data(0))
    planned = world.acknowledge()
    assert told(planned) == {0: [(1, 1, [1])]}
    world.answer_acknowledge(planned, (0, None))
    assert commit.is_complete


def test_a_broker_that_does_not_answer_does_not_keep_the_close_from_ending() -> None:
    world = World(1)
    world.open_session()
    commit = world.fetcher.close([accepted(0)], world.cluster, FOREVER_MS)
    world.fetcher.handle_failure(world.acknowledge(), NetworkException(), 0)
    assert commit.is_complete
    assert world.outcomes() == [(0, {0: ACCEPT}, NetworkException)]


def test_a_close_that_is_refused_for_the_moment_is_not_repeated() -> None:
    world = World(1)
    world.open_session()
    commit = world.fetcher.close([accepted(0)], world.cluster, FOREVER_MS)
    world.answer_acknowledge(world.acknowledge(), (0, RequestTimedOut))
    assert commit.is_complete
    assert world.outcomes() == [(0, {0: ACCEPT}, RequestTimedOut)]
