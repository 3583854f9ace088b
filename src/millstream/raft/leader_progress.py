"""A leader's arithmetic: what is committed, who still listens, who should lead next, how far everybody is.

Replicas are told apart by id and directory: a fetch of a new disk says nothing of what the old one had.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from millstream.model import ZERO_UUID, Offset
from millstream.raft.roles import UNKNOWN_OFFSET, Leader, ReplicaProgress
from millstream.raft.voter_set import ReplicaKey, VoterSet

OBSERVER_SESSION_MS: Final = 300_000
"""An observer that did not fetch for so long is forgotten, as in Kafka."""


def voter_of(leader: Leader, source: ReplicaKey) -> ReplicaKey | None:
    """Returns the key that the voter set has for another replica; None for an observer.

    Static voters are known by id alone. One that is known with its directory is no other, nor one that does not say.
    """
    for voter in leader.progress:
        if voter.id == source.id and voter.directory_id in (ZERO_UUID, source.directory_id):
            return voter
    return None


def with_fetch(
    leader: Leader, source: ReplicaKey, end_offset: Offset, leader_end: Offset, now_ms: int
) -> Leader:
    """A replica fetched from `end_offset`: it has everything below. A lower offset than before replaces the higher one.

    It is caught up when it fetches from the leader's end, or from where that was at its fetch
    before: as of that one, then.
    """
    before = _progress(leader, source, now_ms)
    caught_up_ms = before.caught_up_ms
    if end_offset >= leader_end:
        caught_up_ms = now_ms
    elif before.leader_end != UNKNOWN_OFFSET and end_offset >= before.leader_end:
        caught_up_ms = before.fetched_ms
    after = ReplicaProgress(
        now_ms,
        end_offset,
        acknowledged=True,
        fetched_ms=now_ms,
        caught_up_ms=caught_up_ms,
        leader_end=leader_end,
    )
    return _with_progress(leader, source, after, now_ms)


def with_contact(leader: Leader, source: ReplicaKey, now_ms: int) -> Leader:
    """A replica showed itself, with a log that this one does not continue: what it had told of it before is void."""
    before = _progress(leader, source, now_ms)
    after = replace(
        before, heard_ms=now_ms, end_offset=UNKNOWN_OFFSET, acknowledged=True, fetched_ms=now_ms
    )
    return _with_progress(leader, source, after, now_ms)


def with_acknowledgement(leader: Leader, voter: ReplicaKey) -> Leader:
    """A voter answered that it knows who leads. It promised nothing, and may yet be unable to fetch."""
    after = replace(leader.progress[voter], acknowledged=True)
    return replace(leader, progress={**leader.progress, voter: after})


def with_voters(leader: Leader, voters: VoterSet, now_ms: int) -> Leader:
    """Counts with other voters from now on. Whoever joins or leaves them keeps what it told."""
    known = {**leader.observers, **leader.progress}
    progress: dict[ReplicaKey, ReplicaProgress] = {}
    for key in voters.others(leader.local):
        unnamed = known.pop(
            ReplicaKey(key.id), None
        )  # a static voter, whose directory is known now
        if unnamed is not None:  # what it had promised, another directory may have
            unnamed = replace(unnamed, end_offset=UNKNOWN_OFFSET)
        progress[key] = known.pop(key, unnamed or ReplicaProgress(now_ms))
    return replace(leader, progress=progress, observers=known, begin_epoch_deadline_ms=now_ms)


def committed_offset(leader: Leader, voters: VoterSet, flushed: Offset) -> Offset | None:
    """Returns the offset below which a majority of voters has everything on disk, once that
    includes a record of this epoch.

    `flushed` is the leader's own synced end: its unsynced records count for nothing. A leader that
    removes itself counts no more.
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


def living_observers(leader: Leader, now_ms: int) -> dict[ReplicaKey, ReplicaProgress]:
    """Returns the observers that fetched within their session."""
    return {
        key: state
        for key, state in leader.observers.items()
        if now_ms - state.heard_ms < OBSERVER_SESSION_MS
    }


def _progress(leader: Leader, source: ReplicaKey, now_ms: int) -> ReplicaProgress:
    voter = voter_of(leader, source)
    known = leader.observers.get(source) if voter is None else leader.progress[voter]
    return known or ReplicaProgress(now_ms)


def _with_progress(
    leader: Leader, source: ReplicaKey, state: ReplicaProgress, now_ms: int
) -> Leader:
    voter = voter_of(leader, source)
    if voter is not None:
        return replace(leader, progress={**leader.progress, voter: state})
    return replace(leader, observers={**living_observers(leader, now_ms), source: state})
