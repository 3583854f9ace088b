"""KIP-848: what a member's heartbeats say, and what it makes of the answers."""

from __future__ import annotations

import pytest

from millstream.clients.group.core.consumer_membership import (
    ConsumerMembership,
    ConsumerMembershipPolicy,
    ConsumerMemberState,
    Reconciliation,
    new_member_id,
)
from millstream.errors import (
    CoordinatorLoadInProgress,
    FencedInstanceId,
    FencedMemberEpoch,
    GroupAuthorizationFailed,
    GroupMaxSizeReached,
    InvalidRegularExpression,
    KafkaError,
    TopicAuthorizationFailed,
    UnknownMemberId,
    UnreleasedInstanceId,
    UnsupportedAssignor,
)
from millstream.model import TopicPartition, Uuid
from millstream.protocol.generated.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from millstream.testing.sim_random import SimRandom

T, U = Uuid(b"t" * 16), Uuid(b"u" * 16)
NAMES = {T: "t", U: "u"}
MINUTES_5_MS = 300_000


def membership(instance: str | None = None, assignor: str | None = None) -> ConsumerMembership:
    policy = ConsumerMembershipPolicy("g", instance, assignor, MINUTES_5_MS, "r1")
    return ConsumerMembership(policy, "m1")


def answer(
    epoch: int, assigned: dict[Uuid, list[int]] | None = None, error: type[KafkaError] | None = None
) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(
        error_code=0 if error is None else error.code,
        member_id="m1",
        member_epoch=epoch,
        heartbeat_interval_ms=5_000,
        assignment=None
        if assigned is None
        else Assignment([TopicPartitions(topic, parts) for topic, parts in assigned.items()]),
    )


def beat(
    member: ConsumerMembership, response: ConsumerGroupHeartbeatResponse, now_ms: int = 0
) -> ConsumerGroupHeartbeatRequest:
    request = member.heartbeat_request(now_ms)
    assert member.handle_heartbeat(request, response) is None
    return request


def take_over(member: ConsumerMembership) -> Reconciliation:
    plan = member.plan_reconciliation(NAMES)
    assert plan is not None
    member.finish_reconciliation(plan)
    return plan


def stable() -> ConsumerMembership:
    """In epoch 2, holding t-0 and t-1, which it has told."""
    member = membership()
    member.subscribe(["t"])
    beat(member, answer(2, {T: [0, 1]}))
    take_over(member)
    beat(member, answer(2))
    assert member.state is ConsumerMemberState.STABLE
    return member


def test_who_joins_says_everything() -> None:
    member = membership(instance="i", assignor="uniform")
    member.subscribe(["u", "t"])
    assert member.heartbeat_due_ms(0) == 0
    assert member.heartbeat_request(0) == ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id="m1",
        member_epoch=0,
        instance_id="i",
        rack_id="r1",
        rebalance_timeout_ms=MINUTES_5_MS,
        subscribed_topic_names=["t", "u"],
        subscribed_topic_regex=None,
        server_assignor="uniform",
        topic_partitions=[],
    )


def test_a_heartbeat_repeats_nothing_that_was_said() -> None:
    assert stable().heartbeat_request(9) == ConsumerGroupHeartbeatRequest("g", "m1", 2)


def test_the_coordinator_says_how_often() -> None:
    member = stable()
    beat(member, answer(2), now_ms=1_000)
    assert [member.heartbeat_due_ms(now) for now in (1_000, 4_000, 7_000)] == [5_000, 2_000, 0]


def test_an_assignment_is_taken_over_and_then_acknowledged_at_once() -> None:
    member = membership()
    member.subscribe(["t"])
    beat(member, answer(2, {T: [1, 0]}), now_ms=7)
    assert member.heartbeat_due_ms(7) == 5_000  # nothing to say before it is taken over
    plan = take_over(member)
    assert plan.partitions == {TopicPartition("t", 0), TopicPartition("t", 1)}
    assert member.heartbeat_due_ms(8) == 0
    acknowledgement = member.heartbeat_request(8)
    assert acknowledgement.topic_partitions == [TopicPartitions(T, [0, 1])]
    assert acknowledgement.subscribed_topic_names is None
    assert member.state is ConsumerMemberState.STABLE


