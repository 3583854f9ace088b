"""OffsetCommit: who may commit for a group, and what is stored.

Owns the checks per state of the group. Topic names have been resolved and unknown topics answered by the handler: what
arrives here is to be stored. Works the same for groups that only store offsets (generation -1, no member id).
"""

from __future__ import annotations

from millstream.coordinator.group.classic.group import ClassicGroup
from millstream.coordinator.group.classic.sessions import restart_session
from millstream.coordinator.group.context import GroupContext
from millstream.coordinator.group.group import Committer, Group
from millstream.coordinator.group.offsets.records import NO_EXPIRY_TIMESTAMP, offset_commit_record
from millstream.coordinator.result import Caller, CoordinatorResult
from millstream.errors import (
    GroupIdNotFound,
    IllegalGeneration,
    OffsetMetadataTooLarge,
)
from millstream.protocol.generated.group_records import OffsetCommitValue
from millstream.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

_FIRST_VERSION_THAT_KNOWS_GROUP_ID_NOT_FOUND = 9
_NO_RETENTION_TIME = -1
_LATEST_TIMESTAMP = 2**63 - 1


def commit_offsets(context: GroupContext, request: OffsetCommitRequest) -> CoordinatorResult:
    """Commits offsets. Raises what every partition is refused with.

    Metadata that is too long is that partition's own error.
    """
    group = context.groups.find(request.group_id)
    if group is not None:
        group.check_may_commit(_committer(request, context.caller))
        _keep_session(context, group, request.member_id)
    elif request.generation_id_or_member_epoch >= 0:
        if context.caller.api_version >= _FIRST_VERSION_THAT_KNOWS_GROUP_ID_NOT_FOUND:
            raise GroupIdNotFound
        raise IllegalGeneration
    expire_timestamp = _expire_timestamp(context, request)
    topics = [_commit_topic(context, request, topic, expire_timestamp) for topic in request.topics]
    return context.reply(OffsetCommitResponse(topics=topics))


def _committer(request: OffsetCommitRequest, caller: Caller) -> Committer:
    return Committer(
        member_id=request.member_id,
        group_instance_id=request.group_instance_id,
        generation_or_epoch=request.generation_id_or_member_epoch,
        api_version=caller.api_version,
        partitions=[
            (topic.topic_id, partition.partition_index)
            for topic in request.topics
            for partition in topic.partitions
        ],
    )


def _keep_session(context: GroupContext, group: Group, member_id: str) -> None:
    """A commit shows that a classic member is alive, as a heartbeat does."""
    if isinstance(group, ClassicGroup) and member_id in group.members:
        restart_session(context, group, group.members[member_id])


def _expire_timestamp(context: GroupContext, request: OffsetCommitRequest) -> int:
    if request.retention_time_ms == _NO_RETENTION_TIME:
        return NO_EXPIRY_TIMESTAMP
    return min(context.now.wall_ms + request.retention_time_ms, _LATEST_TIMESTAMP)


def _commit_topic(
    context: GroupContext,
    request: OffsetCommitRequest,
    topic: OffsetCommitRequestTopic,
    expire_timestamp: int,
) -> OffsetCommitResponseTopic:
    partitions = []
    for partition in topic.partitions:
        metadata = partition.committed_metadata or ""
        if len(metadata) > context.config.offset_metadata_max_bytes:
            error_code = OffsetMetadataTooLarge.code
        else:
            error_code = 0
            value = _value(topic, partition, expire_timestamp, context.now.wall_ms)
            index = partition.partition_index
            record = offset_commit_record(request.group_id, topic.name, index, value)
            context.result.records.append(record)
        partitions.append(OffsetCommitResponsePartition(partition.partition_index, error_code))
    return OffsetCommitResponseTopic(topic.name, topic.topic_id, partitions)


def _value(
    topic: OffsetCommitRequestTopic,
    partition: OffsetCommitRequestPartition,
    expire_timestamp: int,
    commit_timestamp: int,
) -> OffsetCommitValue:
    return OffsetCommitValue(
        offset=partition.committed_offset,
        leader_epoch=partition.committed_leader_epoch,
        metadata=partition.committed_metadata or "",
        commit_timestamp=commit_timestamp,
        expire_timestamp=expire_timestamp,
        topic_id=topic.topic_id,
    )
