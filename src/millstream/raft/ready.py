"""The work one step asks of the driver, in the order it must be done: persist, truncate, append and
sync, send, apply.
"""

from __future__ import annotations

from dataclasses import dataclass

from millstream.model import BrokerId, LeaderEpoch, Offset
from millstream.raft.election_state import ElectionState
from millstream.raft.messages import OutboundResponse, Send
from millstream.raft.snapshot_transfer import SnapshotPiece
from millstream.raft.voter_set import ControlRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendBatch:
    """One batch to append at `base_offset`: control records, or data records' values."""

    base_offset: Offset
    epoch: LeaderEpoch
    control: tuple[ControlRecord, ...] = ()
    data: tuple[bytes, ...] = ()

    @property
    def last_offset(self) -> Offset:
        return Offset(self.base_offset + len(self.control) + len(self.data) - 1)


@dataclass(frozen=True, slots=True)
class LeaderAndEpoch:
    leader_id: BrokerId
    epoch: LeaderEpoch


@dataclass(frozen=True, slots=True)
class RoleChange:
    """A new role of this replica, for the log: who leads which epoch, and why."""

    role: str
    epoch: LeaderEpoch
    leader_id: BrokerId
    reason: str

    def __str__(self) -> str:
        return f"{self.role} in epoch {self.epoch}, leader {self.leader_id}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteAnswer:
    """The answer of this replica to a candidate, for the log."""

    candidate: BrokerId
    epoch: LeaderEpoch
    pre_vote: bool
    refusal: str | None
    """Why the (pre-)vote is refused; None where it is given."""

    def __str__(self) -> str:
        kind = "pre-vote" if self.pre_vote else "vote"
        if self.refusal is None:
            return f"gives node {self.candidate} its {kind} in epoch {self.epoch}"
        return f"refuses node {self.candidate} its {kind} in epoch {self.epoch}: {self.refusal}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """Everything of one step. Nothing may be sent before `persist` and what stands above it are on the disk."""

    persist: ElectionState | None = None
    """Write and sync the quorum-state file."""
    truncate_to: Offset | None = None
    append: tuple[AppendBatch, ...] = ()
    """As leader: append, sync, then report `Flushed`."""
    append_fetched: bytes = b""
    """As follower: append these batches as they are, report `Appended`, sync, report `Flushed`."""
    snapshot_piece: SnapshotPiece | None = None
    """As follower: write it. After the last one put the snapshot in its place, begin the log at its end, and report
    `SnapshotInstalled`, or `SnapshotRefused` when the bytes are no snapshot."""
    send: tuple[Send, ...] = ()
    reply: tuple[OutboundResponse, ...] = ()
    """Answers to requests, this step's or earlier ones'."""
    leadership: LeaderAndEpoch | None = None
    """Set when the leader or the epoch became another one."""
    role_changes: tuple[RoleChange, ...] = ()
    vote_answers: tuple[VoteAnswer, ...] = ()
    high_watermark: Offset | None = None
    """Set when it rose: records below it are committed and may be applied."""
    deadline_ms: int
    """Monotonic time of the next `Tick`."""
