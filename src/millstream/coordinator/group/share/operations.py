"""What can be asked of the share groups of a shard: one operation each, found by the type of the request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, assert_never

from millstream.coordinator.assignors.partition_assignor import Partitions
from millstream.coordinator.group.context import OperationContext
from millstream.coordinator.group.groups import Groups
from millstream.coordinator.group.share import describe, heartbeat, initialization, offsets, removal
from millstream.coordinator.group.share.group import ShareGroup
from millstream.coordinator.result import Caller
from millstream.model import Uuid
from millstream.protocol.generated.alter_share_group_offsets import AlterShareGroupOffsetsRequest
from millstream.protocol.generated.delete_share_group_offsets import DeleteShareGroupOffsetsRequest
from millstream.protocol.generated.share_group_describe import (
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)
from millstream.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest


@dataclass(frozen=True, slots=True)
class PartitionsInitialized:
    """The share coordinator has the state of these partitions. Answered with None."""

    group_id: str
    partitions: Partitions


@dataclass(frozen=True, slots=True)
class PartitionsNotInitialized:
    """The share coordinator has refused. Answered with None."""

    group_id: str
    partitions: Partitions


@dataclass(frozen=True, slots=True)
class InitializedPartitions:
    """Which partitions have share state? Answered with `Partitions`; a group that does not exist has none."""

    group_id: str


@dataclass(frozen=True, slots=True)
class DeleteGroupState:
    """The group is about to be deleted. Answered with `offsets.Deletion`."""

    group_id: str


@dataclass(frozen=True, slots=True)
class OffsetsDeleted:
    """The share coordinator has forgotten these topics. Answered with None."""

    group_id: str
    topic_ids: frozenset[Uuid]


ShareGroupRequest: TypeAlias = (
    ShareGroupHeartbeatRequest
    | ShareGroupDescribeRequest
    | AlterShareGroupOffsetsRequest
    | DeleteShareGroupOffsetsRequest
    | PartitionsInitialized
    | PartitionsNotInitialized
    | InitializedPartitions
    | DeleteGroupState
    | OffsetsDeleted
)


def handle(
    groups: Groups, request: ShareGroupRequest, caller: Caller, context: OperationContext
) -> None:
    """Raises what the request is refused with."""
    if isinstance(request, ShareGroupHeartbeatRequest):
        heartbeat.heartbeat(groups, request, caller, context)
    else:
        context.result.reply(caller.token, _answer(groups, request, context))


def _answer(groups: Groups, request: ShareGroupRequest, context: OperationContext) -> object:
    match request:
        case ShareGroupDescribeRequest():
            described = [
                describe.describe_group(groups, group_id, context) for group_id in request.group_ids
            ]
            return ShareGroupDescribeResponse(groups=described)
        case AlterShareGroupOffsetsRequest():
            return offsets.alter_offsets(groups, request, context)
        case DeleteShareGroupOffsetsRequest():
            return offsets.begin_deletion_of_offsets(groups, request, context)
        case DeleteGroupState(group_id):
            return offsets.begin_deletion_of_group(groups, group_id, context)
        case OffsetsDeleted(group_id, topic_ids):
            offsets.finish_deletion_of_offsets(groups, group_id, topic_ids, context)
            return None
        case InitializedPartitions(group_id):
            group = groups.find(group_id)
            return group.state_partitions.initialized if isinstance(group, ShareGroup) else {}
        case PartitionsInitialized(group_id, partitions):
            group = groups.find(group_id)
            if isinstance(group, ShareGroup):
                initialization.finish_initialization(group, partitions, context)
            return None
        case PartitionsNotInitialized(group_id, partitions):
            group = groups.find(group_id)
            if isinstance(group, ShareGroup):
                initialization.abandon_initialization(group, partitions, context)
            return None
        case ShareGroupHeartbeatRequest():
            raise AssertionError("heartbeats are not answered here")
        case unknown:
            assert_never(unknown)


def begin_sessions(groups: Groups, context: OperationContext) -> None:
    """The shard has been loaded: a stored member is taken as alive and has a whole session to show itself."""
    for group in groups.of_kind(ShareGroup):
        for member_id in group.members:
            removal.restart_session(group.group_id, member_id, context)


def forget_deleted_topics(groups: Groups, context: OperationContext) -> None:
    for group in groups.of_kind(ShareGroup):
        initialization.forget_deleted_topics(group, context)
