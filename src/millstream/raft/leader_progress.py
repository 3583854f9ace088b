"""A leader's arithmetic: what is committed, who still listens, who should lead next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from millstream.model import Offset
from millstream.raft.roles import Leader, ReplicaProgress
from millstream.raft.voter_set import ReplicaKey, VoterSet


def with_fetch(leader: Leader, voter: ReplicaKey, end_offset: Offset, now_ms: int) -> Leader:
    """A voter fetched from `end_offset`: it has everything below. A lower offset than before replaces the higher one."""
    return _with_progress(leader, voter, ReplicaProgress(now_ms, end_offset, acknowledged=True))


def with_contact(leader: Leader, voter: ReplicaKey, now_ms: int) -> Leader:
    """A voter showed itself, with a log that this one does not continue: what it had told of it before is void."""
    return _with_progress(leader, voter, ReplicaProgress(now_ms, acknowledged=True))


def with_acknowledgement(leader: Leader, voter: ReplicaKey) -> Leader:
    """A voter answered that it knows who leads. It promised nothing, and may yet be unable to fetch."""
    before = leader.progress[voter]
    return _with_progress(leader, voter, replace(before, acknowledged=True))


def with_voters(leader: Leader, voters: VoterSet, now_ms: int) -> Leader:
    """Counts with other voters from now on: those that stay keep what they told."""
    others = voters.others(leader.local)
    progress = {key: leader.progress.get(key, ReplicaProgress(now_ms)) for key in others}
    return replace(leader, progress=progress, begin_epoch_deadline_ms=now_ms)


def committed_offset(leader: Leader, voters: VoterSet, flushed: Offset) -> Offset | None:
    """Returns the offset below which a majority of voters has everything on disk, once that includes a record of this epoch.

    `flushed` is the leader's own synced end: its unsynced records count for nothing. A leader that removes itself counts no more.
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
    times = sorted((state.heard_ms for state in leader.progress.values()), reverse=True)
    return times[others_needed - 1]


def successors(leader: Leader) -> tuple[ReplicaKey, ...]:
    """Returns the other voters, the one with the longest log first."""
    return tuple(
        sorted(leader.progress, key=lambda voter: (-leader.progress[voter].end_offset, voter))
    )


def _with_progress(leader: Leader, voter: ReplicaKey, state: ReplicaProgress) -> Leader:
    progress: Mapping[ReplicaKey, ReplicaProgress] = {**leader.progress, voter: state}
    return replace(leader, progress=progress)
