"""Messages between replicas of the quorum, and from their driver about a replica's own log and disk.

Plain values: their form on the wire (Vote, BeginQuorumEpoch, EndQuorumEpoch, Fetch, FetchSnapshot, Add-, Remove- and
UpdateRaftVoter) is the driver's business. Requests and answers carry the sender's epoch; an answer also the leader that
its sender can vouch for, and why it refuses. What another replica asks comes in as `InboundRequest` and is answered by
`OutboundResponse`; what this one sends is a `Send`, and comes back with its answer as `InboundResponse`.
"""

from __future__ import annotations

from dataclasses import dataclass

from millstream.errors import KafkaError
from millstream.model import BrokerId, LeaderEpoch, Offset
from millstream.raft.election_state import NOBODY
from millstream.raft.snapshot import SnapshotId
from millstream.raft.voter_set import ControlRecord, ReplicaKey, Voter, VoterEndpoint, VoterSet

Endpoints = tuple[VoterEndpoint, ...]
Refusal = type[KafkaError]
"""Why a request is refused, by Kafka's code."""


@dataclass(frozen=True, slots=True)
class LogPosition:
    """The end of a log: the next offset, and the epoch of the last record (-1 for an empty log)."""

    end_offset: Offset
    last_epoch: LeaderEpoch

    @property
    def is_possible(self) -> bool:
        """Whether a log can end here: where there are records, there is an epoch."""
        return self.end_offset == 0 or (self.end_offset > 0 and self.last_epoch >= 0)

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
    epoch: LeaderEpoch
    leader_id: BrokerId = NOBODY
    endpoints: Endpoints = ()
    granted: bool = False
    error: Refusal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginQuorumEpochRequest:
    source: BrokerId
    epoch: LeaderEpoch
    endpoints: Endpoints = ()
    voter: ReplicaKey
    """As in a request for a vote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginQuorumEpochResponse:
    epoch: LeaderEpoch
    leader_id: BrokerId = NOBODY
    endpoints: Endpoints = ()
    error: Refusal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EndQuorumEpochRequest:
    """The leader steps down; the first of `preferred_successors` should stand at once."""

    source: BrokerId
    epoch: LeaderEpoch
    preferred_successors: tuple[ReplicaKey, ...]
    endpoints: Endpoints = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EndQuorumEpochResponse:
    epoch: LeaderEpoch
    leader_id: BrokerId = NOBODY
    endpoints: Endpoints = ()
    error: Refusal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRequest:
    """`log` is the position the source has synced to its disk."""

    source: ReplicaKey
    epoch: LeaderEpoch
    log: LogPosition
    high_watermark: Offset
    """What the source knows to be committed: a leader that knows of more answers at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchResponse:
    """The answer of the leader, or, with an error, of a replica that may know one.

    The driver of the leader puts the bytes of the log from the fetch's offset in; they may be none. While there are
    none, and nothing new is committed, it may hold the request and ask again. `diverging` says where the logs part: the
    end of the newest epoch that both may share. `snapshot` is what to fetch instead of a log that begins later.
    """

    epoch: LeaderEpoch
    leader_id: BrokerId = NOBODY
    endpoints: Endpoints = ()
    error: Refusal | None = None
    high_watermark: Offset | None = None
    diverging: LogPosition | None = None
    snapshot: SnapshotId | None = None
    records: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSnapshotRequest:
    """A follower whose log the leader's does not reach back to wants the bytes of a snapshot from `position` on."""

    source: ReplicaKey
    epoch: LeaderEpoch
    id: SnapshotId
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSnapshotResponse:
    """The driver of the leader puts the bytes in, some of them at least; `size` is that of the whole snapshot."""

    epoch: LeaderEpoch
    leader_id: BrokerId = NOBODY
    endpoints: Endpoints = ()
    error: Refusal | None = None
    id: SnapshotId
    position: int
    size: int = 0
    data: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddVoterRequest:
    voter: Voter
    """Which kraft.version it can, the leader asks it itself."""
    ack_when_committed: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveVoterRequest:
    voter: ReplicaKey


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateVoterRequest:
    """A voter tells where it listens and what it can."""

    epoch: LeaderEpoch
    voter: Voter


