"""The interface of the log of the quorum. The adapter over the real log lives with the driver."""

from __future__ import annotations

from typing import Protocol

from millstream.model import LeaderEpoch, Offset
from millstream.raft.messages import LogPosition


class ReplicatedLog(Protocol):
    """Read-only: the quorum writes through `Ready`."""

    def position(self) -> LogPosition:
        """Returns the end of the log, unsynced records included."""
        ...

    def end_of_epoch(self, epoch: LeaderEpoch) -> LogPosition:
        """Returns the newest epoch in the log that is not above `epoch`, and the offset after its last record.

        Offset 0 and epoch -1 when the log has none.
        """
        ...

    def high_watermark(self) -> Offset:
        """Returns the high watermark when the log was opened; a snapshot counts."""
        ...
