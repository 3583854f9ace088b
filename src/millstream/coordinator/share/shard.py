"""The share coordinator of one `__share_group_state` partition: the front of everything in this package.

Keeps what share groups have done with partitions, for the brokers that lead these. Handlers decide and change nothing; `replay`
alone does. The edge asks for one share partition at a time and turns a KafkaError into that partition's error.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Final

from millstream.coordinator.record import CoordinatorRecord
from millstream.coordinator.result import Caller, CoordinatorResult, TimerKey
from millstream.coordinator.share.config import ShareCoordinatorConfig
from millstream.coordinator.share.redundant_offsets import RedundantOffsets
from millstream.coordinator.share.state import (
    NO_COUNT,
    NO_EPOCH,
    SharePartitionKey,
    ShareState,
    StateChange,
    change_of,
    snapshot_record,
    state_of,
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
from millstream.metadata.image import MetadataImage
from millstream.model import Offset, ProducerId, Uuid
from millstream.protocol.generated.share_records import (
    ShareSnapshotKey,
    ShareSnapshotValue,
    ShareUpdateKey,
    ShareUpdateValue,
)
from millstream.runtime import Instant

_COLD_TIMER: Final = "cold partitions"


@dataclass(frozen=True, slots=True)
class InitializeState:
    key: SharePartitionKey
    state_epoch: int
    start_offset: int
    """-1: the first leader that reads the state decides."""


@dataclass(frozen=True, slots=True)
class ReadState:
    key: SharePartitionKey
    leader_epoch: int
    """-1: the asker does not lead the partition."""


@dataclass(frozen=True, slots=True)
class WriteState:
    key: SharePartitionKey
    state_epoch: int
    change: StateChange


@dataclass(frozen=True, slots=True)
class DeleteState:
    key: SharePartitionKey


RANGES_AT_ONCE: Final = 1_000
"""Of a share partition: kept, said or told in some milliseconds."""
UNINITIALIZED: Final = ShareState(
    snapshot_epoch=0,
    state_epoch=0,
    leader_epoch=0,
    start_offset=NO_START_OFFSET,
    delivery_complete_count=NO_COUNT,
    created_ms=-1,
    written_ms=-1,
)
"""What a summary says of a partition that no share group has read."""


class ShareShard:
    """Satisfies `coordinator.runtime.Shard`. A KafkaError raised by a handler is the answer; nothing has changed then."""

    def __init__(self, config: ShareCoordinatorConfig) -> None:
        self._config = config
        self._image = MetadataImage()
        self._states: dict[SharePartitionKey, ShareState] = {}
        self._updates: dict[SharePartitionKey, int] = {}
        """Since the last snapshot."""
        self._redundant = RedundantOffsets()

    def apply_image(self, image: MetadataImage) -> None:
        """Comes with every new image, before anything that happens after it."""
        self._image = image

    def state(self, key: SharePartitionKey) -> ShareState | None:
        return self._states.get(key)

    @property
    def first_needed_offset(self) -> int:
        """Below it the log may be deleted."""
        return self._redundant.first_needed()

    # --- requests

    def handle_initialize(
        self, request: InitializeState, caller: Caller, now: Instant
    ) -> CoordinatorResult:
        """A share group starts to read a partition, or starts again from another offset: whatever was known is replaced."""
        self._check_partition_number(request.key)
        current = self._states.get(request.key)
        if current is not None:
            _check_state_epoch(current, request.state_epoch)
        self._check_exists(request.key)
        has_start = request.start_offset != NO_START_OFFSET
        state = ShareState(
            snapshot_epoch=0 if current is None else current.snapshot_epoch + 1,
            state_epoch=request.state_epoch,
            leader_epoch=0,
            start_offset=request.start_offset,
            delivery_complete_count=0 if has_start else NO_COUNT,
            created_ms=now.wall_ms,
            written_ms=now.wall_ms,
        )
        result = CoordinatorResult([snapshot_record(request.key, state)])
        result.reply(caller.token, None)
        return result

    def handle_read(self, request: ReadState, caller: Caller, now: Instant) -> CoordinatorResult:
        """The state, for the leader of the partition. A leader of a new epoch fences those before it."""
        self._check_partition_number(request.key)
        state = self._states.get(request.key)
        if state is None:
            raise InvalidRequest("Read operation on uninitialized share partition not allowed.")
        _check_leader_epoch(state, request.leader_epoch)
        self._check_exists(request.key)
        result = CoordinatorResult()
        if request.leader_epoch not in (NO_EPOCH, state.leader_epoch):
            change = StateChange(
                request.leader_epoch, state.start_offset, state.delivery_complete_count
            )
            result.records.append(self._change_record(request.key, state, change, now))
        result.reply(caller.token, state)
        return result

    def handle_write(self, request: WriteState, caller: Caller, now: Instant) -> CoordinatorResult:
        self._check_partition_number(request.key)
        state = self._states.get(request.key)
        if state is None:
            raise InvalidRequest("Write operation on uninitialized share partition not allowed.")
        _check_leader_epoch(state, request.change.leader_epoch)
        _check_state_epoch(state, request.state_epoch)
        self._check_exists(request.key)
        change = replace(request.change, leader_epoch=state.leader_epoch)
        result = CoordinatorResult([self._change_record(request.key, state, change, now)])
        result.reply(caller.token, None)
        return result

    def handle_delete(
        self, request: DeleteState, caller: Caller, now: Instant
    ) -> CoordinatorResult:
        """Deletes the state; state that is not there is deleted already."""
        del now
        self._check_partition_number(request.key)
        self._check_exists(request.key)
        result = CoordinatorResult()
        if request.key in self._states:
            result.records.append(tombstone_record(request.key))
        result.reply(caller.token, None)
        return result

    def handle_read_summary(
        self, request: ReadState, caller: Caller, now: Instant
    ) -> CoordinatorResult:
        """Where the group stands, for administrators."""
        del now
        self._check_partition_number(request.key)
        self._check_exists(request.key)
        result = CoordinatorResult()
        result.reply(caller.token, self._states.get(request.key, UNINITIALIZED))
        return result

    def handle_topics_deleted(
        self, topic_ids: Collection[Uuid], caller: Caller, now: Instant
    ) -> CoordinatorResult:
        del now
        result = CoordinatorResult(
            [tombstone_record(key) for key in self._states if key.topic_id in topic_ids]
        )
        result.reply(caller.token, None)
        return result

    # --- what the runtime asks for

    def handle_loaded(self, now: Instant) -> CoordinatorResult:
        result = CoordinatorResult()
        self._start_cold_timer(result, now)
        return result

    def handle_timer(self, key: TimerKey, now: Instant) -> CoordinatorResult:
        """Partitions that have not been written for long get a new snapshot, so that what lies before it can be pruned."""
        assert key == _COLD_TIMER, "a timer of another shard"
        result = CoordinatorResult()
        if any(not state.is_cold for state in self._states.values()):
            result.records += self._cold_snapshots(now)
        self._start_cold_timer(result, now)
        return result

    def takes_long(self, asked: object) -> bool:
        """Ranges are put over each other, written and read again; all partitions may get a snapshot."""
        match asked:
            case WriteState():
                ranges = len(asked.change.batches) + self._range_count(asked.key)
            case ReadState() | InitializeState():
                ranges = self._range_count(asked.key)
            case _:
                return asked == _COLD_TIMER
        return ranges > RANGES_AT_ONCE

    def _range_count(self, key: SharePartitionKey) -> int:
        state = self._states.get(key)
        return 0 if state is None else len(state.batches)

    def handle_append_failed(self, failed: CoordinatorResult, now: Instant) -> CoordinatorResult:
        """There is no soft state."""
        del failed, now
        return CoordinatorResult()

    # --- hard state

    def replay(self, offset: Offset, record: CoordinatorRecord) -> None:
        match record.key, record.value:
            case ShareSnapshotKey() as key, None:
                self._forget(_key_of(key), offset)
            case ShareSnapshotKey() as key, ShareSnapshotValue() as value:
                self._put_snapshot(_key_of(key), state_of(value), offset)
            case ShareUpdateKey() as key, ShareUpdateValue() as value:
                self._put_update(_key_of(key), change_of(value))
            case _:
                pass

    def transaction_size(self, producer_id: ProducerId) -> int:
        """Nobody writes share state in a transaction."""
        del producer_id
        return 0

    def replay_end_transaction(self, producer_id: ProducerId, *, committed: bool) -> None:
        """Share state is never written in a transaction."""

    def _forget(self, key: SharePartitionKey, offset: int) -> None:
        self._states.pop(key, None)
        self._updates.pop(key, None)
        self._redundant.deleted_at(key, offset)

    def _put_snapshot(self, key: SharePartitionKey, state: ShareState, offset: int) -> None:
        self._states[key] = state
        self._updates[key] = 0
        self._redundant.snapshot_at(key, offset)

    def _put_update(self, key: SharePartitionKey, change: StateChange) -> None:
        """An update whose snapshot has been pruned belongs to a partition that was deleted since."""
        state = self._states.get(key)
        if state is not None:
            self._states[key] = state.changed(change)
            self._updates[key] += 1

    # --- rules

    def _change_record(
        self, key: SharePartitionKey, state: ShareState, change: StateChange, now: Instant
    ) -> CoordinatorRecord:
        """An update, or a snapshot when enough of them have gathered."""
        if self._updates[key] < self._config.snapshot_update_records_per_snapshot:
            return update_record(key, state.snapshot_epoch, change)
        snapshot = replace(
            state.changed(change),
            snapshot_epoch=state.snapshot_epoch + 1,
            created_ms=now.wall_ms,
            written_ms=now.wall_ms,
        )
        return snapshot_record(key, snapshot)

    def _cold_snapshots(self, now: Instant) -> list[CoordinatorRecord]:
        written_before_ms = now.wall_ms - self._config.cold_partition_snapshot_interval_ms
        return [
            snapshot_record(
                key,
                replace(state, snapshot_epoch=state.snapshot_epoch + 1, written_ms=now.wall_ms),
            )
            for key, state in self._states.items()
            if state.written_ms <= written_before_ms
        ]

    def _start_cold_timer(self, result: CoordinatorResult, now: Instant) -> None:
        interval_ms = self._config.cold_partition_snapshot_interval_ms
        result.start_timer(_COLD_TIMER, now.monotonic_ms + interval_ms)

    def _check_partition_number(self, key: SharePartitionKey) -> None:
        if key.partition < 0:
            raise InvalidRequest("The partition id cannot be a negative number.")

    def _check_exists(self, key: SharePartitionKey) -> None:
        topic = self._image.topic_by_id(key.topic_id)
        if topic is None or key.partition >= len(topic.partitions):
            raise UnknownTopicOrPartition


def _check_leader_epoch(state: ShareState, leader_epoch: int) -> None:
    if leader_epoch != NO_EPOCH and leader_epoch < state.leader_epoch:
        raise FencedLeaderEpoch


def _check_state_epoch(state: ShareState, state_epoch: int) -> None:
    if state_epoch != NO_EPOCH and state_epoch < state.state_epoch:
        raise FencedStateEpoch


def _key_of(key: ShareSnapshotKey | ShareUpdateKey) -> SharePartitionKey:
    return SharePartitionKey(key.group_id, key.topic_id, key.partition)
