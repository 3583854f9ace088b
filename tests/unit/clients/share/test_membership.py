"""What a member of a share group says to the coordinator, and what it makes of the answers."""

from __future__ import annotations

import pytest

from millstream.clients.group.core.heartbeat_request_manager import HeartbeatRequestManager
from millstream.clients.share.core.membership import ShareMembership, ShareMemberState
from millstream.errors import (
    CoordinatorNotAvailable,
    FencedMemberEpoch,
    GroupAuthorizationFailed,
    GroupMaxSizeReached,
    InvalidRequest,
    KafkaError,
    MillstreamError,
    NetworkException,
    NotCoordinator,
    TopicAuthorizationFailed,
    UnknownMemberId,
    UnsupportedVersion,
)
from millstream.model import Uuid
from millstream.net.client.core.outages import Backoff
from millstream.protocol.generated.share_group_heartbeat import (
    Assignment,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)
from millstream.testing.sim_random import SimRandom

TOPIC = Uuid(b"t" * 16)


def member(*topics: str, rack: str | None = None) -> ShareMembership:
    membership = ShareMembership("g", "m" * 22, rack, Backoff(100, 1_000), SimRandom(0))
    membership.subscribe(topics or ("t",))
    return membership


def answer(
    membership: ShareMembership,
    *partitions: int,
    epoch: int = 1,
    error: type[KafkaError] | None = None,
    at_ms: int = 0,
) -> MillstreamError | None:
    """To a heartbeat that is sent now. With partitions the coordinator assigns them."""
    assignment = Assignment([TopicPartitions(TOPIC, list(partitions))]) if partitions else None
    response = ShareGroupHeartbeatResponse(
        error_code=error.code if error else 0,
        member_epoch=epoch,
        heartbeat_interval_ms=5_000,
        assignment=assignment,
    )
    return membership.handle_heartbeat(membership.heartbeat_request(at_ms), response)


def joined(*partitions: int) -> ShareMembership:
    membership = member()
    membership.handle_poll()
    assert answer(membership, *(partitions or (0,)), epoch=4) is None
    return membership


def manager_of(
    membership: ShareMembership,
) -> HeartbeatRequestManager[ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse]:
    return HeartbeatRequestManager(membership, Backoff(100, 1_000), SimRandom(0))


def said(request: ShareGroupHeartbeatRequest) -> tuple[int, list[str] | None, str | None]:
    return request.member_epoch, request.subscribed_topic_names, request.rack_id


# ---- joining


def test_nothing_is_said_before_the_first_poll() -> None:
    assert member().heartbeat_due_ms(0) is None


def test_the_first_poll_joins_at_once() -> None:
    membership = member("b", "a", rack="r1")
    membership.handle_poll()
    assert membership.heartbeat_due_ms(0) == 0
    request = membership.heartbeat_request(0)
    assert said(request) == (0, ["a", "b"], "r1")
    assert (request.group_id, request.member_id) == ("g", "m" * 22)


def test_a_poll_without_a_subscription_joins_nothing() -> None:
    membership = ShareMembership("g", "m" * 22, None, Backoff(100, 1_000), SimRandom(0))
    membership.handle_poll()
    assert membership.heartbeat_due_ms(0) is None


def test_an_assignment_is_taken_over_as_it_comes() -> None:
    membership = joined(0, 2)
    assert membership.assigned == {TOPIC: (0, 2)}
    answer(membership, 1, epoch=5)
    assert membership.assigned == {TOPIC: (1,)}
    answer(membership, epoch=5)
    assert membership.assigned == {TOPIC: (1,)}, "no news is no change"


# ---- staying


def test_heartbeats_come_as_often_as_the_coordinator_says_and_repeat_nothing() -> None:
    membership = joined()
    assert membership.heartbeat_due_ms(1_000) == 4_000
    assert said(membership.heartbeat_request(5_000)) == (4, None, None)
    assert membership.heartbeat_due_ms(5_000) == 5_000


def test_who_is_given_nothing_at_first_asks_again_soon() -> None:
    membership = member()
    membership.handle_poll()
    answer(membership, epoch=1, at_ms=10_000)
    assert membership.heartbeat_due_ms(10_000) in range(80, 121)
    answer(membership, epoch=1, at_ms=10_100)
    assert membership.heartbeat_due_ms(10_100) in range(160, 241)
    answer(membership, 0, epoch=2, at_ms=10_300)
    assert membership.heartbeat_due_ms(10_300) == 5_000


def test_who_is_given_nothing_for_a_whole_interval_has_got_its_share() -> None:
    membership = member()
    membership.handle_poll()
    answer(membership, epoch=1, at_ms=10_000)
    answer(membership, epoch=1, at_ms=15_000)
    assert membership.heartbeat_due_ms(15_000) == 5_000


