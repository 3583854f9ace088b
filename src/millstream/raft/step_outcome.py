"""The outcome of one step, gathered on its way to a `Ready`. Lives for one step; the parts of a replica fill it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from millstream.model import Offset
from millstream.raft.messages import OutboundResponse, Peer, RaftRequest, RaftResponse, Send
from millstream.raft.ready import AppendBatch, VoteAnswer
from millstream.raft.snapshot_transfer import SnapshotPiece


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
