"""The outcome of one step, gathered on its way to a `Ready`. Lives for one step; the parts of a replica fill it."""

from __future__ import annotations

from dataclasses import dataclass, field

from millstream.model import BrokerId, Offset
from millstream.raft.messages import RaftMessage
from millstream.raft.ready import AppendBatch, Send


@dataclass(slots=True)
class StepOutcome:
    now_ms: int
    """Monotonic time of the step."""
    truncate_to: Offset | None = None
    append: list[AppendBatch] = field(default_factory=list)
    append_fetched: bytes = b""
    sends: list[Send] = field(default_factory=list)

    def send(self, to: BrokerId, message: RaftMessage) -> None:
        self.sends.append(Send(to, message))
