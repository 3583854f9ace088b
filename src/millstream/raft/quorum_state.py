"""The role of this replica, and the only place where it changes.

The epoch never falls. What a transition changes of the election state is handed out once by `take_persist`, to be on
the disk before anything is sent. A leader that restarts comes back as Resigned: it never leads the same epoch twice
(its unsynced records may be gone).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from millstream.config_fields import from_keys
from millstream.model import BrokerId, LeaderEpoch, Offset
from millstream.raft.election_state import NOBODY, ElectionState
from millstream.raft.leader_progress import successors, with_voters
from millstream.raft.messages import Endpoints, Peer
from millstream.raft.ready import RoleChange
from millstream.raft.roles import (
    Candidate,
    Follower,
    Leader,
    Prospective,
    ReplicaProgress,
    Resigned,
    Role,
    Tally,
    Unattached,
)
from millstream.raft.voter_history import VoterHistory
from millstream.raft.voter_set import ControlRecord, ReplicaKey, VoterSet
from millstream.runtime.interfaces import Random

_HIGHER_EPOCH: Final = "a higher epoch is seen"
_LEADER_FOUND: Final = "the leader of this epoch or of a higher one is found"

TRANSITIONS: Final[Mapping[type[Role], Mapping[type[Role], str]]] = MappingProxyType(
    {
        Unattached: {
            Unattached: "a higher epoch is seen, or it gives its vote",
            Prospective: "no leader shows itself for the election time-out",
            Follower: _LEADER_FOUND,
        },
        Prospective: {
            Unattached: "a higher epoch is seen, it gives its vote, or it loses the pre-vote",
            Candidate: "a majority grants its pre-vote",
            Follower: "the leader is found, or shows itself again",
        },
        Candidate: {
            Unattached: _HIGHER_EPOCH,
            Prospective: "it loses the election, or nobody wins it for the election time-out",
            Leader: "a majority votes for it",
            Follower: _LEADER_FOUND,
        },
        Leader: {
            Unattached: _HIGHER_EPOCH,
            Resigned: "it is shut down, or no majority fetches from it",
            Follower: "the leader of a higher epoch is found",
        },
        Follower: {
            Unattached: _HIGHER_EPOCH,
            Prospective: "the leader does not answer for the fetch time-out, or resigns",
            Follower: "the leader of a higher epoch is found",
        },
        Resigned: {
            Unattached: _HIGHER_EPOCH,
            Prospective: "no leader shows itself for the election time-out",
            Follower: "the leader of a higher epoch is found",
        },
    }
)
"""What leads from each role to each that may follow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RaftTimeouts:
    """Kafka's `controller.quorum.*` time-outs, in milliseconds."""

    election_timeout_ms: int = from_keys("controller.quorum.election.timeout.ms", default=1000)
    election_backoff_max_ms: int = from_keys(
        "controller.quorum.election.backoff.max.ms", default=1000
    )
    """The longest time after which a successor of a leader that resigns stands."""
    fetch_timeout_ms: int = from_keys("controller.quorum.fetch.timeout.ms", default=2000)
    begin_epoch_retry_ms: int = 1000
    fetch_retry_ms: int = 1000
    """A fetch that was not answered is sent to another replica after this time, where there is one that may know the
    leader; longer than a leader may keep one waiting (500 ms)."""
    retry_backoff_ms: int = from_keys("controller.quorum.retry.backoff.ms", default=20)
    """Wait after a fetch that failed."""
    request_timeout_ms: int = from_keys("controller.quorum.request.timeout.ms", default=2000)
    """Time for a fetch from the one replica that can be asked, and for a change of the voters."""

    @property
    def check_quorum_timeout_ms(self) -> int:
        """A leader that no majority fetched from for this long steps down."""
        return self.fetch_timeout_ms * 3 // 2


