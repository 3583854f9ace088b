"""Who sent a heartbeat: the group it belongs to, the member it comes from, and what the member says of itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from millstream.coordinator.group.group import GroupKind
from millstream.coordinator.group.groups import Groups
from millstream.coordinator.group.streams.beat import Beat
from millstream.coordinator.group.streams.group import StreamsGroup
from millstream.coordinator.group.streams.member import Endpoint, MemberMetadata, StreamsMember
from millstream.errors import FencedMemberEpoch, GroupIdNotFound, GroupMaxSizeReached

_NOT_GIVEN: Final = -1


def joined_group(beat: Beat, groups: Groups) -> StreamsGroup:
    """The group to work on. One that is not among `groups` yet comes to be with its records.

    An empty classic group gives way: its offsets stay, as an application that changes its protocol expects.
    """
    group_id = beat.request.group_id
    existing = groups.find(group_id)
    if isinstance(existing, StreamsGroup):
        if beat.is_join and len(existing.members) >= beat.settings.max_size:
            raise GroupMaxSizeReached(
                "The streams group has reached its maximum capacity of "
                f"{beat.settings.max_size} members."
            )
        return existing
    if beat.is_join and existing is None:
        return StreamsGroup(group_id)
    if existing is None:
        raise GroupIdNotFound(f"Streams group {group_id} not found.")
    if beat.is_join and existing.kind is GroupKind.CLASSIC and existing.is_unused:
        beat.context.result.records += existing.tombstones()
        return StreamsGroup(group_id)
    raise GroupIdNotFound(f"Group {group_id} is not a streams group.")


def known_member(beat: Beat, group: StreamsGroup) -> StreamsMember:
    member_id = beat.request.member_id
    if beat.is_join:
        return group.members.get(member_id) or StreamsMember(member_id)
    member = group.member(member_id)
    _check_epoch(beat, member)
    return member


def _check_epoch(beat: Beat, member: StreamsMember) -> None:
    """A member that missed the answer to its last heartbeat may be one epoch behind, if it holds nothing it should not."""
    received, known, owned = beat.request.member_epoch, member.epoch, beat.owned
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


def updated_metadata(known: MemberMetadata, beat: Beat) -> MemberMetadata:
    """What a heartbeat leaves out stays as it was."""
    request, caller = beat.request, beat.caller
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
        endpoint = Endpoint(request.user_endpoint.host, request.user_endpoint.port)
        updated = replace(updated, user_endpoint=endpoint)
    return updated
