"""Which share requests go out, and what their answers mean for records and acknowledgements."""

from __future__ import annotations

import pytest

from millstream.clients.share.core.in_flight_records import ShareInFlightRecords
from millstream.clients.share.core.values import NodeAcknowledgements
from millstream.errors import (
    CorruptMessage,
    FencedLeaderEpoch,
    GroupAuthorizationFailed,
    InvalidRecordState,
    InvalidShareSessionEpoch,
    KafkaError,
    NetworkException,
    NotLeaderOrFollower,
    ShareSessionLimitReached,
    ShareSessionNotFound,
    TopicAuthorizationFailed,
    UnknownServerError,
    UnknownTopicId,
)
from millstream.model import TopicPartition
from millstream.protocol.enums import AcknowledgeType
from millstream.protocol.generated import share_fetch
from tests.unit.clients.share.share_world import (
    P0,
    P1,
    TOPIC_ID,
    World,
    accepted,
    asked,
    data,
    told,
)

ACCEPT, RELEASE, REJECT, RENEW = AcknowledgeType


# ---- asking for records


def test_nothing_is_fetched_before_somebody_wants_records() -> None:
    assert World(1).plan() == []


def test_a_session_is_opened_with_every_leader() -> None:
    world = World(1, 2, 1)
    world.want(count=7)
    first, second = world.fetches()
    assert (first.node_id, asked(first)) == (1, [0, 2])
    assert (second.node_id, asked(second)) == (2, [1])
    request = first.request
    assert (request.group_id, request.member_id, request.share_session_epoch) == ("g", "m", 0)
    assert (request.min_bytes, request.max_wait_ms, request.max_bytes) == (1, 500, 10_000)
    assert (request.max_records, request.batch_size) == (7, 7)
    assert (request.share_acquire_mode, request.is_renew_ack) == (0, False)


def test_one_request_per_broker_is_in_flight() -> None:
    world = World(1)
    world.want()
    world.fetch()
    assert world.plan() == []


def test_fetches_go_on_until_there_are_records_and_name_nothing_twice() -> None:
    world = World(1)
    world.want()
    world.answer(world.fetch(), data(0))
    again = world.fetch()
    assert (again.request.share_session_epoch, asked(again)) == (1, [])
    world.answer(again, data(0, (0, 2, 1)))
    assert world.plan() == [], "locks of records that nobody works on would run out"
    assert world.collect() == [(0, 0), (0, 1), (0, 2)]


def test_partitions_that_come_and_go_are_told() -> None:
    world = World(1, 1)
    world.assigned = [P0]
    world.want()
    world.answer(world.fetch(), data(0))
    world.assigned = [P1]
    planned = world.fetch()
    assert asked(planned) == [1]
    assert [each.partitions for each in planned.request.forgotten_topics_data] == [[0]]


def test_a_partition_without_a_leader_asks_for_metadata() -> None:
    world = World(-1)
    world.want()
    assert world.plan() == []
    assert world.fetcher.take_metadata_wanted()
    assert not world.fetcher.take_metadata_wanted()


def test_records_of_all_brokers_are_collected() -> None:
    world = World(1, 2)
    world.want()
    first, second = world.fetches()
    world.answer(first, data(0, (0, 0, 1)))
    world.answer(second, data(1, (4, 4, 1)))
    assert world.collect() == [(0, 0), (1, 4)]


def test_a_poll_takes_about_as_many_records_as_it_wants() -> None:
    world = World(1, 2)
    world.want()
    first, second = world.fetches()
    world.answer(first, data(0, (0, 2, 1)))
    world.answer(second, data(1, (0, 0, 1)))
    assert world.collect(2) == [(0, 0), (0, 1), (0, 2)], "to the end of the batch"
    world.in_hand = ShareInFlightRecords()
    assert world.collect(2) == [(1, 0)]


# ---- a limit of records (KIP-1206)


def test_with_a_limit_of_records_one_broker_is_asked_and_the_others_only_get_to_know_us() -> None:
    world = World(1, 2, record_limit=True)
    world.want(count=5)
    first, second = world.fetches()
    assert (first.request.max_records, first.request.share_acquire_mode) == (5, 1)
    limits = second.request
    assert (limits.max_records, limits.max_bytes, limits.min_bytes, limits.max_wait_ms) == (
        0,
        0,
        0,
        0,
    )
    world.answer(second, data(1))
    assert world.plan() == [], "the first one still reads"
    world.answer(first, data(0))
    assert world.fetch().node_id == 2, "each in its turn"


def test_with_a_limit_of_records_a_broker_that_fails_lets_the_next_one_read() -> None:
    world = World(1, 2, record_limit=True)
    world.want()
    first, second = world.fetches()
    world.answer(second, data(1))
    world.fetcher.handle_failure(first, NetworkException(), 0)
    planned = world.fetch()
    assert (planned.node_id, planned.request.max_records) == (2, 10)


# ---- acknowledgements that go with a fetch


def test_a_fetch_tells_what_became_of_the_last_records() -> None:
    world = World(1)
    world.open_session((0, 3, 1))
    world.want(NodeAcknowledgements(1, P0, {0: ACCEPT, 1: ACCEPT, 2: RELEASE, 3: REJECT}))
    planned = world.fetch()
    assert told(planned) == {0: [(0, 3, [1, 1, 2, 3])]}
    world.answer(planned, data(0))
    assert world.outcomes() == [(0, {0: ACCEPT, 1: ACCEPT, 2: RELEASE, 3: REJECT}, None)]