@dataclass(frozen=True, slots=True)
class RaftIdentity:
    """The local replica, and where it looks for the others."""

    local: ReplicaKey
    endpoints: Endpoints = ()
    """Where it listens to other replicas, the default listener first."""
    bootstrap_servers: Endpoints = ()
    """`controller.quorum.bootstrap.servers`: addresses of replicas that may know the leader."""
    joins_by_itself: bool = False
    """`controller.quorum.auto.join.enable`, of a controller."""


class QuorumState:
    """Holds the current role. Every `become_*` checks that the transition exists."""

    def __init__(
        self,
        identity: RaftIdentity,
        history: VoterHistory,
        timeouts: RaftTimeouts,
        random: Random,
        *,
        stored: ElectionState,
        now_ms: int,
    ) -> None:
        self._identity = identity
        self._history = history
        self._timeouts = timeouts
        self._random = random
        self._stored = stored
        self._told: Peer | None = None
        """Where the last leader said it listens: it need not be among the voters that this replica knows."""
        self.is_closing = False
        self.is_installing = False
        """A fetched snapshot is being put in the place of the log."""
        self._changes: list[RoleChange] = []
        self.role: Role = self._restored(stored, now_ms)

    @property
    def identity(self) -> RaftIdentity:
        return self._identity

    @property
    def leader(self) -> Peer | None:
        """The leader of this epoch, also when it was lost from sight; None where none is known."""
        role = self.role
        if role.leader_id == NOBODY:
            return None
        if role.leader_id == self.local.id:
            return Peer(role.leader_id, self._identity.endpoints)
        if self._told is not None and self._told.id == role.leader_id:
            return self._told
        return Peer(role.leader_id, self.voters.endpoints_of(role.leader_id))

    def peer(self, voter: ReplicaKey) -> Peer:
        return Peer(voter.id, self.voters.endpoints_of(voter.id))

    def may_stand(self, high_watermark: Offset) -> bool:
        """Whether this replica stands in elections: a voter that is neither about to end nor
        without a log for a moment.

        One whose own removal is not committed stands too, without counting itself: who has that record has the longest
        log, and the others may need its vote, which it cannot give them (section 4.2.2 of the Raft thesis).
        """
        if self.is_closing or self.is_installing:
            return False
        return self.is_voter or self._history.at(high_watermark).voters.has(self.local)

    @property
    def _own_vote(self) -> frozenset[BrokerId]:
        return frozenset({self.local.id} if self.is_voter else ())

    @property
    def vouched_endpoints(self) -> Endpoints:
        leader = self.leader if self.vouched_leader != NOBODY else None
        return leader.endpoints if leader else ()

    @property
    def local(self) -> ReplicaKey:
        return self._identity.local

    @property
    def history(self) -> VoterHistory:
        return self._history

    @property
    def voters(self) -> VoterSet:
        """The newest voters that the log or the configuration names, whether they are committed or not."""
        return self._history.voters

    @property
    def kraft_version(self) -> int:
        return self._history.kraft_version

    @property
    def is_voter(self) -> bool:
        return self.voters.has(self.local)

    @property
    def other_voters(self) -> tuple[ReplicaKey, ...]:
        return self.voters.others(self.local)

    def note_appended(self, records: Iterable[tuple[Offset, ControlRecord]], now_ms: int) -> None:
        """Counts with the voters of appended control records from now on."""
        before = self.voters
        self._history.note(records)
        if self.voters is not before and isinstance(self.role, Leader):
            self.role = with_voters(self.role, self.voters, now_ms)

    @property
    def epoch(self) -> LeaderEpoch:
        return self.role.epoch

    @property
    def leader_id(self) -> BrokerId:
        return self.role.leader_id

    @property
    def vouched_leader(self) -> BrokerId:
        """The leader this replica can vouch for: one it only remembers does not count, it may be long gone."""
        match self.role:
            case Leader() as role:
                return role.leader_id
            case Follower() as role if not (role.leader_has_resigned or role.is_out_of_touch):
                return role.leader_id
            case _:
                return NOBODY

    def take_changes(self) -> tuple[RoleChange, ...]:
        """Returns the roles that were taken since the last call, and why."""
        changes, self._changes = tuple(self._changes), []
        return changes

    def take_persist(self) -> ElectionState | None:
        """Returns the election state if it is not what was handed out last."""
        state = self.role.election_state
        if state == self._stored:
            return None
        self._stored = state
        return state

    def become_unattached(self, epoch: LeaderEpoch, now_ms: int) -> None:
        """A higher epoch was seen whose leader is not known."""
        assert epoch > self.epoch, f"epoch {epoch} is not above {self.epoch}"
        deadline_ms = now_ms + self._election_wait_ms()
        role = Unattached(epoch=epoch, election_deadline_ms=deadline_ms)
        self._become(role, "another replica is in this epoch")

    def become_unattached_after_lost_pre_vote(self, now_ms: int) -> None:
        role = self.role
        assert isinstance(role, Prospective), self._no_such_transition()
        self._become(
            Unattached(
                epoch=role.epoch,
                leader_id=role.leader_id,
                voted=role.voted,
                election_deadline_ms=now_ms + self._election_wait_ms(),
                tally=role.tally,
            ),
            f"no majority would elect it: {role.tally.told(self.voters.ids)}",
        )

    def vote_for(self, candidate: ReplicaKey, now_ms: int) -> None:
        """Gives the one vote of this epoch away."""
        role = self.role
        assert isinstance(role, Unattached | Prospective), self._no_such_transition()
        assert role.voted is None or role.voted.matches(candidate), (
            f"this replica voted for {role.voted} in epoch {role.epoch} and may not vote for {candidate} too"
        )
        self._become(
            Unattached(
                epoch=role.epoch,
                voted=candidate,
                election_deadline_ms=now_ms + self._election_wait_ms(),
            ),
            f"it votes for {candidate.id}",
        )

    def become_prospective(self, now_ms: int) -> None:
        role = self.role
        assert isinstance(role, Unattached | Candidate | Follower | Resigned), (
            self._no_such_transition()
        )
        self._become(
            Prospective(
                epoch=role.epoch,
                leader_id=role.leader_id,
                voted=role.election_state.voted,
                election_deadline_ms=now_ms + self._election_wait_ms(),
                tally=Tally(granted=self._own_vote),
            ),
            self._why_to_stand(),
        )

    def become_candidate(self, now_ms: int) -> None:
        """Votes for itself in the next epoch."""
        role = self.role
        assert isinstance(role, Prospective), self._no_such_transition()
        assert len(role.tally.granted) >= self.voters.majority, "no majority of pre-votes"
        self._become(
            Candidate(
                epoch=LeaderEpoch(role.epoch + 1),
                local=self._identity.local,
                election_deadline_ms=now_ms + self._election_wait_ms(),
                tally=Tally(granted=self._own_vote),
            ),
            f"{_names(role.tally.granted)} would elect it",
        )

    def become_leader(self, epoch_start_offset: Offset, now_ms: int) -> None:
        role = self.role
        assert isinstance(role, Candidate), self._no_such_transition()
        voters = self.voters
        assert len(role.tally.granted) >= voters.majority, "no majority of votes"
        self._become(
            Leader(
                epoch=role.epoch,
                local=self._identity.local,
                epoch_start_offset=epoch_start_offset,
                granting=tuple(voters.key_of(voter_id) for voter_id in sorted(role.tally.granted)),
                progress={voter: ReplicaProgress(now_ms) for voter in self.other_voters},
                begin_epoch_deadline_ms=now_ms,
            ),
            f"{_names(role.tally.granted)} elected it",
        )

    def return_to_leader(self, now_ms: int) -> None:
        """No majority wants an election: the leader that was lost from sight gets half of the
        time-out to show itself again.
        """
        before = self.role
        assert isinstance(before, Prospective), self._no_such_transition()
        self.become_follower(self.epoch, self.leader_id, (), now_ms)
        self._changes[-1] = replace(
            self._changes[-1],
            reason=f"no majority would elect another one ({before.tally.told(self.voters.ids)})",
        )
        role = self.role
        assert isinstance(role, Follower), "become_follower makes a follower"
        deadline_ms = now_ms + self._timeouts.fetch_timeout_ms // 2
        self.role = replace(role, fetch_deadline_ms=deadline_ms, tally=before.tally)

    def become_follower(
        self, epoch: LeaderEpoch, leader_id: BrokerId, endpoints: Endpoints, now_ms: int
    ) -> None:
        """A leader was found: of a higher epoch, or of this one when it had none or was lost from sight."""
        assert leader_id not in (NOBODY, self._identity.local.id), "a replica follows another one"
        assert epoch >= self.epoch, f"epoch {epoch} is below {self.epoch}"
        if epoch == self.epoch:
            found_late = isinstance(self.role, Unattached | Prospective | Candidate)
            assert found_late, self._no_such_transition()
            assert self.leader_id in (NOBODY, leader_id), (
                f"epoch {epoch} has two leaders: {self.leader_id} and {leader_id}"
            )
        voted = self.role.election_state.voted if epoch == self.epoch else None
        self._become(
            Follower(
                epoch=epoch,
                leader_id=leader_id,
                voted=voted,
                fetch_deadline_ms=now_ms + self._timeouts.fetch_timeout_ms,
            ),
            f"{leader_id} leads",
        )
        self.note_leader_endpoints(endpoints)

    def note_leader_endpoints(self, endpoints: Endpoints) -> None:
        """Learns from the leader, or from who knows it, where it listens."""
        if endpoints:
            self._told = Peer(self.leader_id, endpoints)

    def become_resigned(self, reason: str, now_ms: int) -> None:
        """Gives every other replica a full time-out before this one stands again, if it lives that long."""
        role = self.role
        assert isinstance(role, Leader), self._no_such_transition()
        wait_ms = max(self._election_wait_ms(), self._timeouts.election_timeout_ms)
        self._become(
            Resigned(
                epoch=role.epoch,
                local=self._identity.local,
                election_deadline_ms=now_ms + wait_ms,
                successors=successors(role),
                to_tell=frozenset(role.progress),
                tell_deadline_ms=now_ms,
            ),
            reason,
        )

    def update_resigned(self, resigned: Resigned) -> None:
        """Replaces what the resigned leader knows of those that it told."""
        assert isinstance(self.role, Resigned), self._no_such_transition()
        self.role = resigned

    def count_answer(self, voter: BrokerId, *, granted: bool) -> None:
        """Counts a voter's answer to this replica's own request for (pre-)votes."""
        role = self.role
        assert isinstance(role, Prospective | Candidate), self._no_such_transition()
        assert voter in self.voters.ids, f"{voter} has no vote"
        self.role = replace(role, tally=role.tally.with_answer(voter, granted=granted))

    def hasten_election(self, now_ms: int) -> None:
        """The election is lost: the next one comes after a short time, random, so that the same two
        do not stand at once again.
        """
        role = self.role
        assert isinstance(role, Candidate), self._no_such_transition()
        if not role.is_lost:
            deadline_ms = now_ms + self._some(self._timeouts.election_timeout_ms // 2)
            deadline_ms = min(role.election_deadline_ms, deadline_ms)
            self.role = replace(role, election_deadline_ms=deadline_ms, is_lost=True)

    def note_asked(self, ask_deadline_ms: int) -> None:
        """The voters were asked for their (pre-)votes, and are asked again at the deadline."""
        role = self.role
        assert isinstance(role, Prospective | Candidate), self._no_such_transition()
        self.role = replace(role, ask_deadline_ms=ask_deadline_ms)

    def update_leader(self, leader: Leader) -> None:
        """Replaces what the leader knows of its voters; who leads stays as it is."""
        assert isinstance(self.role, Leader), self._no_such_transition()
        assert (leader.epoch, leader.local) == (self.role.epoch, self.role.local), (
            "not the same leader"
        )
        self.role = leader

    def note_successful_fetch(self, now_ms: int) -> None:
        """A good answer of the leader arrived."""
        self.give_time(now_ms)
        role = self.role
        assert isinstance(role, Follower), self._no_such_transition()
        if role.is_out_of_touch:
            self._note_change(f"{role.leader_id} answers again")
        self.role = replace(role, has_fetched=True, is_out_of_touch=False, tally=None)

    def lose_touch(self) -> None:
        """The leader is silent: it is named to nobody, and holds no election back, although
        this replica stands in none.

        It may be a voter whose log does not say so yet: the others may need its vote.
        """
        role = self.role
        assert isinstance(role, Follower), self._no_such_transition()
        if not role.is_out_of_touch:
            self._note_change(
                f"{role.leader_id} did not answer for {self._timeouts.fetch_timeout_ms} ms"
            )
        self.role = replace(role, has_fetched=False, is_out_of_touch=True)

    def give_time(self, now_ms: int) -> None:
        """Gives the leader, if there is one, the whole time-out from now on."""
        if isinstance(self.role, Follower):
            deadline = now_ms + self._timeouts.fetch_timeout_ms
            self.role = replace(self.role, fetch_deadline_ms=deadline)

    def stand_soon(self, wait_ms: int, now_ms: int) -> None:
        """The leader of this epoch steps down: stand after `wait_ms`, and let others (KAFKA-20895)."""
        role = self.role
        assert isinstance(role, Follower), self._no_such_transition()
        self.role = replace(
            role,
            fetch_deadline_ms=now_ms + wait_ms,
            has_fetched=False,
            leader_has_resigned=True,
        )

    def _become(self, role: Role, reason: str) -> None:
        assert type(role) in TRANSITIONS[type(self.role)], self._no_such_transition()
        self.role = role
        self._note_change(reason)

    def _note_change(self, reason: str) -> None:
        role = self.role
        self._changes.append(RoleChange(type(role).__name__, role.epoch, role.leader_id, reason))

    def _restored(self, stored: ElectionState, now_ms: int) -> Role:
        deadline = now_ms + self._election_wait_ms()
        if stored.leader_id == self._identity.local.id:
            # Others may still follow it, as after a stop of all: told so, one of them stands now, and not after a fetch time-out.
            return Resigned(
                epoch=stored.epoch,
                local=self._identity.local,
                election_deadline_ms=deadline,
                successors=self.other_voters,
                to_tell=frozenset(self.other_voters),
                tell_deadline_ms=now_ms,
            )
        if stored.has_leader:
            return Follower(
                epoch=stored.epoch,
                leader_id=stored.leader_id,
                voted=stored.voted,
                fetch_deadline_ms=now_ms + self._timeouts.fetch_timeout_ms,
            )
        return Unattached(
            epoch=stored.epoch,
            voted=stored.voted,
            election_deadline_ms=deadline,
        )

    def _election_wait_ms(self) -> int:
        """Returns the time to wait for others to show themselves: random, so that two rarely stand at once."""
        if not self.other_voters:
            return 0  # there is no other voter to wait for
        timeout = self._timeouts.election_timeout_ms
        return timeout + self._some(timeout)

    def _some(self, duration_ms: int) -> int:
        return self._random.randrange(duration_ms) if duration_ms else 0

    def _why_to_stand(self) -> str:
        match self.role:
            case Follower(leader_has_resigned=True, leader_id=leader_id):
                return f"{leader_id} steps down"
            case Follower(leader_id=leader_id):
                timeout_ms = self._timeouts.fetch_timeout_ms
                return f"{leader_id} did not answer for {timeout_ms} ms"
            case Candidate(tally=tally):
                return f"nobody won the election in time: {tally.told(self.voters.ids)}"
            case _:
                return "no leader showed itself in time"

    def _no_such_transition(self) -> str:
        return f"a replica that is {type(self.role).__name__} in epoch {self.epoch} has no such transition"


def _names(voters: Iterable[BrokerId]) -> str:
    return ", ".join(str(voter_id) for voter_id in sorted(voters))
