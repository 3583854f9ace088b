"""The share coordinator of one `__share_group_state` partition: the front of everything in this package.

Keeps what share groups have done with partitions, for the brokers that lead these. Operations decide and
change nothing; `replay` alone does. The edge asks for one share partition at a time and turns a KafkaError
into that partition's error.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from millstream.coordinator.context import Operations
from millstream.coordinator.record import CoordinatorRecord
from millstream.coordinator.result import NODE_ITSELF, Caller, CoordinatorResult, TimerKey
from millstream.coordinator.share import persistence
from millstream.coordinator.share.context import (
    DeleteState,
    FirstNeededOffset,
    InitializeState,
    ReadState,
    ReadStateSummary,
    ShareContext,
    ShareCoordinatorConfig,
    TopicIdsDeleted,
    WriteState,
)
from millstream.coordinator.share.state import SharePartitionKey, ShareState, change_of, state_of
from millstream.coordinator.share.states import ShareStates
from millstream.metadata.image import MetadataImage
from millstream.model import Offset, ProducerId
from millstream.protocol.generated.share_records import (
    ShareSnapshotKey,
    ShareSnapshotValue,
    ShareUpdateKey,
    ShareUpdateValue,
)
from millstream.runtime import Instant

OPERATIONS: Final[Operations[ShareContext]] = MappingProxyType(
    {
        InitializeState: persistence.initialize_state,
        ReadState: persistence.read_state,
        ReadStateSummary: persistence.read_state_summary,
        WriteState: persistence.write_state,
        DeleteState: persistence.delete_state,
        FirstNeededOffset: persistence.first_needed_offset,
        TopicIdsDeleted: persistence.forget_topics,
    }
)


RANGES_AT_ONCE: Final = 1_000
"""Of a share partition: kept, said or told in some milliseconds."""


class ShareShard:
    """Satisfies `coordinator.runtime.Shard`."""

    def __init__(self, config: ShareCoordinatorConfig) -> None:
        self._config = config
        self._image = MetadataImage()
        self._states = ShareStates()

    def apply_image(self, image: MetadataImage) -> None:
        """Takes in a new image, before anything that happens after it."""
        self._image = image

    def state(self, key: SharePartitionKey) -> ShareState | None:
        return self._states.find(key)

    @property
    def first_needed_offset(self) -> int:
        """The offset below which the log may be deleted."""
        return self._states.first_needed_offset

    # What the runtime asks for

    def handle(self, request: object, caller: Caller, now: Instant) -> CoordinatorResult:
        """Handles any request of `OPERATIONS`.

        A KafkaError that it raises is the answer; nothing has changed then.
        """
        return OPERATIONS[type(request)](self._context(caller, now), request)

    def handle_loaded(self, now: Instant) -> CoordinatorResult:
        context = self._context(NODE_ITSELF, now)
        persistence.start_cold_snapshot_timer(context)
        return context.result

    def handle_timer(self, key: TimerKey, now: Instant) -> CoordinatorResult:
        assert key == persistence.COLD_SNAPSHOTS, "a timer of another shard"
        context = self._context(NODE_ITSELF, now)
        persistence.take_cold_snapshots(context)
        return context.result

    def takes_long(self, asked: object) -> bool:
        """Tells whether a request takes long.

        Ranges are put over each other, written and read again; all partitions may get a snapshot.
        """
        match asked:
            case WriteState():
                ranges = len(asked.change.batches) + self._states.range_count(asked.key)
            case ReadState() | ReadStateSummary() | InitializeState():
                ranges = self._states.range_count(asked.key)
            case _:
                return asked == persistence.COLD_SNAPSHOTS
        return ranges > RANGES_AT_ONCE

    def handle_append_failed(self, failed: CoordinatorResult, now: Instant) -> CoordinatorResult:
        return self._context(NODE_ITSELF, now).undo(failed)

    # Hard state

    def replay(self, offset: Offset, record: CoordinatorRecord) -> None:
        match record.key, record.value:
            case ShareSnapshotKey() as key, None:
                self._states.remove(_key_of(key), offset)
            case ShareSnapshotKey() as key, ShareSnapshotValue() as value:
                self._states.put_snapshot(_key_of(key), state_of(value), offset)
            case ShareUpdateKey() as key, ShareUpdateValue() as value:
                self._states.put_update(_key_of(key), change_of(value))
            case _:
                pass

    def transaction_size(self, producer_id: ProducerId) -> int:
        """Returns 0: share state is never written in a transaction."""
        del producer_id
        return 0

    def replay_end_transaction(self, producer_id: ProducerId, *, committed: bool) -> None:
        """Does nothing: share state is never written in a transaction."""

    def _context(self, caller: Caller, now: Instant) -> ShareContext:
        return ShareContext(caller, now, self._states, self._config, self._image)


def _key_of(key: ShareSnapshotKey | ShareUpdateKey) -> SharePartitionKey:
    return SharePartitionKey(key.group_id, key.topic_id, key.partition)
