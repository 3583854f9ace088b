"""A snapshot on its way from the leader, piece by piece. Knows what is here and what comes next; holds no bytes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from millstream.raft.messages import FetchSnapshotResponse
from millstream.raft.snapshot import SnapshotId


@dataclass(frozen=True, slots=True)
class SnapshotPiece:
    """Bytes of a snapshot, to be written at a position of a file that is no snapshot until the last piece is in it."""

    id: SnapshotId
    position: int
    data: bytes
    is_last: bool


@dataclass(frozen=True, slots=True)
class SnapshotTransfer:
    """Everything before `position` is here. With another leader, or after SNAPSHOT_NOT_FOUND, one begins anew."""

    id: SnapshotId
    position: int = 0

    def piece(self, response: FetchSnapshotResponse) -> SnapshotPiece | None:
        """Returns the next piece; None when the answer has none that continues what is here."""
        end = response.position + len(response.data)
        continues = response.id == self.id and response.position == self.position
        if not continues or not response.data or end > response.size:
            return None
        return SnapshotPiece(self.id, self.position, response.data, end == response.size)

    def after(self, piece: SnapshotPiece) -> SnapshotTransfer:
        return replace(self, position=piece.position + len(piece.data))
