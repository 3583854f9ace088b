"""A leader's arithmetic: what is committed, who still listens, who should lead next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from millstream.model import BrokerId, Offset
from millstream.raft.roles import Leader, ReplicaProgress
from millstream.raft.voter_set import ReplicaKey, VoterSet


def with_fetch(leader: Leader, voter_id: BrokerId, end_offset: Offset, now_ms: int) -> Leader:
    """A voter fetched from `end_offset`: it has everything below. A lower offset than before replaces the higher one."""
    return _with_progress(leader, voter_id, ReplicaProgress(end_offset, now_ms, acknowledged=True))


def with_acknowledgement(leader: Leader, voter_id: BrokerId, now_ms: int) -> Leader:
    before = leader.progress[voter_id]
    return _with_progress(
        leader, voter_id, replace(before, last_fetch_ms=now_ms, acknowledged=True)
    )


def committed_offset(leader: Leader, voters: VoterSet, flushed: Offset) -> Offset | None:
    """Returns the offset below which a majority of voters has everything on disk, once that includes a record of this epoch.

    `flushed` is the leader's own synced end: its unsynced records count for nothing.
    """
    ends = [state.end_offset for state in leader.progress.values()]
    if voters.has(leader.local):
        ends.append(flushed)
    ends.sort(reverse=True)
    majority_end = ends[voters.majority - 1]
    return majority_end if majority_end > leader.epoch_start_offset else None


def quorum_heard_ms(leader: Leader, voters: VoterSet) -> int | None:
    """Returns the time at which the majority was last complete; None when the leader is a majority by itself."""
    others_needed = voters.majority - voters.has(leader.local)
    if others_needed == 0:
        return None
    times = sorted((state.last_fetch_ms for state in leader.progress.values()), reverse=True)
    return times[others_needed - 1]


def successors(leader: Leader, voters: VoterSet) -> tuple[ReplicaKey, ...]:
    """Returns the other voters, the one with the longest log first."""
    order = sorted(leader.progress, key=lambda voter: (-leader.progress[voter].end_offset, voter))
    return tuple(voters.key_of(voter_id) for voter_id in order)


def _with_progress(leader: Leader, voter_id: BrokerId, state: ReplicaProgress) -> Leader:
    progress: Mapping[BrokerId, ReplicaProgress] = {**leader.progress, voter_id: state}
    return replace(leader, progress=progress)
