"""What a member says and what it makes of the answers."""

from __future__ import annotations

import pytest

from millstream.clients.group.assignors import (
    LastAssignment,
    MemberSubscription,
    chosen_assignors,
)
from millstream.clients.group.assignors.sticky_user_data import encode_sticky_user_data
from millstream.clients.group.core.classic_membership import (
    Membership,
    MembershipPolicy,
    MemberState,
)
from millstream.clients.group.core.consumer_protocol import (
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from millstream.errors import (
    FencedInstanceId,
    InconsistentGroupProtocol,
    KafkaError,
    MemberIdRequired,
    RebalanceInProgress,
    UnknownMemberId,
)
from millstream.model import TopicPartition
from millstream.protocol.generated.join_group import JoinGroupResponse, JoinGroupResponseMember
from millstream.protocol.generated.sync_group import SyncGroupResponse


def membership(*assignors: str, instance: str | None = None) -> Membership:
    return Membership(
        MembershipPolicy(
            "g", instance, chosen_assignors(assignors or ("range",)), 45_000, 3_000, 300_000
        )
    )


def join(member: Membership, *, leader: str = "m1", protocol: str = "range") -> None:
    member.join_request(["t"], [], named_reason=True)
    members = [
        JoinGroupResponseMember(
            name, None, encode_subscription(MemberSubscription(frozenset({"t"})))
        )
        for name in ("m1", "m2")
    ]
    member.handle_join(
        JoinGroupResponse(
            generation_id=4,
            protocol_name=protocol,
            leader=leader,
            member_id="m1",
            members=members if leader == "m1" else [],
        )
    )


def stable() -> Membership:
    member = membership()
    join(member)
    member.handle_sync(
        SyncGroupResponse(assignment=encode_assignment([TopicPartition("t", 0)])), 1_000
    )
    return member


def test_a_join_offers_the_assignors_in_order_with_what_is_wanted_and_held() -> None:
    member = membership("cooperative-sticky", "range")
    request = member.join_request(["b", "a"], [TopicPartition("a", 1)], named_reason=False)
    assert (request.group_id, request.member_id, request.protocol_type) == ("g", "", "consumer")
    assert (request.session_timeout_ms, request.rebalance_timeout_ms) == (45_000, 300_000)
    assert [protocol.name for protocol in request.protocols] == ["cooperative-sticky", "range"]
    subscription = decode_subscription(request.protocols[0].metadata, None)
    assert subscription.topics == {"a", "b"}
    assert subscription.owned == {TopicPartition("a", 1)}


def test_a_member_without_id_takes_the_one_it_is_given_and_asks_again() -> None:
    """KIP-394."""
    member = membership()
    member.join_request(["t"], [], named_reason=True)
    with pytest.raises(MemberIdRequired):
        member.handle_join(JoinGroupResponse(error_code=79, member_id="m7"))
    assert member.join_request(["t"], [], named_reason=True).member_id == "m7"


def test_the_leader_shares_out_and_everybody_syncs() -> None:
    member = membership()
    join(member)
    assert member.leads
    assert member.group_topics == {"t"}
    shares = {
        s.member_id: decode_assignment(s.assignment)
        for s in member.share_out({"t": [frozenset()] * 3})
    }
    assert shares == {
        "m1": [TopicPartition("t", 0), TopicPartition("t", 1)],
        "m2": [TopicPartition("t", 2)],
    }
    request = member.sync_request(member.share_out({"t": [frozenset()] * 3}))
    assert (request.generation_id, request.member_id, request.protocol_name) == (4, "m1", "range")


def test_a_static_leader_that_comes_back_leads_on_without_sharing_out_anew() -> None:
    """KIP-814: the coordinator has kept the assignment, and says so."""
    member = membership(instance="i")
    member.join_request(["t"], [], named_reason=True)
    data = encode_subscription(MemberSubscription(frozenset({"t", "u"})))
    member.handle_join(
        JoinGroupResponse(
            generation_id=4,
            protocol_name="range",
            leader="m1",
            skip_assignment=True,
            member_id="m1",
            members=[JoinGroupResponseMember("m1", "i", data)],
        )
    )
    assert member.leads
    assert member.group_topics == {"t", "u"}
    assert member.share_out({"t": [frozenset()], "u": [frozenset()]}) == []


def test_what_the_group_gave_last_goes_into_the_eager_sticky_assignors_user_data() -> None:
    member = membership("sticky", "range")
    assert [p.name for p in member.join_request(["t"], [], named_reason=True).protocols] == [
        "sticky",
        "range",
    ]
    join(member, protocol="sticky")
    member.handle_sync(
        SyncGroupResponse(assignment=encode_assignment([TopicPartition("t", 1)])), 1_000
    )
    sticky, plain = member.join_request(["t"], [], named_reason=True).protocols
    said = decode_subscription(sticky.metadata, None)
    assert said.owned == frozenset()
    assert said.user_data == encode_sticky_user_data(
        LastAssignment(frozenset({TopicPartition("t", 1)}), 4)
    )
    assert decode_subscription(plain.metadata, None).user_data is None


def test_a_follower_syncs_with_nothing() -> None:
    member = membership()
    join(member, leader="m2")
    assert not member.leads
    assert member.handle_sync(SyncGroupResponse(), 0) == []
    assert member.state is MemberState.STABLE


def test_an_assignor_that_was_not_offered_is_an_error() -> None:
    member = membership()
    join(member, protocol="mystery")
    with pytest.raises(InconsistentGroupProtocol, match="chose 'mystery'"):
        member.share_out({"t": [frozenset()]})


def test_heartbeats_are_due_by_the_interval_once_stable() -> None:
    assert membership().heartbeat_due_ms(0) is None
    member = stable()
    assert [member.heartbeat_due_ms(now) for now in (1_000, 3_500, 9_000)] == [3_000, 500, 0]
    assert member.heartbeat_request(9_000).generation_id == 4
    assert member.heartbeat_due_ms(9_000) == 3_000


def test_a_rebalance_keeps_the_place_and_wants_a_rejoin() -> None:
    member = stable()
    assert member.handle_heartbeat(27, 4) is None
    assert (member.rejoin_wanted, member.assignment_lost, member.member_id) == (True, False, "m1")
    assert member.state is MemberState.STABLE  # heartbeats go on until the join


@pytest.mark.parametrize(("code", "member_id"), [(25, ""), (22, "m1")])
def test_a_member_counted_out_has_lost_its_partitions(code: int, member_id: str) -> None:
    member = stable()
    assert member.handle_heartbeat(code, 4) is None
    assert (member.rejoin_wanted, member.assignment_lost) == (True, True)
    assert (member.member_id, member.generation_id) == (member_id, -1)


def test_an_answer_to_a_heartbeat_of_an_older_generation_means_nothing() -> None:
    member = stable()
    assert member.handle_heartbeat(22, 3) is None
    assert not member.rejoin_wanted


def test_a_fenced_instance_is_the_applications_business() -> None:
    assert isinstance(stable().handle_heartbeat(82, 4), FencedInstanceId)


@pytest.mark.parametrize("error", [RebalanceInProgress, UnknownMemberId])
def test_a_rebalance_that_fails_half_way_starts_again(error: type[KafkaError]) -> None:
    member = membership()
    join(member)
    with pytest.raises(error):
        member.handle_sync(SyncGroupResponse(error_code=error.code), 0)
    assert (member.state, member.rejoin_wanted) == (MemberState.UNJOINED, True)


def test_dynamic_members_leave_by_name_and_static_ones_stay() -> None:
    member = stable()
    assert member.leave_request(5, "bye").members[0].reason == "bye"
    assert member.leave_request(2, "bye").member_id == "m1"
    static = membership(instance="i")
    static.member_id = "m9"
    assert static.leave_request(5, "bye") is None
    assert membership().leave_request(5, "bye") is None


def test_members_are_cooperative_only_if_every_assignor_is() -> None:
    assert membership("cooperative-sticky").policy.is_cooperative
    assert not membership("range", "cooperative-sticky").policy.is_cooperative


def test_who_forgets_its_membership_begins_anew() -> None:
    member = stable()
    member.forget_membership()
    assert (member.state, member.member_id, member.generation_id) == (MemberState.UNJOINED, "", -1)
    assert member.members == []
    assert member.heartbeat_due_ms(0) is None
