"""Initialises, reads, writes and deletes share states for the brokers that lead the partitions (KIP-932).

Partitions that have not been written for long get a new snapshot, so that what lies before it can be pruned.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from millstream.coordinator.record import CoordinatorRecord
from millstream.coordinator.result import CoordinatorResult
from millstream.coordinator.share.context import (
    DeleteState,
    FirstNeededOffset,
    InitializeState,
    ReadState,
    ReadStateSummary,
    ShareContext,
    TopicIdsDeleted,
    WriteState,
)
from millstream.coordinator.share.state import (
    NO_COUNT,
    NO_EPOCH,
    SharePartitionKey,
    ShareState,
    StateChange,
    snapshot_record,
    tombstone_record,
    update_record,
)
from millstream.coordinator.share.state_batch import NO_START_OFFSET
from millstream.errors import (
    FencedLeaderEpoch,
    FencedStateEpoch,
    InvalidRequest,
    UnknownTopicOrPartition,
)

UNINITIALIZED: Final = ShareState(
    snapshot_epoch=0,
    state_epoch=0,
    leader_epoch=0,
    start_offset=NO_START_OFFSET,
    delivery_complete_count=NO_COUNT,
    created_ms=-1,
    written_ms=-1,
)
"""The summary of a partition that no share group has read."""


def initialize_state(context: ShareContext, request: InitializeState) -> CoordinatorResult:
    """A share group starts to read a partition, or starts again from another offset: whatever was known is replaced."""
    _check_partition_number(request.key)
    current = context.states.find(request.key)
    if current is not None:
        _check_state_epoch(current, request.state_epoch)
    _check_exists(context, request.key)
    has_start = request.start_offset != NO_START_OFFSET
    state = ShareState(
        snapshot_epoch=0 if current is None else current.snapshot_epoch + 1,
        state_epoch=request.state_epoch,
        leader_epoch=0,
        start_offset=request.start_offset,
        delivery_complete_count=0 if has_start else NO_COUNT,
        created_ms=context.now.wall_ms,
        written_ms=context.now.wall_ms,
    )
    context.result.records.append(snapshot_record(request.key, state))
    return context.reply(None)


def read_state(context: ShareContext, request: ReadState) -> CoordinatorResult:
    """Returns the state, for the leader of the partition. A leader of a new epoch fences those before it."""
    _check_partition_number(request.key)
    state = context.states.find(request.key)
    if state is None:
        raise InvalidRequest("Read operation on uninitialized share partition not allowed.")
    _check_leader_epoch(state, request.leader_epoch)
    _check_exists(context, request.key)
    if request.leader_epoch not in (NO_EPOCH, state.leader_epoch):
        change = StateChange(
            request.leader_epoch, state.start_offset, state.delivery_complete_count
        )
        context.result.records.append(_change_record(context, request.key, state, change))
    return context.reply(state)


def write_state(context: ShareContext, request: WriteState) -> CoordinatorResult:
    _check_partition_number(request.key)
    state = context.states.find(request.key)
    if state is None:
        raise InvalidRequest("Write operation on uninitialized share partition not allowed.")
    _check_leader_epoch(state, request.change.leader_epoch)
    _check_state_epoch(state, request.state_epoch)
    _check_exists(context, request.key)
    change = _never_back(replace(request.change, leader_epoch=state.leader_epoch), state)
    context.result.records.append(_change_record(context, request.key, state, change))
    return context.reply(None)


def _never_back(change: StateChange, state: ShareState) -> StateChange:
    """Returns a change that keeps the start offset where it is, or moves it on.

    A leader may have given a write up that comes nevertheless: behind those of the same leader, which has read the
    state again meanwhile. With its start offset, what was finished since would be given out again (Kafka 4.3 does).
    """
    if not NO_START_OFFSET < change.start_offset < state.start_offset:
        return change
    count = state.delivery_complete_count
    return replace(change, start_offset=state.start_offset, delivery_complete_count=count)


def delete_state(context: ShareContext, request: DeleteState) -> CoordinatorResult:
    """Deletes state. State that is not there is deleted already."""
    _check_partition_number(request.key)
    _check_exists(context, request.key)
    if context.states.find(request.key) is not None:
        context.result.records.append(tombstone_record(request.key))
    return context.reply(None)


def read_state_summary(context: ShareContext, request: ReadStateSummary) -> CoordinatorResult:
    """Returns the progress of the group, for administrators."""
    _check_partition_number(request.key)
    _check_exists(context, request.key)
    return context.reply(context.states.find(request.key) or UNINITIALIZED)


def first_needed_offset(context: ShareContext, request: FirstNeededOffset) -> CoordinatorResult:
    del request
    return context.reply(context.states.first_needed_offset)


def forget_topics(context: ShareContext, request: TopicIdsDeleted) -> CoordinatorResult:
    context.result.records += [
        tombstone_record(key)
        for key, _ in context.states.items()
        if key.topic_id in request.topic_ids
    ]
    return context.reply(None)


def _change_record(
    context: ShareContext, key: SharePartitionKey, state: ShareState, change: StateChange
) -> CoordinatorRecord:
    """An update, or a snapshot when enough of them have gathered."""
    updates_max = context.config.snapshot_update_records_per_snapshot
    if context.states.updates_since_snapshot(key) < updates_max:
        return update_record(key, state.snapshot_epoch, change)
    snapshot = replace(
        state.changed(change),
        snapshot_epoch=state.snapshot_epoch + 1,
        created_ms=context.now.wall_ms,
        written_ms=context.now.wall_ms,
    )
    return snapshot_record(key, snapshot)


def _check_partition_number(key: SharePartitionKey) -> None:
    if key.partition < 0:
        raise InvalidRequest("The partition id cannot be a negative number.")


def _check_exists(context: ShareContext, key: SharePartitionKey) -> None:
    topic = context.image.topic_by_id(key.topic_id)
    if topic is None or key.partition >= len(topic.partitions):
        raise UnknownTopicOrPartition


def _check_leader_epoch(state: ShareState, leader_epoch: int) -> None:
    if leader_epoch != NO_EPOCH and leader_epoch < state.leader_epoch:
        raise FencedLeaderEpoch


def _check_state_epoch(state: ShareState, state_epoch: int) -> None:
    if state_epoch != NO_EPOCH and state_epoch < state.state_epoch:
        raise FencedStateEpoch


# Cold partitions

COLD_SNAPSHOTS: Final = "cold partitions"
"""The key of the timer."""


def start_cold_snapshot_timer(context: ShareContext) -> None:
    context.start_timer(COLD_SNAPSHOTS, context.config.cold_partition_snapshot_interval_ms)


def take_cold_snapshots(context: ShareContext) -> None:
    """The timer has fired: takes the snapshots, and starts it again."""
    now_ms = context.now.wall_ms
    written_before_ms = now_ms - context.config.cold_partition_snapshot_interval_ms
    if any(not state.is_cold for _, state in context.states.items()):
        context.result.records += [
            snapshot_record(
                key, replace(state, snapshot_epoch=state.snapshot_epoch + 1, written_ms=now_ms)
            )
            for key, state in context.states.items()
            if state.written_ms <= written_before_ms
        ]
    start_cold_snapshot_timer(context)
