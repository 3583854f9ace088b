"""The metadata log on the disk: what the quorum decides, as batches of
`__cluster_metadata-0`, and its quorum-state file.

Translates between raft's values and Kafka's bytes. Decides nothing: the quorum says what to
append, the driver when to sync.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Final

from millstream.errors import KafkaStorageError
from millstream.log.directory.log_directory import METADATA_TOPIC, LogDirectory
from millstream.log.partition_log import PartitionLog
from millstream.metadata.loader import MetadataBatch
from millstream.metadata.topic_config import LogConfig
from millstream.model import NO_LEADER_EPOCH, BrokerId, LeaderEpoch, Offset, TopicPartition
from millstream.protocol.generated.control_records import (
    KRaftVersionRecord,
    LeaderChangeMessage,
    VotersRecord,
)
from millstream.protocol.record_frames import decode_metadata_record
from millstream.raft.election_state import (
    ElectionState,
    decode_quorum_state,
    encode_quorum_state,
    static_voter_ids,
)
from millstream.raft.messages import LogPosition
from millstream.raft.ready import AppendBatch
from millstream.raft.snapshot import SnapshotId
from millstream.raft.voter_history import QuorumEntry
from millstream.raft.voter_set import ControlRecord
from millstream.records.batch import BatchHeader, iterate_batches, validate_batch
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.control import ControlType, build_control_batch, read_control_type
from millstream.records.record import Record, iterate_records
from millstream.runtime import FileSystem, Instant

METADATA_PARTITION: Final = TopicPartition(METADATA_TOPIC, 0)
_QUORUM_STATE_FILE: Final = "quorum-state"
_READ_BYTES: Final = 1 << 20
"""Read from the log at once."""
StoredBatch = tuple[BatchHeader, memoryview]
_CONTROL_TYPES: Final[dict[type[ControlRecord], ControlType]] = {
    LeaderChangeMessage: ControlType.LEADER_CHANGE,
    KRaftVersionRecord: ControlType.KRAFT_VERSION,
    VotersRecord: ControlType.KRAFT_VOTERS,
}

_CONTROL_CLASSES: Final[dict[ControlType, type[ControlRecord]]] = {
    control_type: record for record, control_type in _CONTROL_TYPES.items()
}


class MetadataLog:
    """The metadata log, as a `raft.log_progress.ReplicatedLog`. The metadata driver owns it."""

    def __init__(self, log: PartitionLog, file_system: FileSystem) -> None:
        self.log = log
        self._file_system = file_system
        self._persisting = threading.Lock()
        self._snapshot_end = Offset(0)
        self._snapshots: dict[SnapshotId, int] = {}
        """Sizes of the snapshots beside the log, oldest first."""
        self._quorum_state_path = f"{log.directory}/{_QUORUM_STATE_FILE}"

    @classmethod
    def open(
        cls, directory: LogDirectory, file_system: FileSystem, config: LogConfig, now: Instant
    ) -> MetadataLog:
        """Opens or creates the log; recovers it after an unclean stop. Raises KafkaStorageError, DamagedFile."""
        return cls(directory.open_log(METADATA_PARTITION, config, now), file_system)

    # What the quorum may ask

    def position(self) -> LogPosition:
        latest_epoch = max(self.log.leader_epochs.latest_epoch, self.start().last_epoch)
        return LogPosition(Offset(self.log.log_end_offset), LeaderEpoch(latest_epoch))

    def position_at(self, offset: Offset) -> LogPosition:
        """Returns the end of the log once it is cut at `offset`."""
        last_epoch = self.log.leader_epochs.epoch_for(offset - 1) if offset else NO_LEADER_EPOCH
        return LogPosition(offset, LeaderEpoch(max(last_epoch, self.start().last_epoch)))

    def end_of_epoch(self, epoch: LeaderEpoch) -> LogPosition:
        """Returns the newest epoch in the log that is not above `epoch`, and the offset after its last record."""
        epochs, end_offset = self.log.leader_epochs, self.log.log_end_offset
        if not epochs.entries or epoch < epochs.entries[0].epoch:
            start = self.start()
            return start if epoch >= start.last_epoch else LogPosition(Offset(0), NO_LEADER_EPOCH)
        found = epochs.end_offset(min(epoch, epochs.latest_epoch), end_offset)
        return LogPosition(Offset(found.end_offset), LeaderEpoch(found.epoch))

    def start(self) -> LogPosition:
        """Returns where the log begins, and the epoch of the snapshot that ends there."""
        offset = Offset(self.log.log_start_offset)
        epochs = [each.epoch for each in self._snapshots if each.end_offset == offset]
        return LogPosition(offset, epochs[0] if epochs and offset else NO_LEADER_EPOCH)

    def newest_snapshot(self) -> SnapshotId | None:
        return max(self._snapshots, default=None)

    def snapshot_bytes(self, snapshot_id: SnapshotId) -> int | None:
        return self._snapshots.get(snapshot_id)

    def add_snapshot(self, snapshot_id: SnapshotId, size_bytes: int) -> None:
        """Notes that a snapshot lies beside the log."""
        self._snapshots[snapshot_id] = size_bytes

    def remove_snapshot(self, snapshot_id: SnapshotId) -> None:
        self._snapshots.pop(snapshot_id, None)

    def high_watermark(self) -> Offset:
        """Returns the end of the newest snapshot, which holds committed records only.

        A leader of this epoch tells how much more is committed.
        """
        return self._snapshot_end

    def start_at(self, snapshot_end: Offset) -> None:
        """Notes that a snapshot holds everything below `snapshot_end`.

        Raises KafkaStorageError when the log does not reach there.
        """
        log = self.log
        if not log.log_start_offset <= snapshot_end <= log.log_end_offset:
            raise KafkaStorageError(
                f"{log.directory} has a snapshot up to offset {snapshot_end}, and its log holds {log.log_start_offset} to "
                f"{log.log_end_offset}: one of them is from another time. Restore both from the same copy"
            )
        self._snapshot_end = snapshot_end

    def begin_at_a_snapshot(self) -> None:
        """Lets the log begin again where it began before the node was killed: at a snapshot, if
        anything was cut off before one.

        Where a log begins is on the disk after a clean stop only, and which epochs are left of it at once. A log that
        seems to reach further back than its epochs would tell others that theirs part from it at 0.
        """
        epochs = self.log.leader_epochs.entries
        begins = max(self.log.log_start_offset, epochs[0].start_offset if epochs else 0)
        ends = [each.end_offset for each in self._snapshots if each.end_offset >= begins]
        if begins > 0 and ends and min(ends) <= self.log.log_end_offset:
            self.log.delete_records_before(min(ends))

    def start_over_at(self, snapshot_end: Offset, now: Instant) -> None:
        """Empties a log that ends before the newest snapshot: the node was killed after the snapshot had come and
        before the log was emptied.
        """
        if snapshot_end > self.log.log_end_offset:
            self.log.truncate_fully_and_start_at(snapshot_end, now)

    def bytes_since(self, offset: Offset) -> int:
        """Returns the bytes of the log at and after `offset`."""
        end_offset = self.log.log_end_offset
        return self.log.readable_bytes(offset, end_offset) if offset < end_offset else 0

    # Election state

    def read_election_state(self) -> ElectionState:
        """Returns the election state that this replica has stored. Raises KafkaStorageError for a damaged file."""
        data = self._read_quorum_state()
        return ElectionState() if data is None else decode_quorum_state(data)

    def static_voter_ids(self) -> frozenset[BrokerId]:
        """Returns the voters that quorum-state names, where a configuration named them (kraft.version 0)."""
        data = self._read_quorum_state()
        return frozenset() if data is None else static_voter_ids(data)

    def _read_quorum_state(self) -> bytes | None:
        """Returns what the file holds, None where there is none. Raises KafkaStorageError."""
        path = self._quorum_state_path
        try:
            return self._file_system.read(path) if self._file_system.exists(path) else None
        except OSError as error:
            raise KafkaStorageError(f"cannot read {path}: {error.strerror or error}") from error

    def persist(self, state: ElectionState, entry: QuorumEntry) -> None:
        """Stores the election state; it is on the disk when this returns. Blocks, in any thread.

        Raises KafkaStorageError.
        """
        encoded = encode_quorum_state(state, entry.kraft_version, entry.voters.ids)
        path = self._quorum_state_path
        try:
            # A node that ends resigns in its own thread, while another may still write what is older: one after the other.
            with self._persisting:
                self._file_system.write_atomically(path, encoded)
        except OSError as error:
            raise KafkaStorageError(f"cannot write {path}: {error.strerror or error}") from error

    # Records

    def append(self, batch: AppendBatch, now: Instant) -> None:
        """Appends without syncing. Raises KafkaStorageError."""
        options = BatchOptions(base_offset=batch.base_offset, leader_epoch=batch.epoch)
        if batch.control:
            encoded = build_control_batch(
                [_control_entry(record) for record in batch.control], now.wall_ms, options
            )
        else:
            records = [Record(timestamp=now.wall_ms, value=value) for value in batch.data]
            encoded = build_batch(records, options)
        info = self.log.append_as_follower(memoryview(encoded), now)
        assert (info.first_offset, info.last_offset) == (batch.base_offset, batch.last_offset), (
            f"the quorum planned offsets {batch.base_offset}-{batch.last_offset}, the log gave {info}"
        )

    def control_records(self, start: int, end: int) -> Iterator[tuple[Offset, ControlRecord]]:
        """Yields the control records in [start, end) with their offsets. Raises CorruptMessage, MalformedMessage."""
        for header, batch in self.stored_batches(start, end):
            if not header.is_control:
                continue
            for offset, record in enumerate(iterate_records(header, batch), header.base_offset):
                decoder = _CONTROL_CLASSES.get(read_control_type(record.key))
                if decoder is not None:
                    body = memoryview(record.value or b"")
                    yield Offset(offset), decoder.decode(body, 0, 0)[0]

    def batches(self, start: int, end: int) -> Iterator[MetadataBatch]:
        """Yields the batches in [start, end), decoded, in order. Raises CorruptMessage, MalformedMessage."""
        return map(decoded, self.stored_batches(start, end))

    def stored_batches(self, start: int, end: int) -> Iterator[StoredBatch]:
        """Yields the batches in [start, end) as they stand in the log. Raises CorruptMessage."""
        offset = start
        while offset < end:
            data = self.log.read(offset, _READ_BYTES, end).records
            view = memoryview(data if isinstance(data, bytes) else data.read())
            assert view.nbytes, (
                f"the metadata log has nothing at offset {offset}, before its end {end}"
            )
            for header, batch in iterate_batches(view):
                validate_batch(header, batch)  # a wrong bit would be other metadata
                yield header, batch
                offset = header.next_offset


def decoded(stored: StoredBatch) -> MetadataBatch:
    """Decodes the records of a batch. Raises MalformedMessage."""
    header, batch = stored
    values = (
        ()
        if header.is_control
        else tuple(record.value for record in iterate_records(header, batch))
    )
    return MetadataBatch(
        Offset(header.base_offset),
        Offset(header.last_offset),
        LeaderEpoch(header.partition_leader_epoch),
        [decode_metadata_record(value or b"") for value in values],
    )


def _control_entry(record: ControlRecord) -> tuple[ControlType, bytes]:
    out = bytearray()
    record.encode(out, 0)
    return _CONTROL_TYPES[type(record)], bytes(out)
