"""The state of one share partition as the share coordinator keeps it, and the records that carry it.

Immutable: a snapshot record says all of it, an update record what changed since. Pure data; when which is
written is the shard's business.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Final, NamedTuple

from millstream.coordinator.record import CoordinatorRecord
from millstream.coordinator.share.state_batch import NO_START_OFFSET, StateBatch, combined
from millstream.model import Uuid, uuid_text
from millstream.protocol.generated import share_records
from millstream.protocol.generated.share_records import (
    ShareSnapshotKey,
    ShareSnapshotValue,
    ShareUpdateKey,
    ShareUpdateValue,
)

NO_EPOCH: Final = -1
NO_COUNT: Final = -1


_FIELDS_OF_MESSAGE: Final = attrgetter(*StateBatch._fields)
"""A message has the same names."""


class SharePartitionKey(NamedTuple):
    """A partition as one share group reads it."""

    group_id: str
    topic_id: Uuid
    partition: int

    @property
    def text(self) -> str:
        """The key that decides which partition of `__share_group_state` keeps it, also in FindCoordinator."""
        return f"{self.group_id}:{uuid_text(self.topic_id)}:{self.partition}"


@dataclass(frozen=True, slots=True)
class StateChange:
    """A change that the leader of a partition reports. -1 for an epoch or the start offset means: as before."""

    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    batches: tuple[StateBatch, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareState:
    snapshot_epoch: int
    """Goes up with every snapshot."""
    state_epoch: int
    """Goes up when the partition is initialised again, so that leaders who hold an older state are fenced."""
    leader_epoch: int
    """Of the newest leader of the partition that has read the state."""
    start_offset: int
    """Everything below is finished. -1: no leader has begun."""
    delivery_complete_count: int
    """Finished records at or after the start offset; -1 when the leader did not say."""
    created_ms: int
    written_ms: int
    batches: tuple[StateBatch, ...] = ()

    @property
    def is_cold(self) -> bool:
        """Whether its last snapshot was written because nothing else had been for long."""
        return self.created_ms != self.written_ms

    def changed(self, change: StateChange) -> ShareState:
        start = change.start_offset
        if start == NO_START_OFFSET:
            start = self.start_offset
        return replace(
            self,
            leader_epoch=self.leader_epoch
            if change.leader_epoch == NO_EPOCH
            else change.leader_epoch,
            start_offset=start,
            delivery_complete_count=change.delivery_complete_count,
            batches=combined(self.batches, change.batches, start),
        )


# --- records


def snapshot_record(key: SharePartitionKey, state: ShareState) -> CoordinatorRecord:
    value = ShareSnapshotValue(
        snapshot_epoch=state.snapshot_epoch,
        state_epoch=state.state_epoch,
        leader_epoch=state.leader_epoch,
        start_offset=state.start_offset,
        delivery_complete_count=state.delivery_complete_count,
        create_timestamp=state.created_ms,
        write_timestamp=state.written_ms,
        state_batches=_messages(state.batches),
    )
    return CoordinatorRecord(ShareSnapshotKey(*key), value)


def tombstone_record(key: SharePartitionKey) -> CoordinatorRecord:
    return CoordinatorRecord(ShareSnapshotKey(*key), None)


def update_record(
    key: SharePartitionKey, snapshot_epoch: int, change: StateChange
) -> CoordinatorRecord:
    value = ShareUpdateValue(
        snapshot_epoch=snapshot_epoch,
        leader_epoch=change.leader_epoch,
        start_offset=change.start_offset,
        delivery_complete_count=change.delivery_complete_count,
        state_batches=_messages(combined((), change.batches, change.start_offset)),
    )
    return CoordinatorRecord(ShareUpdateKey(*key), value)


def state_of(value: ShareSnapshotValue) -> ShareState:
    return ShareState(
        snapshot_epoch=value.snapshot_epoch,
        state_epoch=value.state_epoch,
        leader_epoch=value.leader_epoch,
        start_offset=value.start_offset,
        delivery_complete_count=value.delivery_complete_count,
        created_ms=value.create_timestamp,
        written_ms=value.write_timestamp,
        batches=_batches(value.state_batches),
    )


def change_of(value: ShareUpdateValue) -> StateChange:
    return StateChange(
        value.leader_epoch,
        value.start_offset,
        value.delivery_complete_count,
        _batches(value.state_batches),
    )


def _messages(batches: Iterable[StateBatch]) -> list[share_records.StateBatch]:
    return [share_records.StateBatch(*batch) for batch in batches]


def _batches(messages: Iterable[share_records.StateBatch]) -> tuple[StateBatch, ...]:
    return tuple(map(StateBatch._make, map(_FIELDS_OF_MESSAGE, messages)))