def test_another_subscription_is_told_at_once() -> None:
    membership = joined()
    membership.subscribe(["u"])
    assert membership.heartbeat_due_ms(10) == 0
    assert said(membership.heartbeat_request(10)) == (4, ["u"], None)


def test_a_subscription_that_changes_while_an_answer_is_awaited_is_told_next() -> None:
    membership = joined()
    request = membership.heartbeat_request(5_000)
    membership.subscribe(["u"])
    response = ShareGroupHeartbeatResponse(member_epoch=4, heartbeat_interval_ms=5_000)
    membership.handle_heartbeat(request, response)
    assert membership.heartbeat_due_ms(5_010) == 0
    assert said(membership.heartbeat_request(5_010)) == (4, ["u"], None)


@pytest.mark.parametrize("error", [NotCoordinator, CoordinatorNotAvailable])
def test_a_coordinator_that_has_moved_is_told_everything(error: type[KafkaError]) -> None:
    membership = joined()
    manager = manager_of(membership)
    request = membership.heartbeat_request(5_000)
    refusal = ShareGroupHeartbeatResponse(error_code=error.code)
    assert manager.handle_response(request, refusal, 5_000) is None
    assert membership.state is ShareMemberState.MEMBER
    assert manager.wait_ms(5_000) in range(80, 121)
    assert said(membership.heartbeat_request(5_100)) == (4, ["t"], None)


def test_a_heartbeat_without_an_answer_is_repeated_later_and_later() -> None:
    manager = manager_of(joined())
    waits = []
    for _ in range(3):
        assert manager.handle_failure(NetworkException(), 0) is None
        waits.append(manager.wait_ms(0))
    assert waits[0] in range(80, 121)
    assert waits[1] in range(160, 241)
    assert waits[2] in range(320, 481)


@pytest.mark.parametrize("error", [FencedMemberEpoch, UnknownMemberId])
def test_who_is_counted_out_gives_up_everything_and_joins_again(error: type[KafkaError]) -> None:
    membership = joined()
    assert answer(membership, error=error, at_ms=5_000) is None
    assert membership.assigned == {}
    assert membership.heartbeat_due_ms(5_000) == 0
    assert said(membership.heartbeat_request(5_000)) == (0, ["t"], None)


def test_an_answer_to_an_older_life_means_nothing() -> None:
    membership = joined()
    request = membership.heartbeat_request(5_000)
    membership.plan_leave()
    response = ShareGroupHeartbeatResponse(error_code=UnknownMemberId.code)
    assert membership.handle_heartbeat(request, response) is None
    assert membership.state is ShareMemberState.OUT


# ---- refused


@pytest.mark.parametrize("error", [GroupAuthorizationFailed, InvalidRequest, GroupMaxSizeReached])
def test_errors_that_trying_again_does_not_cure_end_the_membership(
    error: type[KafkaError],
) -> None:
    membership = joined()
    assert isinstance(answer(membership, error=error), error)
    assert membership.is_refused
    assert membership.heartbeat_due_ms(0) is None
    membership.handle_poll()
    assert membership.heartbeat_due_ms(0) is None, "a poll does not try again"


def test_a_topic_that_must_not_be_read_is_told_and_membership_goes_on() -> None:
    membership = joined()
    assert isinstance(answer(membership, error=TopicAuthorizationFailed), TopicAuthorizationFailed)
    assert membership.heartbeat_due_ms(0) is not None


def test_a_cluster_without_share_groups_is_named_so() -> None:
    membership = member()
    membership.handle_poll()
    error = membership.fail(UnsupportedVersion("SHARE_GROUP_HEARTBEAT"))
    assert "the cluster does not offer share groups" in str(error)


# ---- leaving


def test_leaving_is_said_with_epoch_minus_1() -> None:
    membership = joined()
    request = membership.plan_leave()
    assert request is not None
    assert said(request) == (-1, None, None)
    assert membership.heartbeat_due_ms(0) is None
    assert membership.plan_leave() is None, "once"


def test_who_has_not_joined_does_not_leave() -> None:
    assert member().plan_leave() is None


def test_who_does_not_poll_leaves_and_joins_again_with_the_next_poll() -> None:
    membership = joined()
    request = membership.plan_stale()
    assert request is not None
    assert said(request) == (-1, None, None)
    assert (membership.assigned, membership.heartbeat_due_ms(0)) == ({}, None)
    membership.handle_poll()
    assert said(membership.heartbeat_request(0)) == (0, ["t"], None)
