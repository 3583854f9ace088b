"""The roles of a replica in its quorum: one frozen class each, holding exactly what that role knows.

    Unattached   knows the epoch, perhaps a leader or its own vote, and waits
    Prospective  asks whether it would be elected, without disturbing the others (pre-vote, KIP-996)
    Candidate    has voted for itself in a new epoch and asks for votes
    Leader       appends, and counts how far the voters have fetched
    Follower     fetches from the leader of the epoch
    Resigned     was the leader of this epoch and must not be again

Owns no transitions: `quorum_state` does. Deadlines are readings of the monotonic clock in milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from millstream.model import BrokerId, LeaderEpoch, Offset
from millstream.raft.election_state import NOBODY, ElectionState
from millstream.raft.voter_set import ReplicaKey

UNKNOWN_OFFSET: Final = Offset(-1)
"""The end of a replica that was not heard of in this epoch."""


@dataclass(frozen=True, slots=True)
class Tally:
    """Answers of voters to a request for votes. A voter counts once, with what it said last."""

    granted: frozenset[BrokerId] = frozenset()
    rejected: frozenset[BrokerId] = frozenset()

    def with_answer(self, voter: BrokerId, *, granted: bool) -> Tally:
        others = Tally(self.granted - {voter}, self.rejected - {voter})
        if granted:
            return replace(others, granted=others.granted | {voter})
        return replace(others, rejected=others.rejected | {voter})

    def told(self, voters: frozenset[BrokerId]) -> str:
        """Returns, for the log, which of the voters are for it, which are against it, and which have not answered."""
        silent = voters - self.granted - self.rejected
        groups = (("for", self.granted), ("against", self.rejected), ("silent", silent))
        return "; ".join(f"{what}: {_numbers(who)}" for what, who in groups if who)


def _numbers(who: frozenset[BrokerId]) -> str:
    return ", ".join(str(each) for each in sorted(who))


@dataclass(frozen=True, slots=True, kw_only=True)
class Unattached:
    epoch: LeaderEpoch
    leader_id: BrokerId = NOBODY
    voted: ReplicaKey | None = None
    election_deadline_ms: int
    tally: Tally | None = None
    """Who would have elected this replica, where it asked last."""

    @property
    def election_state(self) -> ElectionState:
        return ElectionState(self.epoch, self.leader_id, self.voted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospective:
    epoch: LeaderEpoch
    leader_id: BrokerId = NOBODY
    """The leader it lost touch with; it goes back to it when no majority wants an election."""
    voted: ReplicaKey | None = None
    election_deadline_ms: int
    ask_deadline_ms: int = 0
    """When it asks again those who did not grant it: a voter that has just heard from the leader may soon miss it
    too."""
    tally: Tally = field(default_factory=Tally)

    @property
    def election_state(self) -> ElectionState:
        return ElectionState(self.epoch, self.leader_id, self.voted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    epoch: LeaderEpoch
    local: ReplicaKey
    election_deadline_ms: int
    ask_deadline_ms: int = 0
    """When it asks again those who did not answer."""
    is_lost: bool = False
    """A majority will not vote for it."""
    tally: Tally = field(default_factory=Tally)

    @property
    def leader_id(self) -> BrokerId:
        return NOBODY

    @property
    def election_state(self) -> ElectionState:
        return ElectionState(self.epoch, NOBODY, self.local)


@dataclass(frozen=True, slots=True)
class ReplicaProgress:
    """The progress of one other replica, as its fetches told this leader."""

    heard_ms: int
    """When it last showed itself; at first the time since when it is waited for."""
    end_offset: Offset = UNKNOWN_OFFSET
    acknowledged: bool = False
    """It knows who leads: it answered BeginQuorumEpoch, or fetched."""
    fetched_ms: int = -1
    """When it last fetched; -1 for never."""
    caught_up_ms: int = -1
    """When it last had everything; -1 for never."""
    leader_end: Offset = UNKNOWN_OFFSET
    """The leader's end at that fetch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leader:
    epoch: LeaderEpoch
    local: ReplicaKey
    epoch_start_offset: Offset
    """Offset of the LEADER_CHANGE record: nothing counts as committed before it is."""
    granting: tuple[ReplicaKey, ...]
    progress: Mapping[ReplicaKey, ReplicaProgress]
    """The other voters, under the keys that the voter set has for them."""
    observers: Mapping[ReplicaKey, ReplicaProgress] = field(default_factory=dict)
    """All others that fetch, a voter's old or new disk included."""
    begin_epoch_deadline_ms: int
    """When voters that have not answered BeginQuorumEpoch are sent it again."""

    @property
    def leader_id(self) -> BrokerId:
        return self.local.id

    @property
    def election_state(self) -> ElectionState:
        return ElectionState(self.epoch, self.local.id, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Follower:
    epoch: LeaderEpoch
    leader_id: BrokerId
    voted: ReplicaKey | None = None
    fetch_deadline_ms: int
    """Without a good answer to a fetch by then, the leader counts as lost."""
    has_fetched: bool = False
    is_out_of_touch: bool = False
    """The leader did not answer for the fetch time-out. A voter stands then; an observer has no other role to go to."""
    leader_has_resigned: bool = False
    """The leader said that it steps down: what it still answers is of before."""
    tally: Tally | None = None
    """Who would have elected this replica, which lost sight of the leader; until that answers again."""

    @property
    def election_state(self) -> ElectionState:
        return ElectionState(self.epoch, self.leader_id, self.voted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resigned:
    epoch: LeaderEpoch
    local: ReplicaKey
    election_deadline_ms: int
    successors: tuple[ReplicaKey, ...] = ()
    """The other voters, in the order in which they should stand."""
    to_tell: frozenset[ReplicaKey] = frozenset()
    """Those of them that have not answered EndQuorumEpoch."""
    tell_deadline_ms: int = 0
    """When they are told again."""

    @property
    def leader_id(self) -> BrokerId:
        return self.local.id

    @property
    def election_state(self) -> ElectionState:
        return ElectionState(self.epoch, self.local.id, None)


Role = Unattached | Prospective | Candidate | Leader | Follower | Resigned
