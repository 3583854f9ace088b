"""TxnOffsetCommit: offsets that count when the transaction of their producer is committed.

Owns who may commit them and how they are written. What becomes of them at the end of the transaction is the offset
store's business; whether the transaction is open, the caller's. The records say of which topic the offsets are, which
those of Kafka 4.3 do not: an offset that outlives its topic is known by it.
"""

from __future__ import annotations

from millstream.coordinator.group.context import GroupContext, TransactionalCommit
from millstream.coordinator.group.group import Committer
from millstream.coordinator.group.groups import Groups
from millstream.coordinator.group.offsets.records import NO_EXPIRY_TIMESTAMP, offset_commit_record
from millstream.coordinator.result import Caller, CoordinatorResult
from millstream.errors import (
    IllegalGeneration,
    OffsetMetadataTooLarge,
    StaleMemberEpoch,
    UnknownTopicOrPartition,
)
from millstream.model import ProducerId, Uuid
from millstream.protocol.generated.group_records import OffsetCommitValue
from millstream.protocol.generated.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)


def commit_transactional_offsets(
    context: GroupContext, request: TransactionalCommit
) -> CoordinatorResult:
    """Commits offsets that count once their transaction is committed.

    Raises what every partition is refused with. Metadata that is too long, and a topic that was deleted while the
    commit was on its way, are the partition's own errors.
    """
    commit = request.commit
    _check_may_commit(context.groups, commit, context.caller)
    topics = []
    for topic in commit.topics:
        topic_id = request.topic_ids[topic.name]
        codes = [
            _commit_partition(context, commit, (topic.name, topic_id), each)
            for each in topic.partitions
        ]
        topics.append(TxnOffsetCommitResponseTopic(topic.name, codes))
    return context.reply(TxnOffsetCommitResponse(topics=topics))


def _check_may_commit(groups: Groups, request: TxnOffsetCommitRequest, caller: Caller) -> None:
    """Producers know no member epochs: a stale one is told as a generation that has passed."""
    group = groups.find(request.group_id)
    if group is None:
        if request.generation_id >= 0:
            raise IllegalGeneration
        return
    committer = Committer(
        member_id=request.member_id,
        group_instance_id=request.group_instance_id,
        generation_or_epoch=request.generation_id,
        api_version=caller.api_version,
        is_transactional=True,
    )
    try:
        group.check_may_commit(committer)
    except StaleMemberEpoch as error:
        raise IllegalGeneration(str(error)) from error


def _commit_partition(
    context: GroupContext,
    request: TxnOffsetCommitRequest,
    topic: tuple[str, Uuid],
    partition: TxnOffsetCommitRequestPartition,
) -> TxnOffsetCommitResponsePartition:
    name, topic_id = topic
    index, metadata = partition.partition_index, partition.committed_metadata or ""
    if context.image.topic_by_id(topic_id) is None:
        return TxnOffsetCommitResponsePartition(index, UnknownTopicOrPartition.code)
    if len(metadata) > context.config.offset_metadata_max_bytes:
        return TxnOffsetCommitResponsePartition(index, OffsetMetadataTooLarge.code)
    value = OffsetCommitValue(
        offset=partition.committed_offset,
        leader_epoch=partition.committed_leader_epoch,
        metadata=metadata,
        commit_timestamp=context.now.wall_ms,
        expire_timestamp=NO_EXPIRY_TIMESTAMP,
        topic_id=topic_id,
    )
    record = offset_commit_record(request.group_id, name, index, value)
    context.result.records.append(
        record.in_transaction(ProducerId(request.producer_id), request.producer_epoch)
    )
    return TxnOffsetCommitResponsePartition(index, 0)
