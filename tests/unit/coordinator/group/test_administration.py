"""DescribeGroups, ListGroups, DeleteGroups."""

from __future__ import annotations

from typing import Any

from millstream.protocol.generated.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
)
from millstream.protocol.generated.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
)
from millstream.protocol.generated.list_groups import ListedGroup, ListGroupsRequest
from tests.support.coordinators.classic_group import SimGroup


def describe(group: SimGroup, version: int = 6) -> DescribedGroup:
    request = DescribeGroupsRequest(groups=[group.group_id])
    token = group.coordinator.send(request, version=version)
    (described,) = group.answer(token).groups
    return described


def listed(group: SimGroup, **filters: list[str]) -> list[ListedGroup]:
    request = ListGroupsRequest(**filters)
    token = group.coordinator.send(request, version=5)
    answer: Any = group.answer(token)  # the response class of ListGroups
    return list(answer.groups)


def delete(group: SimGroup, *group_ids: str) -> list[tuple[str, int]]:
    request = DeleteGroupsRequest(groups_names=list(group_ids))
    token = group.coordinator.send(request, version=2)
    results: list[DeletableGroupResult] = group.answer(token).results
    return [(result.group_id, result.error_code) for result in results]


def test_a_stable_group_shows_what_everyone_has(group: SimGroup) -> None:
    (member,) = group.form()
    assert describe(group) == DescribedGroup(
        group_id="group",
        group_state="Stable",
        protocol_type="consumer",
        protocol_data="range",
        members=[DescribedGroupMember(member, None, "client", "/127.0.0.1", b"metadata", b"for 0")],
    )


def test_in_a_rebalance_members_have_nothing_to_show(group: SimGroup) -> None:
    member, _ = group.enter()
    described = describe(group)
    assert (described.group_state, described.protocol_data) == ("CompletingRebalance", "")
    assert described.members == [
        DescribedGroupMember(member, None, "client", "/127.0.0.1", b"", b"")
    ]


def test_a_group_that_only_stores_offsets_is_empty(group: SimGroup) -> None:
    group.commit({("t", 0): 1})
    assert describe(group) == DescribedGroup(group_id="group", group_state="Empty")


def test_an_unknown_group_is_dead_and_from_version_6_on_an_error(group: SimGroup) -> None:
    assert describe(group, version=5) == DescribedGroup(group_id="group", group_state="Dead")
    described = describe(group, version=6)
    assert (described.error_code, described.error_message) == (69, "Group group not found.")


def test_groups_are_listed_with_type_and_state(group: SimGroup) -> None:
    group.form()
    SimGroup(group.coordinator, "offsets").commit({("t", 0): 1})
    assert listed(group) == [
        ListedGroup("group", "consumer", "Stable", "classic"),
        ListedGroup("offsets", "", "Empty", "classic"),
    ]


def test_filters_choose_whatever_their_case(group: SimGroup) -> None:
    group.form()
    SimGroup(group.coordinator, "offsets").commit({("t", 0): 1})
    assert [g.group_id for g in listed(group, states_filter=["eMPty"])] == ["offsets"]
    assert [g.group_id for g in listed(group, types_filter=["Classic"])] == ["group", "offsets"]
    assert listed(group, types_filter=["consumer"]) == []
    assert listed(group, states_filter=["no such state"]) == []


def test_a_group_with_members_is_not_deleted(group: SimGroup) -> None:
    group.form()
    assert delete(group, "group", "unknown", "group") == [("group", 68), ("unknown", 69)]


def test_a_deleted_group_is_gone_with_its_offsets_for_good(group: SimGroup) -> None:
    group.commit({("t", 0): 1, ("t", 1): 2})
    assert delete(group, "group") == [("group", 0)]
    for coordinator in (group.coordinator, group.coordinator.restarted()):
        assert coordinator.shard.groups.find("group") is None
        assert coordinator.shard.offsets.of_group("group") == {}
