"""The progress of this replica's log: its end, what is on the disk, what is committed; and the interface of that log,
whose adapter over the real log lives with the driver.

Owns the high watermark, which never falls, and the rule where two logs part. Writes nothing: appends and truncations go
into the step's outcome.
"""

from __future__ import annotations

from typing import Protocol

from millstream.errors import KafkaStorageError
from millstream.model import LeaderEpoch, Offset
from millstream.raft.leader_progress import committed_offset
from millstream.raft.messages import LogPosition
from millstream.raft.ready import AppendBatch, StepOutcome
from millstream.raft.roles import Follower, Leader, Role
from millstream.raft.snapshot import SnapshotId
from millstream.raft.voter_set import ControlRecord, VoterSet


class ReplicatedLog(Protocol):
    """Read-only: the quorum writes through `Ready`."""

    def position(self) -> LogPosition:
        """Returns the end of the log, unsynced records included."""
        ...

    def position_at(self, offset: Offset) -> LogPosition:
        """Returns the end that the log has once it is cut at `offset`, which it reaches."""
        ...

    def end_of_epoch(self, epoch: LeaderEpoch) -> LogPosition:
        """Returns the newest epoch in the log that is not above `epoch`, and the offset after its last record.

        The start of the log when that is the snapshot's epoch; offset 0 and epoch -1 when the log has none.
        """
        ...

    def start(self) -> LogPosition:
        """Returns the first offset of the log, and the epoch of the record before it: the id of the
        snapshot that ends there.

        Offset 0 and epoch -1 when nothing was ever taken away.
        """
        ...

    def newest_snapshot(self) -> SnapshotId | None:
        """Returns the id of the newest snapshot. There is one wherever the log does not start at 0."""
        ...

    def snapshot_bytes(self, snapshot_id: SnapshotId) -> int | None:
        """Returns the size of a snapshot; None for one that is not here."""
        ...

    def high_watermark(self) -> Offset:
        """Returns the high watermark when the log was opened; a snapshot counts."""
        ...


class LogProgress:
    def __init__(self, log: ReplicatedLog) -> None:
        self._log = log
        self.end = log.position()
        self._flushed = self.end.end_offset
        self.high_watermark = log.high_watermark()
        self._leader_high_watermark = self.high_watermark

    @property
    def leader_high_watermark(self) -> Offset:
        """The end of what is committed, as far as this replica knows, whether its own log reaches there or not."""
        return max(self.high_watermark, self._leader_high_watermark)

    @property
    def is_flushed(self) -> bool:
        """Whether everything in the log is on the disk."""
        return self._flushed >= self.end.end_offset

    def refresh(self) -> None:
        """Reads the log's end anew at the start of a step: the driver has done what the last one asked for."""
        self.end = self._log.position()

    def note_flushed(self, end_offset: Offset) -> None:
        self._flushed = min(end_offset, self.end.end_offset)

    def note_leader_high_watermark(self, high_watermark: Offset) -> None:
        """Takes over the leader's high watermark, as far as the own log is on the disk."""
        self._leader_high_watermark = high_watermark

    def append(
        self,
        outcome: StepOutcome,
        epoch: LeaderEpoch,
        *,
        control: tuple[ControlRecord, ...] = (),
        data: tuple[bytes, ...] = (),
    ) -> Offset:
        """Appends a batch, as a leader, and returns the offset of its first record."""
        batch = AppendBatch(
            base_offset=self.end.end_offset, epoch=epoch, control=control, data=data
        )
        outcome.append.append(batch)
        self.end = LogPosition(Offset(batch.last_offset + 1), epoch)
        return batch.base_offset

    def divergence(self, theirs: LogPosition) -> LogPosition | SnapshotId | None:
        """Returns where a log that ends at `theirs` leaves this one; None when this one continues it.

        The newest snapshot when it ends before this one starts, or all it holds may be of epochs that ended before.
        """
        start = self._log.start()
        if theirs == start or (start.end_offset == 0 and theirs.end_offset == 0):
            return None
        ours = self._log.end_of_epoch(theirs.last_epoch)
        is_older = theirs.last_epoch < start.last_epoch or ours.last_epoch < 0
        if start.end_offset == 0 and is_older:
            return LogPosition(start.end_offset, theirs.last_epoch)
        if theirs.end_offset <= start.end_offset or is_older:
            snapshot = self._log.newest_snapshot()
            assert snapshot is not None, "a log that starts later has a snapshot of what was before"
            return snapshot
        same = ours.last_epoch == theirs.last_epoch and ours.end_offset >= theirs.end_offset
        return None if same else ours

    def snapshot_bytes(self, snapshot_id: SnapshotId) -> int | None:
        return self._log.snapshot_bytes(snapshot_id)

    def check_lacks(self, snapshot_id: SnapshotId) -> None:
        """Raises KafkaStorageError when the leader has a snapshot in place of what was committed here."""
        if snapshot_id.end_offset <= self.high_watermark:
            raise KafkaStorageError(
                f"the leader wants the metadata log to begin anew with its snapshot at offset {snapshot_id.end_offset}, where "
                f"{self.high_watermark} records are committed: one of the two directories is of another cluster or of another time"
            )

    def start_at(self, snapshot_id: SnapshotId) -> None:
        """The log was replaced by a snapshot, which is on the disk and holds committed records only."""
        assert self.end == LogPosition(*snapshot_id), (
            "the log does not start where the snapshot ends"
        )
        self._flushed = snapshot_id.end_offset
        self.high_watermark = max(self.high_watermark, snapshot_id.end_offset)

    def truncate(self, outcome: StepOutcome, diverging: LogPosition) -> None:
        """Cuts back to where the leader's log may be the same.

        Raises KafkaStorageError, since what was committed is never cut (KAFKA-12460).
        """
        ours = self._log.end_of_epoch(diverging.last_epoch)
        offset = min(ours.end_offset, diverging.end_offset)
        if offset < self.high_watermark:
            raise KafkaStorageError(
                f"the leader's metadata log parts from this one at offset {offset}, below what was committed, "
                f"{self.high_watermark}: one of the two directories is of another cluster or of another time"
            )
        outcome.truncate_to = offset
        self.end = self._log.position_at(offset)
        self._flushed = min(self._flushed, offset)

    def advance_high_watermark(self, role: Role, voters: VoterSet) -> None:
        match role:
            case Leader():
                committed = committed_offset(role, voters, self._flushed)
            case Follower():
                committed = min(self._leader_high_watermark, self._flushed)
            case _:
                committed = None
        if committed is not None and committed > self.high_watermark:
            self.high_watermark = committed
