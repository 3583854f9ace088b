"""Messages between replicas of the quorum, and from their driver about a replica's own log and disk.

Plain values: their form on the wire (Vote, BeginQuorumEpoch, EndQuorumEpoch, Fetch) is the driver's business.
Every message between replicas carries the sender's epoch.
"""

from __future__ import annotations

from dataclasses import dataclass

from millstream.model import BrokerId, LeaderEpoch, Offset
from millstream.raft.voter_set import ControlRecord, ReplicaKey


@dataclass(frozen=True, slots=True)
class LogPosition:
    """The end of a log: the next offset, and the epoch of the last record (-1 for an empty log)."""

    end_offset: Offset
    last_epoch: LeaderEpoch

    def is_at_least(self, other: LogPosition) -> bool:
        """A log that ends here may lead one that ends at `other`: later epoch, or the same and not shorter."""
        return (self.last_epoch, self.end_offset) >= (other.last_epoch, other.end_offset)


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteRequest:
    source: ReplicaKey
    epoch: LeaderEpoch
    log: LogPosition
    voter: ReplicaKey
    """Whom it was sent to: a replica with another directory id must not answer for it."""
    pre_vote: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteResponse:
    source: BrokerId
    epoch: LeaderEpoch
    leader_id: BrokerId
    granted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginQuorumEpochRequest:
    source: BrokerId
    epoch: LeaderEpoch


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginQuorumEpochResponse:
    source: BrokerId
    epoch: LeaderEpoch
    leader_id: BrokerId


@dataclass(frozen=True, slots=True, kw_only=True)
class EndQuorumEpochRequest:
    """The leader steps down; the first of `preferred_successors` should stand at once."""

    source: BrokerId
    epoch: LeaderEpoch
    preferred_successors: tuple[ReplicaKey, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRequest:
    """`log` is the position the source has synced to its disk."""

    source: ReplicaKey
    epoch: LeaderEpoch
    log: LogPosition


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchResponse:
    """The answer of the leader, or of a replica that knows one (`leader_id` is then not the source).

    The driver of the leader puts the bytes of the log from `fetch_offset` in; they may be none. `diverging` says where the logs
    part: the end of the newest epoch that both may share.
    """

    source: BrokerId
    epoch: LeaderEpoch
    leader_id: BrokerId
    fetch_offset: Offset
    high_watermark: Offset | None = None
    diverging: LogPosition | None = None
    records: bytes = b""


@dataclass(frozen=True, slots=True)
class Propose:
    """Local: the state machine wants these records appended as one batch. Only a leader may be given it."""

    records: tuple[bytes, ...]
    epoch: LeaderEpoch
    """The epoch the proposer believes it leads; another one means it lost the leadership meanwhile."""


@dataclass(frozen=True, slots=True)
class UpgradeKraftVersion:
    """Local: the voters of a static quorum become records of its log (kraft.version 0 to 1). Only a leader may be given it."""

    epoch: LeaderEpoch
    """As in `Propose`."""


@dataclass(frozen=True, slots=True)
class Appended:
    """Local: a follower's fetched bytes are in the log, which now ends here. Not durable yet."""

    log: LogPosition
    control: tuple[tuple[Offset, ControlRecord], ...] = ()
    """The control records among them, with their offsets."""


@dataclass(frozen=True, slots=True)
class Flushed:
    """Local: every record below this offset is on the disk."""

    end_offset: Offset


@dataclass(frozen=True, slots=True)
class Resign:
    """Local: step down before a clean shutdown."""


@dataclass(frozen=True, slots=True)
class Tick:
    """Local: time has passed; sent at the deadline the last Ready named."""


RaftRequest = VoteRequest | BeginQuorumEpochRequest | EndQuorumEpochRequest | FetchRequest
RaftResponse = VoteResponse | BeginQuorumEpochResponse | FetchResponse
RaftMessage = RaftRequest | RaftResponse
LocalEvent = Propose | UpgradeKraftVersion | Appended | Flushed | Resign | Tick
