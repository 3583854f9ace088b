from __future__ import annotations

import pytest

from millstream.clients import OffsetAndMetadata, OffsetAndTimestamp
from millstream.clients.admin import (
    GroupDescription,
    GroupListing,
    GroupMemberDescription,
    Results,
)
from millstream.console.views.groups import (
    GroupRow,
    group_view,
    groups_view,
    is_there,
    listed_group,
)
from millstream.console.views.lag import LagRow, known_lag, lag_rows
from millstream.console.views.paging import Page
from millstream.errors import CoordinatorNotAvailable, GroupIdNotFound, UnknownTopicOrPartition
from millstream.model import TopicPartition

ZERO, ONE, TWO = (TopicPartition("flights", number) for number in range(3))
MEMBER = GroupMemberDescription("member-1", None, "report", "/10.0.0.1", [ONE, ZERO])
GROUP = GroupDescription("delays", "Stable", "consumer", "range", [MEMBER])
ENDS = {ZERO: OffsetAndTimestamp(10, -1), ONE: OffsetAndTimestamp(4, -1)}


def test_lag_is_the_end_minus_what_is_committed() -> None:
    assert lag_rows([MEMBER], {ZERO: OffsetAndMetadata(7)}, ENDS)[0] == LagRow(
        "flights", 0, 7, 10, 3, "member-1", "report"
    )


def test_a_partition_without_a_commit_is_shown_without_a_lag() -> None:
    assert lag_rows([MEMBER], {}, ENDS)[1] == LagRow(
        "flights", 1, None, 4, None, "member-1", "report"
    )


def test_a_commit_of_a_deleted_partition_is_shown_without_a_lag() -> None:
    assert lag_rows([], {TWO: OffsetAndMetadata(7)}, {}) == (
        LagRow("flights", 2, 7, None, None, None, None),
    )


def test_lag_is_never_negative() -> None:
    """A commit may be newer than the end that was asked for before it."""
    assert lag_rows([], {ONE: OffsetAndMetadata(9)}, ENDS)[0].lag == 0


def test_a_partition_that_failed_to_say_its_commit_has_no_lag() -> None:
    row = lag_rows([], {ONE: UnknownTopicOrPartition()}, ENDS)[0]
    assert (row.committed_offset, row.lag) == (None, None)


def test_the_total_is_the_sum_of_what_is_known() -> None:
    rows = lag_rows([MEMBER], {ZERO: OffsetAndMetadata(7)}, ENDS)
    assert known_lag(rows) == 3
    assert known_lag(rows[1:]) is None


def test_one_group_shows_members_and_partitions() -> None:
    view = group_view(GROUP, {ZERO: OffsetAndMetadata(7), ONE: OffsetAndMetadata(4)}, ENDS)
    assert view.total_lag == 3
    assert view.members[0].assignment == ("flights-0", "flights-1")


def test_a_group_that_cannot_be_described_keeps_its_place_in_the_list() -> None:
    listing = GroupListing("delays", "consumer", "Stable", "classic")
    view = groups_view(
        [listing],
        Page("", 1, 1, 1),
        Results({"delays": CoordinatorNotAvailable("not now")}),
        {"delays": {ONE: OffsetAndMetadata(1)}},
        ENDS,
    )
    row = LagRow("flights", 1, 1, 4, 3, None, None)
    assert view.groups == (
        GroupRow("delays", "Stable", "classic", None, ("flights",), 3, (row,), "not now"),
    )


def test_a_group_is_there_unless_its_coordinator_denies_it() -> None:
    """DescribeGroups 6+ (KIP-1043) answers GROUP_ID_NOT_FOUND, earlier versions a dead group without members."""
    assert is_there(GROUP)
    assert is_there(CoordinatorNotAvailable())
    assert not is_there(GroupIdNotFound())
    assert not is_there(GROUP._replace(state="Dead", members=[]))


def test_a_group_of_another_protocol_is_shown_as_the_list_has_it() -> None:
    """KIP-848 groups are listed, and DescribeGroups does not know them."""
    listing = GroupListing("new", "consumer", "Stable", "consumer")
    group = listed_group("new", [listing])
    assert group == GroupDescription("new", "Stable", "consumer", "", [])
    view = group_view(group, {ZERO: OffsetAndMetadata(7)}, ENDS, "new: not a classic group")
    assert (view.total_lag, view.members_error) == (3, "new: not a classic group")


def test_a_group_that_nobody_lists_is_not_found() -> None:
    with pytest.raises(GroupIdNotFound, match="nosuch: The group does not exist"):
        listed_group("nosuch", [])