def test_an_acknowledgement_may_be_refused_while_records_come() -> None:
    world = World(1)
    world.open_session()
    world.collect()
    world.in_hand = ShareInFlightRecords()
    world.want(accepted(0, 1))
    world.answer(world.fetch(), data(0, (5, 5, 1), refused=InvalidRecordState))
    assert world.outcomes() == [(0, {0: ACCEPT, 1: ACCEPT}, InvalidRecordState)]
    assert world.collect() == [(0, 5)]


def test_what_an_answer_leaves_out_has_failed() -> None:
    world = World(1)
    world.open_session()
    world.want(accepted(0, 1))
    world.answer(world.fetch())
    assert world.outcomes() == [(0, {0: ACCEPT, 1: ACCEPT}, InvalidRecordState)]


def test_a_partition_that_is_not_assigned_any_more_can_still_be_acknowledged() -> None:
    world = World(1)
    world.open_session()
    world.assigned = []
    world.want(accepted(0))
    planned = world.fetch()
    assert told(planned) == {0: [(0, 0, [1])]}
    assert planned.request.max_records == 0
    assert [each.partitions for each in planned.request.forgotten_topics_data] == [[0]]


def test_a_leader_that_has_changed_takes_nothing_back() -> None:
    world = World(1)
    world.open_session()
    world.lead(2)
    world.want(accepted(0))
    planned = world.fetch()
    assert (planned.node_id, told(planned)) == (2, {})
    assert world.outcomes() == [(0, {0: ACCEPT}, NotLeaderOrFollower)]


def test_a_renewal_fetches_nothing_and_the_next_request_does() -> None:
    world = World(1)
    world.open_session()
    world.want(accepted(0, 1, kind=RENEW))
    planned = world.fetch()
    assert planned.request.is_renew_ack
    limits = planned.request
    assert (limits.max_records, limits.max_bytes, limits.min_bytes, limits.max_wait_ms) == (
        0,
        0,
        0,
        0,
    )
    world.answer(planned, data(0), lock_ms=15_000)
    outcome = world.fetcher.outcomes.take()
    assert outcome is not None
    assert (outcome.error, outcome.lock_timeout_ms) == (None, 15_000)
    assert world.fetch().request.max_records == 10


# ---- sessions that are lost


@pytest.mark.parametrize(
    "error", [ShareSessionNotFound, InvalidShareSessionEpoch, ShareSessionLimitReached]
)
def test_a_refused_session_fails_its_acknowledgements_and_begins_anew_a_little_later(
    error: type[KafkaError],
) -> None:
    world = World(1)
    world.open_session()
    world.want(accepted(0))
    world.answer(world.fetch(), error=error)
    assert world.outcomes() == [(0, {0: ACCEPT}, error)]
    assert world.plan() == []
    assert world.fetcher.next_turn_ms(0) in range(80, 121)
    world.now_ms = 121
    planned = world.fetch()
    assert (planned.request.share_session_epoch, asked(planned)) == (0, [0])


def test_a_fetch_without_an_answer_fails_its_acknowledgements_and_its_session() -> None:
    world = World(1)
    world.open_session()
    world.want(accepted(0))
    world.fetcher.handle_failure(world.fetch(), NetworkException(), 0)
    assert world.outcomes() == [(0, {0: ACCEPT}, NetworkException)]
    assert world.fetcher.take_metadata_wanted()
    world.want(accepted(1))
    world.now_ms = 121
    planned = world.fetch()
    assert (planned.request.share_session_epoch, told(planned)) == (0, {})
    assert world.outcomes() == [(0, {1: ACCEPT}, NotLeaderOrFollower)], (
        "a session that begins takes no acknowledgements"
    )


def test_any_other_refusal_leaves_the_session_as_it_is() -> None:
    world = World(1)
    world.open_session()
    world.want()
    world.answer(world.fetch(), error=UnknownTopicId)
    world.now_ms = 121
    assert world.fetch().request.share_session_epoch == 2


def test_an_error_that_trying_again_does_not_cure_is_raised() -> None:
    world = World(1)
    world.want()
    world.answer(world.fetch(), error=GroupAuthorizationFailed)
    with pytest.raises(GroupAuthorizationFailed):
        world.collect()
    assert world.collect() == [], "once"


@pytest.mark.parametrize(
    "error", [NotLeaderOrFollower, FencedLeaderEpoch, UnknownTopicId, UnknownServerError]
)
def test_a_partition_that_cannot_be_read_at_the_moment_is_asked_for_again_later(
    error: type[KafkaError],
) -> None:
    world = World(1)
    world.want()
    world.answer(world.fetch(), data(0, error=error))
    assert world.collect() == []
    assert world.fetcher.take_metadata_wanted()
    assert world.plan() == []
    world.now_ms = 121
    assert world.fetch().request.share_session_epoch == 1


@pytest.mark.parametrize("error", [TopicAuthorizationFailed, CorruptMessage])
def test_a_partition_that_must_not_or_cannot_be_read_is_raised_behind_the_records(
    error: type[KafkaError],
) -> None:
    world = World(1, 1)
    world.want()
    world.answer(world.fetch(), data(0, error=error), data(1, (0, 0, 1)))
    assert world.collect() == [(1, 0)]
    world.in_hand = ShareInFlightRecords()
    with pytest.raises(error, match="t-0: "):
        world.collect()


def test_a_leader_that_is_named_with_the_error_is_learned() -> None:
    world = World(1)
    world.want()
    planned = world.fetch()
    moved = data(0, error=NotLeaderOrFollower)
    moved.current_leader = share_fetch.LeaderIdAndEpoch(2, 5)
    response = share_fetch.ShareFetchResponse(
        responses=[share_fetch.ShareFetchableTopicResponse(TOPIC_ID, [moved])]
    )
    cluster = planned.news(response).told_to(world.cluster)
    assert cluster.leader(TopicPartition("t", 0)) == 2
