"""What administrators see of streams groups, and how their ids are shared with other kinds of group."""

from __future__ import annotations

from collections.abc import Callable

from millstream.coordinator.group.classic.group import ClassicGroup
from millstream.errors import InconsistentGroupProtocol
from millstream.protocol.generated.join_group import JoinGroupResponse
from millstream.protocol.generated.list_groups import ListGroupsRequest, ListGroupsResponse
from millstream.protocol.generated.streams_group_heartbeat import Endpoint
from tests.support.coordinators.classic_group import SimGroup
from tests.support.coordinators.streams_group import GROUP, SimStreamsGroup, subtopology, text_of

BuildGroup = Callable[..., SimStreamsGroup]


def list_streams(group: SimStreamsGroup) -> list[tuple[str, str, str, str]]:
    request = ListGroupsRequest(types_filter=["streams"])
    token = group.coordinator.send(request, version=5)
    response = group.coordinator.outcomes[token]
    assert isinstance(response, ListGroupsResponse)
    return [(g.group_id, g.group_type, g.protocol_type, g.group_state) for g in response.groups]


def test_a_group_that_does_not_exist_is_not_found(group: SimStreamsGroup) -> None:
    described = group.describe()
    assert (described.error_code, described.error_message) == (69, f"Group {GROUP} not found.")


def test_a_group_of_another_kind_is_not_found(group: SimStreamsGroup) -> None:
    SimGroup(group.coordinator, GROUP).commit({("in", 0): 5})
    assert group.describe().error_message == f"Group {GROUP} is not a streams group."


def test_members_are_shown_with_what_they_hold_and_shall_hold(group: SimStreamsGroup) -> None:
    group.join("a")
    group.members["a"].endpoint = Endpoint("host", 80)
    group.join("a")
    group.join("b")
    described = group.describe()
    assert (described.group_state, described.group_epoch, described.assignment_epoch) == (
        "Reconciling",
        4,
        4,
    )
    first = described.members[0]
    assert (first.member_id, first.member_epoch, first.process_id) == ("a", 3, "process-a")
    assert text_of(first.assignment.active_tasks) == "0_0 0_1 0_2 0_3"
    assert text_of(first.target_assignment.active_tasks) == "0_0 0_1"
    assert first.user_endpoint is not None
    assert (first.user_endpoint.host, first.user_endpoint.port) == ("host", 80)


def test_a_topology_is_shown_as_it_was_brought_until_it_can_run(group_with: BuildGroup) -> None:
    group = group_with(
        subtopology("0", sources=["in"], sinks=["r"]),
        subtopology("1", repartitions={"r": 0}, changelogs=["log"]),
    )
    group.join("a")
    brought = group.describe().topology
    assert brought is not None
    assert [
        t.partitions for s in brought.subtopologies or () for t in s.repartition_source_topics
    ] == [0]
    group.set_topics(r=4, log=4)
    group.heartbeat("a")
    derived = group.describe().topology
    assert derived is not None
    assert [
        t.partitions for s in derived.subtopologies or () for t in s.repartition_source_topics
    ] == [4]


def test_a_stable_group_is_said_to_be_so_by_a_coordinator_that_has_just_loaded_it(
    group: SimStreamsGroup,
) -> None:
    """KAFKA-19661: it was NOT_READY until a member's next heartbeat had the topology configured."""
    group.join("a")
    group.move_to(group.coordinator.restarted())
    assert group.describe().group_state == "Stable"
    assert list_streams(group) == [(GROUP, "streams", "streams", "Stable")]


def test_groups_are_listed_with_their_kind(group: SimStreamsGroup) -> None:
    group.join("a")
    assert list_streams(group) == [(GROUP, "streams", "streams", "Stable")]


def test_an_empty_streams_group_becomes_a_classic_one_when_a_consumer_joins(
    group: SimStreamsGroup,
) -> None:
    group.join("a")
    group.leave("a")
    SimGroup(group.coordinator, GROUP).join()
    assert isinstance(group.coordinator.shard.groups.find(GROUP), ClassicGroup)


def test_a_consumer_may_not_join_a_streams_group_with_members(group: SimStreamsGroup) -> None:
    group.join("a")
    classic = SimGroup(group.coordinator, GROUP)
    response = group.coordinator.outcomes[classic.join()]
    assert isinstance(response, JoinGroupResponse)
    assert response.error_code == InconsistentGroupProtocol.code
