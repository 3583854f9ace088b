"""The sender of a heartbeat: its group, its member, and what the member says of itself."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from millstream.coordinator.assignors.partition_assignor import Tasks
from millstream.coordinator.group.context import GroupContext
from millstream.coordinator.group.group import GroupKind
from millstream.coordinator.group.streams.group import StreamsGroup
from millstream.coordinator.group.streams.member import (
    JOIN_EPOCH,
    MemberMetadata,
    StreamsGroupMember,
    UserEndpoint,
)
from millstream.errors import FencedMemberEpoch, GroupIdNotFound, GroupMaxSizeReached
from millstream.protocol.enums import StreamsGroupStatus
from millstream.protocol.generated.streams_group_heartbeat import (
    Status,
    StreamsGroupHeartbeatRequest,
)

_NOT_GIVEN: Final = -1


@dataclass(slots=True)
class Heartbeat:
    """One request of a member that joins or stays, and what it will be told besides its tasks."""

    context: GroupContext
    request: StreamsGroupHeartbeatRequest
    owned: Tasks | None
    """What the member says it holds; None when it says nothing new."""
    statuses: list[Status] = field(default_factory=list)

    @property
    def is_join(self) -> bool:
        return self.request.member_epoch == JOIN_EPOCH

    def tell(self, code: StreamsGroupStatus, detail: str) -> None:
        """Adds a status for the member. It is not an error: the member is served, and learns what is in its way."""
        self.statuses.append(Status(code, detail))


def joined_group(heartbeat: Heartbeat) -> StreamsGroup:
    """Returns the group to work on. One that is not among `groups` yet comes to be with its records.

    An empty classic group gives way: its offsets stay, as an application that changes its protocol expects.
    """
    group_id = heartbeat.request.group_id
    existing = heartbeat.context.groups.find(group_id)
    if isinstance(existing, StreamsGroup):
        size_max = heartbeat.context.config.streams.max_size
        if heartbeat.is_join and len(existing.members) >= size_max:
            raise GroupMaxSizeReached(
                f"The streams group has reached its maximum capacity of {size_max} members."
            )
        return existing
    if heartbeat.is_join and existing is None:
        return StreamsGroup(group_id)
    if existing is None:
        raise GroupIdNotFound(f"Streams group {group_id} not found.")
    if heartbeat.is_join and existing.kind is GroupKind.CLASSIC and existing.is_unused:
        heartbeat.context.result.records += existing.tombstones()
        return StreamsGroup(group_id)
    raise GroupIdNotFound(f"Group {group_id} is not a streams group.")


def known_member(heartbeat: Heartbeat, group: StreamsGroup) -> StreamsGroupMember:
    member_id = heartbeat.request.member_id
    if heartbeat.is_join:
        return group.members.get(member_id) or StreamsGroupMember(member_id)
    member = group.member(member_id)
    _check_epoch(heartbeat, member)
    return member


def _check_epoch(heartbeat: Heartbeat, member: StreamsGroupMember) -> None:
    """A member that missed the answer to its last heartbeat may be one epoch behind, if it holds
    nothing it should not.
    """
    received, known, owned = heartbeat.request.member_epoch, member.epoch, heartbeat.owned
    is_behind_by_one_answer = (
        received == member.current.previous_epoch
        and owned is not None
        and member.current.assigned.contains(owned)
    )
    if received > known or (received < known and not is_behind_by_one_answer):
        size = "greater" if received > known else "smaller"
        raise FencedMemberEpoch(
            f"The streams group member has a {size} member epoch ({received}) than the one known by "
            f"the group coordinator ({known}). The member must abandon all its partitions and rejoin."
        )


def updated_metadata(known: MemberMetadata, heartbeat: Heartbeat) -> MemberMetadata:
    """Returns the metadata with the fields that the heartbeat sets; the others stay as they were."""
    request, caller = heartbeat.request, heartbeat.context.caller
    updated = replace(known, client_id=caller.client_id, client_host=caller.client_host)
    if request.rack_id is not None:
        updated = replace(updated, rack_id=request.rack_id)
    if request.rebalance_timeout_ms != _NOT_GIVEN:
        updated = replace(updated, rebalance_timeout_ms=request.rebalance_timeout_ms)
    if request.topology is not None:
        updated = replace(updated, topology_epoch=request.topology.epoch)
    if request.process_id is not None:
        updated = replace(updated, process_id=request.process_id)
    if request.client_tags is not None:
        tags = {tag.key: tag.value for tag in request.client_tags}
        updated = replace(updated, client_tags=tags)
    if request.user_endpoint is not None:
        endpoint = UserEndpoint(request.user_endpoint.host, request.user_endpoint.port)
        updated = replace(updated, user_endpoint=endpoint)
    return updated
