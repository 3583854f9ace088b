"""StreamsGroupHeartbeat: joining, epochs, statuses (KIP-1071, "Heartbeat handling"; messages are those of Kafka 4.3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from millstream.coordinator.group.config import Limited
from millstream.errors import (
    FencedMemberEpoch,
    GroupIdNotFound,
    GroupMaxSizeReached,
    InvalidRequest,
    UnknownMemberId,
)
from millstream.protocol.enums import GroupState
from millstream.protocol.generated.streams_group_heartbeat import (
    Endpoint,
    StreamsGroupHeartbeatResponse,
)
from tests.support.coordinators.classic_group import SimGroup
from tests.support.coordinators.streams_group import (
    GROUP,
    SimStreamsGroup,
    Tasks,
    given,
    subtopology,
    task_ids,
    topology,
)

BuildGroup = Callable[..., SimStreamsGroup]
STATEFUL = subtopology(sources=["in"], changelogs=["log"])


def statuses(response: StreamsGroupHeartbeatResponse) -> list[tuple[int, str]]:
    return [(status.status_code, status.status_detail) for status in response.status or ()]


def test_the_first_member_gets_all_tasks_at_once(group: SimStreamsGroup) -> None:
    response = group.join("a")
    assert (response.member_id, response.member_epoch) == ("a", 2)
    assert given(response) == Tasks("0_0 0_1 0_2 0_3")
    assert response.heartbeat_interval_ms == 5_000
    assert statuses(response) == []
    assert group.state.state is GroupState.STABLE


def test_a_heartbeat_without_news_tells_no_tasks(group: SimStreamsGroup) -> None:
    group.join("a")
    response = group.heartbeat("a")
    assert response.active_tasks is None
    assert response.member_epoch == 2


def test_a_second_member_waits_until_the_first_has_given_its_tasks_back(
    group: SimStreamsGroup,
) -> None:
    group.join("a")
    assert given(group.join("b")) == Tasks()
    revoking = group.heartbeat("a")
    assert (given(revoking), revoking.member_epoch) == (Tasks("0_0 0_1"), 2)
    assert group.state.state is GroupState.RECONCILING
    assert group.heartbeat("b").active_tasks is None
    assert group.heartbeat("a").member_epoch == 3
    assert given(group.heartbeat("b")) == Tasks("0_2 0_3")
    assert group.state.state is GroupState.STABLE


def test_a_member_that_still_holds_what_it_should_revoke_stays_in_its_epoch(
    group: SimStreamsGroup,
) -> None:
    group.join("a")
    group.join("b")
    group.heartbeat("a")
    still = group.heartbeat("a", active_tasks=task_ids("0_0 0_1 0_2"))
    assert still.member_epoch == 2
    assert group.heartbeat("a").member_epoch == 3


def test_threads_of_one_process_are_members_of_their_own(group: SimStreamsGroup) -> None:
    group.join("a", "p")
    group.join("b", "p")
    group.settle()
    assert [group.members[m].held for m in "ab"] == [Tasks("0_0 0_1"), Tasks("0_2 0_3")]


def test_the_first_assignment_waits_for_more_members(group_with: BuildGroup) -> None:
    group = group_with(
        initial_rebalance_delay_ms=Limited("streams.initial.rebalance.delay.ms", 3_000, 0, 60_000)
    )
    response = group.join("a")
    assert (given(response), response.member_epoch) == (Tasks(), 1)
    assert statuses(response) == [
        (5, "Assignment delayed due to the configured initial rebalance delay.")
    ]
    group.join("b")
    assert group.state.state is GroupState.ASSIGNING
    group.coordinator.pass_time(3_000)
    assert given(group.heartbeat("a")) == Tasks("0_0 0_2")
    assert given(group.heartbeat("b")) == Tasks("0_1 0_3")


def test_nothing_is_assigned_when_everyone_left_during_the_delay(group_with: BuildGroup) -> None:
    group = group_with(
        initial_rebalance_delay_ms=Limited("streams.initial.rebalance.delay.ms", 3_000, 0, 60_000)
    )
    group.join("a")
    group.leave("a")
    group.coordinator.pass_time(3_000)
    assert group.state.state is GroupState.EMPTY
    assert group.state.target_assignment == {}


def test_assignments_keep_their_interval(group_with: BuildGroup) -> None:
    group = group_with(
        assignment_interval_ms=Limited("streams.assignment.interval.ms", 1_000, 0, 60_000)
    )
    group.join("a")
    assert statuses(group.join("b")) == [
        (5, "Assignment delayed due to the configured assignment interval.")
    ]
    group.coordinator.pass_time(1_000)
    group.settle()
    assert [group.members[m].held for m in "ab"] == [Tasks("0_0 0_1"), Tasks("0_2 0_3")]


def test_missing_source_topics_keep_the_group_from_being_ready(group: SimStreamsGroup) -> None:
    group.set_topics(**{"in": 0})
    response = group.join("a")
    assert statuses(response) == [(1, "Source topics in are missing.")]
    assert group.state.state is GroupState.NOT_READY
    group.set_topics(**{"in": 2})
    assert given(group.heartbeat("a")) == Tasks("0_0 0_1")
    assert group.state.state is GroupState.STABLE


def test_missing_internal_topics_are_handed_to_whoever_can_create_them(
    group_with: BuildGroup,
) -> None:
    group = group_with(STATEFUL)
    response = group.join("a")
    assert statuses(response) == [(3, "Internal topics are missing: log")]
    beat = group.beat("a")
    assert [(t.name, t.partitions) for t in beat.missing_topics.values()] == [("log", 4)]
    group.set_topics(log=4)
    assert given(group.heartbeat("a")) == Tasks("0_0 0_1 0_2 0_3")
    assert group.beat("a").missing_topics == {}


def test_more_partitions_are_more_tasks(group: SimStreamsGroup) -> None:
    group.join("a")
    group.set_topics(**{"in": 5})
    assert given(group.heartbeat("a")) == Tasks("0_0 0_1 0_2 0_3 0_4")


def test_topics_that_are_not_read_do_not_begin_an_epoch(group: SimStreamsGroup) -> None:
    group.join("a")
    group.set_topics(other=5)
    assert group.heartbeat("a").member_epoch == 2


def test_another_topology_is_refused(group: SimStreamsGroup) -> None:
    group.join("a")
    with pytest.raises(InvalidRequest, match="Topology updates are not supported yet"):
        group.heartbeat("a", member_epoch=0, active_tasks=[], topology=topology(STATEFUL))


def test_an_older_topology_epoch_is_stale_but_served(group_with: BuildGroup) -> None:
    group = group_with()
    group.topology.epoch = 3
    group.join("a")
    group.join("b")
    old = topology(subtopology(sources=["in"]), epoch=2)
    response = group.heartbeat("b", member_epoch=0, active_tasks=[], topology=old)
    assert statuses(response) == [
        (0, "The member's topology epoch 2 is behind the group's topology epoch 3.")
    ]


def test_a_member_that_missed_an_answer_may_be_one_epoch_behind(group: SimStreamsGroup) -> None:
    group.join("a")
    group.join("b")
    group.settle()
    assert group.heartbeat("a", member_epoch=2).member_epoch == 3


def test_a_member_that_missed_its_tasks_is_told_again(group: SimStreamsGroup) -> None:
    group.join("a")
    group.members["a"].held = Tasks()
    assert given(group.heartbeat("a")) == Tasks("0_0 0_1 0_2 0_3")


def test_a_member_that_is_behind_and_holds_too_much_is_fenced(group: SimStreamsGroup) -> None:
    group.join("a")
    group.join("b")
    group.settle()
    with pytest.raises(FencedMemberEpoch, match=r"smaller member epoch \(2\)"):
        group.heartbeat("a", member_epoch=2, active_tasks=task_ids("0_0 0_1 0_2"))


def test_a_member_from_the_future_is_fenced(group: SimStreamsGroup) -> None:
    group.join("a")
    with pytest.raises(FencedMemberEpoch, match=r"greater member epoch \(9\)"):
        group.heartbeat("a", member_epoch=9)


def test_a_fenced_member_that_rejoins_starts_with_nothing(group: SimStreamsGroup) -> None:
    group.join("a")
    group.join("b")
    group.settle()
    assert given(group.join("a")) == Tasks("0_0 0_1")


def test_a_task_that_does_not_exist_is_refused(group: SimStreamsGroup) -> None:
    group.join("a")
    with pytest.raises(InvalidRequest, match="Number of tasks for this subtopology: 4"):
        group.heartbeat("a", active_tasks=task_ids("0_4"))
    with pytest.raises(InvalidRequest, match="Subtopology 7 does not exist"):
        group.heartbeat("a", active_tasks=task_ids("7_0"))


def test_a_heartbeat_of_nobody_is_refused(group: SimStreamsGroup) -> None:
    group.join("a")
    group.members["b"] = replace(group.members["a"], member_id="b")
    with pytest.raises(UnknownMemberId):
        group.heartbeat("b")


def test_a_heartbeat_for_no_group_is_refused(group: SimStreamsGroup) -> None:
    group.join("a")
    with pytest.raises(GroupIdNotFound, match="Streams group nothing not found"):
        group.heartbeat("a", group_id="nothing", member_epoch=2)


def test_a_classic_group_with_members_is_not_a_streams_group(group: SimStreamsGroup) -> None:
    SimGroup(group.coordinator, GROUP).join()
    with pytest.raises(GroupIdNotFound, match="is not a streams group"):
        group.join("a")


def test_an_empty_classic_group_becomes_a_streams_group_and_keeps_its_offsets(
    group: SimStreamsGroup,
) -> None:
    SimGroup(group.coordinator, GROUP).commit({("in", 0): 5})
    group.join("a")
    assert group.state.kind == "streams"
    assert GROUP in set(group.coordinator.shard.offsets.group_ids())


def test_a_full_group_takes_nobody(group_with: BuildGroup) -> None:
    group = group_with(max_size=1)
    group.join("a")
    with pytest.raises(GroupMaxSizeReached):
        group.join("b")


def test_a_shutdown_is_told_to_everyone_until_all_have_left(group: SimStreamsGroup) -> None:
    group.join("a")
    group.join("b")
    told = [
        (
            4,
            (
                "Streams group member a encountered a fatal error and "
                "requested a shutdown for the entire application."
            ),
        )
    ]
    assert statuses(group.heartbeat("a", shutdown_application=True)) == told
    group.leave("a")
    assert statuses(group.heartbeat("b")) == told
    group.leave("b")
    assert statuses(group.join("c")) == []


def test_a_leaving_member_may_ask_for_the_shutdown(group: SimStreamsGroup) -> None:
    group.join("a")
    group.join("b")
    group.leave("a", shutdown_application=True)
    assert [code for code, _ in statuses(group.heartbeat("b"))] == [4]


def test_endpoints_are_told_to_whoever_does_not_know_the_newest(group: SimStreamsGroup) -> None:
    group.join("a")
    group.members["a"].endpoint = Endpoint("host", 80)
    first = group.join("a")
    assert first.endpoint_information_epoch == 1
    (entry,) = first.partitions_by_user_endpoint or []
    assert entry.user_endpoint == Endpoint("host", 80)
    assert [(t.topic, t.partitions) for t in entry.active_partitions] == [("in", [0, 1, 2, 3])]
    assert group.heartbeat("a").partitions_by_user_endpoint is None


def test_standbys_follow_the_config_of_the_group(group_with: BuildGroup) -> None:
    group = group_with(STATEFUL, sizes={"in": 2, "log": 2})
    group.join("a")
    group.join("b")
    group.settle()
    assert [group.members[m].held for m in "ab"] == [Tasks("0_0"), Tasks("0_1")]
    group.set_config("streams.num.standby.replicas", "1")
    group.settle()
    assert [group.members[m].held for m in "ab"] == [Tasks("0_0", "0_1"), Tasks("0_1", "0_0")]


def test_configs_of_a_group_stay_within_the_limits_of_the_broker(group: SimStreamsGroup) -> None:
    group.set_config("streams.heartbeat.interval.ms", "99999")
    assert group.join("a").heartbeat_interval_ms == 15_000