def test_an_empty_assignment_is_taken_over_as_well() -> None:
    member = membership()
    member.subscribe(["t"])
    beat(member, answer(2, {}))
    assert take_over(member).partitions == frozenset()


def test_who_has_joined_waits_for_its_assignment_without_asking_all_the_time() -> None:
    member = membership()
    member.subscribe(["t"])
    beat(member, answer(2))
    assert member.heartbeat_due_ms(0) == 5_000


def test_the_same_assignment_again_is_no_news() -> None:
    member = stable()
    beat(member, answer(3, {T: [0, 1]}))
    assert (member.state, member.member_epoch) == (ConsumerMemberState.STABLE, 3)
    assert member.plan_reconciliation(NAMES) is None


def test_what_comes_while_one_assignment_is_taken_over_is_next() -> None:
    member = stable()
    beat(member, answer(3, {T: [0]}))
    plan = member.plan_reconciliation(NAMES)
    assert plan is not None
    beat(member, answer(4, {U: [5]}))
    member.finish_reconciliation(plan)
    assert member.heartbeat_request(0).topic_partitions == [TopicPartitions(T, [0])]
    assert take_over(member).partitions == {TopicPartition("u", 5)}


def test_topics_whose_names_are_unknown_wait_and_the_others_do_not() -> None:
    member = membership()
    member.subscribe(["t", "u"])
    beat(member, answer(2, {T: [0], U: [1]}))
    assert member.unknown_topics({T: "t"}) == [U]
    plan = member.plan_reconciliation({T: "t"})
    assert plan is not None
    assert plan.partitions == {TopicPartition("t", 0)}
    member.finish_reconciliation(plan)
    assert member.heartbeat_request(0).topic_partitions == [TopicPartitions(T, [0])]
    assert member.state is ConsumerMemberState.RECONCILING
    assert member.plan_reconciliation({T: "t"}) is None
    assert take_over(member).partitions == {TopicPartition("t", 0), TopicPartition("u", 1)}


def test_after_a_lost_answer_everything_that_changes_is_told_again() -> None:
    member = stable()
    member.heartbeat_request(0)
    member.handle_failure()
    again = member.heartbeat_request(1)
    assert again.member_epoch == 2
    assert again.subscribed_topic_names == ["t"]
    assert again.topic_partitions == [TopicPartitions(T, [0, 1])]
    assert again.rebalance_timeout_ms == MINUTES_5_MS


def test_a_coordinator_that_loads_changes_nothing_but_is_told_again() -> None:
    member = stable()
    beat(member, answer(0, error=CoordinatorLoadInProgress))
    assert (member.state, member.member_epoch) == (ConsumerMemberState.STABLE, 2)
    assert member.heartbeat_request(0).topic_partitions is not None


@pytest.mark.parametrize("error", [FencedMemberEpoch, UnknownMemberId])
def test_who_is_counted_out_is_silent_until_its_partitions_are_let_go_and_joins_again(
    error: type[KafkaError],
) -> None:
    member = stable()
    beat(member, answer(0, error=error))
    assert member.has_lost_partitions
    assert member.heartbeat_due_ms(0) is None
    assert member.metadata().generation_id == -1
    member.rejoin()
    request = member.heartbeat_request(0)
    assert (request.member_id, request.member_epoch, request.topic_partitions) == ("m1", 0, [])


def test_an_assignment_that_was_being_taken_over_when_we_were_counted_out_is_void() -> None:
    member = stable()
    beat(member, answer(3, {T: [0]}))
    plan = member.plan_reconciliation(NAMES)
    assert plan is not None
    beat(member, answer(0, error=FencedMemberEpoch))
    member.finish_reconciliation(plan)
    assert member.state is ConsumerMemberState.FENCED


