"""The list of groups, and the page of one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from millstream.clients.admin import (
    GroupDescription,
    GroupListing,
    GroupMemberDescription,
    Results,
)
from millstream.console.views.lag import Committed, LagRow, known_lag, lag_rows
from millstream.console.views.offsets import Offsets
from millstream.console.views.paging import Page
from millstream.errors import GroupIdNotFound, KafkaError

_DEAD = "Dead"


@dataclass(frozen=True, slots=True)
class GroupRow:
    """`member_count` is None, and `error` says why, where the group could not be described."""

    group_id: str
    state: str
    type: str
    member_count: int | None
    topics: tuple[str, ...]
    total_lag: int | None
    partitions: tuple[LagRow, ...]
    error: str | None = None


@dataclass(frozen=True, slots=True)
class GroupsView:
    page: Page
    groups: tuple[GroupRow, ...]


@dataclass(frozen=True, slots=True)
class MemberRow:
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    assignment: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GroupView:
    """With a `members_error` it is not known which member reads what: the group is of a type that
    DescribeGroups does not cover.
    """

    group_id: str
    state: str
    protocol_type: str
    assignor: str
    total_lag: int | None
    members: tuple[MemberRow, ...]
    partitions: tuple[LagRow, ...]
    members_error: str | None = None


def is_there(group: GroupDescription | KafkaError) -> bool:
    """Whether the coordinator knows the group as a classic one. Brokers before Kafka 4 call any other id dead."""
    if isinstance(group, GroupIdNotFound):
        return False
    return isinstance(group, KafkaError) or group.state != _DEAD or bool(group.members)


def listed_group(group_id: str, listings: Iterable[GroupListing]) -> GroupDescription:
    """Returns a description, out of the list, of a group that `is_there` denies (KIP-848, KIP-932).

    Raises GroupIdNotFound.
    """
    for listing in listings:
        if listing.group_id == group_id:
            return GroupDescription(group_id, listing.state, listing.protocol_type, "", [])
    raise GroupIdNotFound(f"{group_id}: {GroupIdNotFound.sentence}")


def groups_view(
    listings: Iterable[GroupListing],
    page: Page,
    descriptions: Results[str, GroupDescription],
    committed: Mapping[str, Committed | KafkaError],
    ends: Offsets,
) -> GroupsView:
    return GroupsView(
        page,
        tuple(
            _row(listing, descriptions[listing.group_id], committed[listing.group_id], ends)
            for listing in listings
        ),
    )


def group_view(
    group: GroupDescription, committed: Committed, ends: Offsets, members_error: str | None = None
) -> GroupView:
    partitions = lag_rows(group.members, committed, ends)
    return GroupView(
        group_id=group.group_id,
        state=group.state,
        protocol_type=group.protocol_type,
        assignor=group.assignor,
        total_lag=known_lag(partitions),
        members=tuple(_member(member) for member in group.members),
        partitions=partitions,
        members_error=members_error,
    )


def _row(
    listing: GroupListing,
    description: GroupDescription | KafkaError,
    committed: Committed | KafkaError,
    ends: Offsets,
) -> GroupRow:
    errors = [str(each) for each in (description, committed) if isinstance(each, KafkaError)]
    members = None if isinstance(description, KafkaError) else description.members
    partitions = lag_rows(
        members or (), {} if isinstance(committed, KafkaError) else committed, ends
    )
    return GroupRow(
        group_id=listing.group_id,
        state=listing.state if isinstance(description, KafkaError) else description.state,
        type=listing.type,
        member_count=None if members is None else len(members),
        topics=tuple(dict.fromkeys(row.topic for row in partitions)),
        total_lag=known_lag(partitions),
        partitions=partitions,
        error=errors[0] if errors else None,
    )


def _member(member: GroupMemberDescription) -> MemberRow:
    return MemberRow(
        member.member_id,
        member.group_instance_id,
        member.client_id,
        member.client_host,
        tuple(str(partition) for partition in sorted(member.assignment)),
    )
