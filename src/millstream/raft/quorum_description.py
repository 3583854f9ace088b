"""The progress of every replica of the quorum, as its leader knows it: what DescribeQuorum tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from millstream.model import Offset
from millstream.raft.leader_progress import living_observers
from millstream.raft.roles import UNKNOWN_OFFSET, Leader, ReplicaProgress, Role
from millstream.raft.voter_set import ReplicaKey, VoterSet
from millstream.runtime.clock import Instant

NEVER: Final = -1


@dataclass(frozen=True, slots=True)
class ReplicaDescription:
    """One voter or observer. Times are of the wall clock in milliseconds; -1 for what the leader was not told in its epoch."""

    key: ReplicaKey
    log_end_offset: Offset = UNKNOWN_OFFSET
    last_fetch_ms: int = NEVER
    last_caught_up_ms: int = NEVER


@dataclass(frozen=True, slots=True)
class ReplicaDescriptions:
    voters: tuple[ReplicaDescription, ...]
    observers: tuple[ReplicaDescription, ...] = ()


def describe_replicas(
    role: Role, voters: VoterSet, log_end: Offset, now: Instant
) -> ReplicaDescriptions:
    """Returns what a leader knows of all; any other replica knows no more than who votes."""
    if not isinstance(role, Leader):
        return ReplicaDescriptions(tuple(ReplicaDescription(voter.key) for voter in voters))
    own = ReplicaDescription(role.local, log_end, now.wall_ms, now.wall_ms)
    observers = living_observers(role, now.monotonic_ms)
    return ReplicaDescriptions(
        tuple(
            _described(voter.key, role.progress[voter.key], now)
            if voter.key in role.progress
            else own
            for voter in voters
        ),
        tuple(_described(key, observers[key], now) for key in sorted(observers)),
    )


def _described(key: ReplicaKey, progress: ReplicaProgress, now: Instant) -> ReplicaDescription:
    def wall_ms(then_ms: int) -> int:
        return then_ms if then_ms == NEVER else now.wall_ms - (now.monotonic_ms - then_ms)

    return ReplicaDescription(
        key, progress.end_offset, wall_ms(progress.fetched_ms), wall_ms(progress.caught_up_ms)
    )