@dataclass(frozen=True, slots=True, kw_only=True)
class VoterChangeResponse:
    """The answer to AddVoter, RemoveVoter and UpdateVoter. On the wire only the last one tells epoch and leader."""

    epoch: LeaderEpoch
    leader_id: BrokerId = NOBODY
    endpoints: Endpoints = ()
    error: Refusal | None = None
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KraftVersionsRequest:
    """A leader's question to a replica that is to vote: ApiVersions, on the wire. Answered by the driver."""

    voter: ReplicaKey


@dataclass(frozen=True, slots=True, kw_only=True)
class KraftVersionsResponse:
    kraft_versions: tuple[int, int] | None
    """Lowest and highest; None when it names none."""


VoterChangeRequest = AddVoterRequest | RemoveVoterRequest | UpdateVoterRequest
QuorumRequest = (
    VoteRequest
    | BeginQuorumEpochRequest
    | EndQuorumEpochRequest
    | FetchRequest
    | FetchSnapshotRequest
)
QuorumResponse = (
    VoteResponse
    | BeginQuorumEpochResponse
    | EndQuorumEpochResponse
    | FetchResponse
    | FetchSnapshotResponse
)
RaftRequest = QuorumRequest | VoterChangeRequest | KraftVersionsRequest
RaftResponse = QuorumResponse | VoterChangeResponse | KraftVersionsResponse


@dataclass(frozen=True, slots=True)
class Peer:
    """A replica to send to. NOBODY's id: a bootstrap server, of which nothing is known but where it listens."""

    id: BrokerId
    endpoints: Endpoints = ()


@dataclass(frozen=True, slots=True)
class Send:
    """A request for a peer. It comes back as `InboundResponse` or `Unanswered`, however late, or never."""

    to: Peer
    message: RaftRequest
    number: int
    """Tells it from every other that this replica sends while it runs."""


@dataclass(frozen=True, slots=True)
class InboundResponse:
    """The answer to what this replica sent."""

    sent: Send
    response: RaftResponse


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A request without an answer: no connection, no time left, or bytes that mean nothing."""

    sent: Send


@dataclass(frozen=True, slots=True)
class InboundRequest:
    """A request of another replica."""

    token: int
    """The driver's name for the request: the `OutboundResponse` to it has the same."""
    request: QuorumRequest | VoterChangeRequest


@dataclass(frozen=True, slots=True)
class OutboundResponse:
    token: int
    response: RaftResponse


@dataclass(frozen=True, slots=True)
class Propose:
    """Local: the state machine wants these records appended as one batch. Only a leader may be given it."""

    records: tuple[bytes, ...]
    epoch: LeaderEpoch
    """The epoch the proposer believes it leads; another one means it lost the leadership meanwhile."""


@dataclass(frozen=True, slots=True)
class UpgradeKraftVersion:
    """Local: the voters of a static quorum become records of its log (kraft.version 0 to 1).

    Only a leader may be given it.
    """

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
class SnapshotWritten:
    """Local: this replica has a snapshot of its own log up to this offset."""

    end_offset: Offset


@dataclass(frozen=True, slots=True)
class SnapshotInstalled:
    """Local: the snapshot of which the last piece came is in its place, on the disk, and the log begins at its end."""

    id: SnapshotId
    voters: VoterSet | None
    """Those that it names; None where it names none (kraft.version 0)."""


@dataclass(frozen=True, slots=True)
class SnapshotRefused:
    """Local: the snapshot of which the last piece came is damaged, and gone."""

    id: SnapshotId


@dataclass(frozen=True, slots=True)
class Resign:
    """Local: step down, and go on as a voter."""


@dataclass(frozen=True, slots=True)
class ShutDown:
    """Local: step down, and neither stand nor fetch any more: this replica is about to end."""


@dataclass(frozen=True, slots=True)
class Tick:
    """Local: time has passed; sent at the deadline the last Ready named."""


LocalEvent = (
    Propose
    | UpgradeKraftVersion
    | Appended
    | Flushed
    | SnapshotWritten
    | SnapshotInstalled
    | SnapshotRefused
    | Resign
    | ShutDown
    | Tick
)
RaftEvent = InboundRequest | InboundResponse | Unanswered | LocalEvent