@pytest.mark.parametrize(
    "error",
    [
        UnreleasedInstanceId,
        FencedInstanceId,
        GroupAuthorizationFailed,
        GroupMaxSizeReached,
        InvalidRegularExpression,
        UnsupportedAssignor,
    ],
)
def test_errors_that_only_the_application_can_cure_end_the_membership(
    error: type[KafkaError],
) -> None:
    member = stable()
    request = member.heartbeat_request(0)
    assert isinstance(member.handle_heartbeat(request, answer(0, error=error)), error)
    assert member.state is ConsumerMemberState.FATAL
    assert member.heartbeat_due_ms(0) is None
    member.subscribe(["u"])
    assert member.heartbeat_request(0).subscribed_topic_names == ["u"]


def test_a_topic_that_may_not_be_read_is_told_and_the_member_goes_on() -> None:
    member = stable()
    request = member.heartbeat_request(0)
    told = member.handle_heartbeat(request, answer(0, error=TopicAuthorizationFailed))
    assert isinstance(told, TopicAuthorizationFailed)
    assert member.state is ConsumerMemberState.STABLE


def test_an_answer_to_who_we_were_means_nothing() -> None:
    member = stable()
    old = member.heartbeat_request(0)
    member.become_stale()
    member.rejoin()
    assert member.handle_heartbeat(old, answer(3, {T: [0]})) is None
    assert member.member_epoch == 0


def test_a_changed_subscription_is_told_at_once_and_alone() -> None:
    member = stable()
    beat(member, answer(2), now_ms=0)
    member.subscribe(["t"])
    assert member.heartbeat_due_ms(1) == 4_999
    member.subscribe(["t", "u"])
    assert member.heartbeat_due_ms(1) == 0
    request = member.heartbeat_request(1)
    assert request.subscribed_topic_names == ["t", "u"]
    assert request.topic_partitions is None
    assert member.heartbeat_due_ms(1) == 5_000


def test_a_regex_is_told_and_withdrawn_even_if_the_withdrawal_is_lost() -> None:
    member = membership()
    member.subscribe([], "t.*")
    joining = beat(member, answer(2))
    assert (joining.subscribed_topic_regex, joining.subscribed_topic_names) == ("t.*", [])
    assert beat(member, answer(2)).subscribed_topic_regex is None
    member.subscribe(["t"])
    assert member.heartbeat_request(0).subscribed_topic_regex == ""
    member.handle_failure()
    assert beat(member, answer(2)).subscribed_topic_regex == ""
    assert beat(member, answer(2)).subscribed_topic_regex is None


@pytest.mark.parametrize(("instance", "epoch"), [(None, -1), ("i", -2)])
def test_who_leaves_for_good_and_who_comes_back_say_so(instance: str | None, epoch: int) -> None:
    member = membership(instance)
    assert member.leave_request() is None
    member.subscribe(["t"])
    assert member.leave_request() is None  # nobody knows us yet
    beat(member, answer(2))
    assert member.leave_request() == ConsumerGroupHeartbeatRequest(
        "g", "m1", epoch, instance_id=instance
    )
    member.become_unsubscribed()
    assert member.leave_request() is None


def test_who_was_not_polled_joins_again_with_the_next_poll() -> None:
    member = stable()
    member.become_stale()
    assert member.has_lost_partitions
    assert member.heartbeat_due_ms(0) is None
    member.rejoin()
    assert member.heartbeat_due_ms(0) == 0


def test_an_older_coordinator_gives_the_member_its_id() -> None:
    """Version 0."""
    member = membership()
    member.subscribe(["t"])
    response = answer(2)
    response.member_id = "given"
    beat(member, response)
    assert member.heartbeat_request(0).member_id == "given"


def test_commits_are_made_as_member_and_epoch() -> None:
    assert stable().metadata()[1:] == (2, "m1", None)
    assert membership().metadata()[1:] == (-1, "", None)


def test_member_ids_are_uuids_without_a_leading_dash() -> None:
    ids = {new_member_id(SimRandom(seed)) for seed in range(200)}
    assert len(ids) == 200
    assert {len(member_id) for member_id in ids} == {22}
    assert not any(member_id.startswith("-") for member_id in ids)
