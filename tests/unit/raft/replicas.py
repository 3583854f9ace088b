"""A replica among three voters, with a log that ends where the test says."""

from __future__ import annotations

from millstream.model import BrokerId, LeaderEpoch, Offset, Uuid
from millstream.raft.election_state import ElectionState
from millstream.raft.log_progress import ReplicatedLog
from millstream.raft.messages import LogPosition
from millstream.raft.quorum_state import RaftIdentity, RaftTimeouts
from millstream.raft.replica import RaftReplica
from millstream.raft.snapshot import SnapshotId
from millstream.raft.voter_history import VoterHistory
from millstream.raft.voter_set import ReplicaKey, Voter, VoterSet
from millstream.runtime import Instant

KEYS = [ReplicaKey(BrokerId(n), Uuid(bytes([n]) * 16)) for n in (1, 2, 3)]
THREE = VoterSet(Voter(key) for key in KEYS)


class StubLog:
    """Ends where the test says, all of it in one epoch."""

    def __init__(self, end_offset: int = 0, epoch: int = -1, high_watermark: int = 0) -> None:
        self.end, self.committed = (
            LogPosition(Offset(end_offset), LeaderEpoch(epoch)),
            high_watermark,
        )

    def position(self) -> LogPosition:
        return self.end

    def end_of_epoch(self, epoch: LeaderEpoch) -> LogPosition:
        return self.end if epoch >= self.end.last_epoch else LogPosition(Offset(0), LeaderEpoch(-1))

    def position_at(self, offset: Offset) -> LogPosition:
        return LogPosition(offset, self.end.last_epoch if offset else LeaderEpoch(-1))

    def high_watermark(self) -> Offset:
        return Offset(self.committed)

    def start(self) -> LogPosition:
        return LogPosition(Offset(0), LeaderEpoch(-1))

    def newest_snapshot(self) -> None:
        return None

    def snapshot_bytes(self, snapshot_id: SnapshotId) -> None:
        return None


class Never:
    def random(self) -> float:
        return 0.0

    def randrange(self, stop: int) -> int:
        return 0

    def randbytes(self, count: int) -> bytes:
        return bytes(count)


def at(now_ms: int) -> Instant:
    return Instant(now_ms, now_ms)


def replica(
    voters: VoterSet = THREE, stored: ElectionState | None = None, log: ReplicatedLog | None = None
) -> RaftReplica:
    return RaftReplica(
        RaftIdentity(KEYS[0]),
        VoterHistory.bootstrapped(voters),
        RaftTimeouts(),
        Never(),
        log or StubLog(),
        stored=stored or ElectionState(),
        now=at(0),
    )
