"""The state of a replica of the quorum, for those who look at it from outside; and the progress of
all, as their leader knows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, assert_never

from millstream.model import Offset
from millstream.raft.leader_progress import living_observers
from millstream.raft.roles import (
    UNKNOWN_OFFSET,
    Candidate,
    Follower,
    Leader,
    Prospective,
    ReplicaProgress,
    Resigned,
    Role,
    Unattached,
)
from millstream.raft.voter_set import ReplicaKey, VoterSet
from millstream.runtime.interfaces import Instant

NEVER: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaState:
    """The state of the own replica."""

    name: str = "unattached"
    """As Kafka's metric `current-state` names it."""
    hears_leader: bool = False
    """Whether it leads, or has fetched from the leader within the fetch time-out."""
    vote: ReplicaKey | None = None
    """For whom it votes in this epoch."""
    votes: str = ""
    """Where it stands, or stood in vain: who votes for it, who against, and who is silent."""
    has_uncommitted_voters: bool = False
    """Whether the newest record that names voters is not committed yet."""


def describe_state(
    role: Role, voters: VoterSet, local: ReplicaKey, *, has_uncommitted_voters: bool
) -> ReplicaState:
    hears_leader = isinstance(role, Leader) or (
        isinstance(role, Follower)
        and role.has_fetched
        and not (role.is_out_of_touch or role.leader_has_resigned)
    )
    return ReplicaState(
        name=state_name(role, is_voter=voters.has(local)),
        hears_leader=hears_leader,
        vote=role.local if isinstance(role, Leader) else role.election_state.voted,
        votes=""
        if isinstance(role, Leader | Resigned) or role.tally is None
        else role.tally.told(voters.ids),
        has_uncommitted_voters=has_uncommitted_voters,
    )


def state_name(role: Role, *, is_voter: bool) -> str:
    """Returns what Kafka calls the role (`KafkaRaftMetrics`)."""
    match role:
        case Leader():
            return "leader"
        case Candidate():
            return "candidate"
        case Prospective(voted=voted):
            return "prospective" if voted is None else "prospective-voted"
        case Follower():
            return "follower" if is_voter else "observer"
        case Unattached(voted=voted):
            return "unattached" if voted is None else "unattached-voted"
        case Resigned():
            return "unattached"
        case _ as unknown:
            assert_never(unknown)


@dataclass(frozen=True, slots=True)
class ReplicaDescription:
    """One voter or observer.

    Times are of the wall clock in milliseconds; -1 for what the leader was not told in its epoch.
    """

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
