"""The records of streams groups (types 17 and 19-23), as Kafka 4.3 writes them.

Owns the mapping between a group's values and record messages. Pure data: what to write and what it says, not when.
Lists are sorted, so that equal states give equal bytes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from millstream.coordinator.assignors.partition_assignor import TaskId, Tasks
from millstream.coordinator.group.streams.member import (
    AssignedTasks,
    CurrentAssignment,
    MemberMetadata,
    StreamsGroupMemberState,
    UserEndpoint,
)
from millstream.coordinator.record import CoordinatorRecord
from millstream.protocol.generated import group_records as wire
from millstream.protocol.generated.group_records import (
    LastAssignmentConfig,
    StreamsGroupCurrentMemberAssignmentKey,
    StreamsGroupCurrentMemberAssignmentValue,
    StreamsGroupCurrentMemberAssignmentValueTaskIds,
    StreamsGroupMemberMetadataKey,
    StreamsGroupMemberMetadataValue,
    StreamsGroupMetadataKey,
    StreamsGroupMetadataValue,
    StreamsGroupTargetAssignmentMemberKey,
    StreamsGroupTargetAssignmentMemberValue,
    StreamsGroupTargetAssignmentMemberValueTaskIds,
    StreamsGroupTargetAssignmentMetadataKey,
    StreamsGroupTargetAssignmentMetadataValue,
    StreamsGroupTopologyKey,
    StreamsGroupTopologyValue,
)

# The group


def group_metadata_record(
    group_id: str,
    epoch: int,
    metadata_hash: int,
    validated_topology_epoch: int,
    assignment_configs: Mapping[str, str],
) -> CoordinatorRecord:
    value = StreamsGroupMetadataValue(
        epoch=epoch,
        metadata_hash=metadata_hash,
        validated_topology_epoch=validated_topology_epoch,
        last_assignment_configs=[
            LastAssignmentConfig(name, setting)
            for name, setting in sorted(assignment_configs.items())
        ],
    )
    return CoordinatorRecord(StreamsGroupMetadataKey(group_id=group_id), value)


def topology_record(group_id: str, value: StreamsGroupTopologyValue) -> CoordinatorRecord:
    return CoordinatorRecord(StreamsGroupTopologyKey(group_id=group_id), value)


def group_tombstones(group_id: str, member_ids: Iterable[str]) -> list[CoordinatorRecord]:
    """Returns the tombstones of the group in an order that keeps every prefix of it replayable."""
    members = list(member_ids)
    return [
        *(_tombstone(StreamsGroupCurrentMemberAssignmentKey(group_id, m)) for m in members),
        *(_tombstone(StreamsGroupTargetAssignmentMemberKey(group_id, m)) for m in members),
        _tombstone(StreamsGroupTargetAssignmentMetadataKey(group_id)),
        *(_tombstone(StreamsGroupMemberMetadataKey(group_id, m)) for m in members),
        _tombstone(StreamsGroupMetadataKey(group_id)),
        _tombstone(StreamsGroupTopologyKey(group_id)),
    ]


# Its members


def member_record(group_id: str, member_id: str, metadata: MemberMetadata) -> CoordinatorRecord:
    endpoint = metadata.user_endpoint
    value = StreamsGroupMemberMetadataValue(
        instance_id=None,
        rack_id=metadata.rack_id,
        client_id=metadata.client_id,
        client_host=metadata.client_host,
        rebalance_timeout_ms=metadata.rebalance_timeout_ms,
        topology_epoch=metadata.topology_epoch,
        process_id=metadata.process_id,
        user_endpoint=None if endpoint is None else wire.Endpoint(endpoint.host, endpoint.port),
        client_tags=[wire.KeyValue(k, v) for k, v in sorted(metadata.client_tags.items())],
    )
    return CoordinatorRecord(StreamsGroupMemberMetadataKey(group_id, member_id), value)


def metadata_of(value: StreamsGroupMemberMetadataValue) -> MemberMetadata:
    endpoint = value.user_endpoint
    return MemberMetadata(
        client_id=value.client_id,
        client_host=value.client_host,
        rack_id=value.rack_id,
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        topology_epoch=value.topology_epoch,
        process_id=value.process_id,
        user_endpoint=None if endpoint is None else UserEndpoint(endpoint.host, endpoint.port),
        client_tags={tag.key: tag.value for tag in value.client_tags},
    )


def member_tombstones(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    return [
        _tombstone(StreamsGroupCurrentMemberAssignmentKey(group_id, member_id)),
        _tombstone(StreamsGroupTargetAssignmentMemberKey(group_id, member_id)),
        _tombstone(StreamsGroupMemberMetadataKey(group_id, member_id)),
    ]


# Assignments


def current_assignment_record(
    group_id: str, member_id: str, current: CurrentAssignment
) -> CoordinatorRecord:
    assigned, pending = current.assigned, current.pending_revocation
    value = StreamsGroupCurrentMemberAssignmentValue(
        member_epoch=current.epoch,
        previous_member_epoch=current.previous_epoch,
        state=current.state,
        active_tasks=_held_with_epochs(assigned.active),
        standby_tasks=_held(assigned.standby),
        warmup_tasks=_held(assigned.warmup),
        active_tasks_pending_revocation=_held_with_epochs(pending.active),
        standby_tasks_pending_revocation=_held(pending.standby),
        warmup_tasks_pending_revocation=_held(pending.warmup),
    )
    return CoordinatorRecord(StreamsGroupCurrentMemberAssignmentKey(group_id, member_id), value)


def current_assignment_of(value: StreamsGroupCurrentMemberAssignmentValue) -> CurrentAssignment:
    epoch = value.member_epoch
    return CurrentAssignment(
        epoch=epoch,
        previous_epoch=value.previous_member_epoch,
        state=StreamsGroupMemberState.of(value.state),
        assigned=AssignedTasks(
            _epochs_of(value.active_tasks, epoch),
            _task_ids(value.standby_tasks),
            _task_ids(value.warmup_tasks),
        ),
        pending_revocation=AssignedTasks(
            _epochs_of(value.active_tasks_pending_revocation, epoch),
            _task_ids(value.standby_tasks_pending_revocation),
            _task_ids(value.warmup_tasks_pending_revocation),
        ),
    )


def target_assignment_record(group_id: str, member_id: str, target: Tasks) -> CoordinatorRecord:
    value = StreamsGroupTargetAssignmentMemberValue(
        active_tasks=_target(target.active),
        standby_tasks=_target(target.standby),
        warmup_tasks=_target(target.warmup),
    )
    return CoordinatorRecord(StreamsGroupTargetAssignmentMemberKey(group_id, member_id), value)


def target_assignment_of(value: StreamsGroupTargetAssignmentMemberValue) -> Tasks:
    return Tasks(
        _task_ids(value.active_tasks),
        _task_ids(value.standby_tasks),
        _task_ids(value.warmup_tasks),
    )


def target_assignment_metadata_record(
    group_id: str, epoch: int, timestamp_ms: int
) -> CoordinatorRecord:
    value = StreamsGroupTargetAssignmentMetadataValue(
        assignment_epoch=epoch, assignment_timestamp=timestamp_ms
    )
    return CoordinatorRecord(StreamsGroupTargetAssignmentMetadataKey(group_id=group_id), value)


# Lists of tasks


def by_subtopology(tasks: Iterable[TaskId]) -> list[tuple[str, list[int]]]:
    """Sorted, one entry for each sub-topology: the shape every message has."""
    partitions: defaultdict[str, list[int]] = defaultdict(list)
    for task in sorted(tasks):
        partitions[task.subtopology_id].append(task.partition)
    return list(partitions.items())


def _held(tasks: Iterable[TaskId]) -> list[StreamsGroupCurrentMemberAssignmentValueTaskIds]:
    return [
        StreamsGroupCurrentMemberAssignmentValueTaskIds(subtopology_id, partitions)
        for subtopology_id, partitions in by_subtopology(tasks)
    ]


def _held_with_epochs(
    epochs: Mapping[TaskId, int],
) -> list[StreamsGroupCurrentMemberAssignmentValueTaskIds]:
    listed = _held(epochs)
    for ids in listed:
        ids.assignment_epochs = [epochs[TaskId(ids.subtopology_id, p)] for p in ids.partitions]
    return listed


def _epochs_of(
    listed: Iterable[StreamsGroupCurrentMemberAssignmentValueTaskIds], default_epoch: int
) -> dict[TaskId, int]:
    """Records of older brokers have no epochs: their tasks count as given in the member's own."""
    epochs: dict[TaskId, int] = {}
    for ids in listed:
        given = ids.assignment_epochs
        if given is None or len(given) != len(ids.partitions):
            given = [default_epoch] * len(ids.partitions)
        for partition, epoch in zip(ids.partitions, given, strict=True):
            epochs[TaskId(ids.subtopology_id, partition)] = epoch
    return epochs


def _target(tasks: Iterable[TaskId]) -> list[StreamsGroupTargetAssignmentMemberValueTaskIds]:
    return [
        StreamsGroupTargetAssignmentMemberValueTaskIds(subtopology_id, partitions)
        for subtopology_id, partitions in by_subtopology(tasks)
    ]


def _task_ids(
    listed: Iterable[
        StreamsGroupCurrentMemberAssignmentValueTaskIds
        | StreamsGroupTargetAssignmentMemberValueTaskIds
    ],
) -> frozenset[TaskId]:
    return frozenset(TaskId(ids.subtopology_id, p) for ids in listed for p in ids.partitions)


def _tombstone(key: wire.GroupKey) -> CoordinatorRecord:
    return CoordinatorRecord(key, None)
