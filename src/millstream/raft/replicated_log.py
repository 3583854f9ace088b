"""The interface of the log of the quorum. The adapter over the real log lives with the driver."""

from __future__ import annotations

from typing import Protocol

from millstream.model import LeaderEpoch, Offset
from millstream.raft.messages import LogPosition
from millstream.raft.snapshot import SnapshotId


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
