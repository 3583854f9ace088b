"""The work one step asks of the driver, in the order it must be done: persist, truncate, append and sync, send, apply;
the outcome of a step, which its parts fill on the way there; and a snapshot on its way from the leader, piece by
piece, of which only the position is known here, no bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from millstream.model import BrokerId, LeaderEpoch, Offset
from millstream.raft.election_state import ElectionState
from millstream.raft.messages import (
    FetchSnapshotResponse,
    OutboundResponse,
    Peer,
    RaftRequest,
    RaftResponse,
    Send,
)
from millstream.raft.snapshot import SnapshotId
from millstream.raft.voter_set import ControlRecord


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


@dataclass(slots=True)
class StepOutcome:
    now_ms: int
    """Monotonic time of the step."""
    numbers: Iterator[int]
    """Of what this replica sends, over all steps."""
    truncate_to: Offset | None = None
    append: list[AppendBatch] = field(default_factory=list)
    append_fetched: bytes = b""
    snapshot_piece: SnapshotPiece | None = None
    sends: list[Send] = field(default_factory=list)
    replies: list[OutboundResponse] = field(default_factory=list)
    vote_answers: list[VoteAnswer] = field(default_factory=list)

    def send(self, to: Peer, message: RaftRequest) -> Send:
        send = Send(to, message, next(self.numbers))
        self.sends.append(send)
        return send

    def reply(self, token: int, response: RaftResponse) -> None:
        self.replies.append(OutboundResponse(token, response))
