"""Elections, from both sides: standing, asking, voting, winning, leading an epoch in, and giving it up.

Owns when this replica changes its role; the transitions themselves are `QuorumState`'s, the rules of votes `voting`'s.
"""

from __future__ import annotations

from dataclasses import replace

from millstream.model import BrokerId
from millstream.raft.election_state import NOBODY
from millstream.raft.leader_progress import quorum_heard_ms, successors, with_acknowledgement
from millstream.raft.log_progress import LogProgress
from millstream.raft.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    RaftMessage,
    VoteRequest,
    VoteResponse,
)
from millstream.raft.quorum_state import QuorumState, RaftTimeouts
from millstream.raft.roles import Candidate, Follower, Leader, Prospective, Resigned, Unattached
from millstream.raft.step_outcome import StepOutcome
from millstream.raft.voter_set import (
    KRAFT_VERSION_DYNAMIC,
    ControlRecord,
    dynamic_quorum_records,
    leader_change_record,
)
from millstream.raft.voting import may_grant


class Elections:
    def __init__(self, quorum: QuorumState, log: LogProgress, timeouts: RaftTimeouts) -> None:
        self._quorum = quorum
        self._log = log
        self._timeouts = timeouts

    def observe_epoch(self, message: RaftMessage, outcome: StepOutcome) -> None:
        """Moves to the message's epoch when it is higher, and to the leader it names when there was none."""
        epoch, leader_id = message.epoch, _leader_named_by(message)
        if epoch > self._quorum.epoch:
            if leader_id in (NOBODY, self._id):
                self._quorum.become_unattached(epoch, outcome.now_ms)
            else:
                self._quorum.become_follower(epoch, leader_id, outcome.now_ms)
        elif epoch == self._quorum.epoch and leader_id not in (NOBODY, self._id):
            role = self._quorum.role
            # A replica that lost touch with its leader believes in it again only when the leader itself says so:
            # else followers of a dead leader, and its last answers, would keep the others from electing another.
            news = role.leader_id == NOBODY or isinstance(message, BeginQuorumEpochRequest)
            if news and isinstance(role, Unattached | Prospective | Candidate):
                self._quorum.become_follower(epoch, leader_id, outcome.now_ms)

    def answer_vote(self, request: VoteRequest, outcome: StepOutcome) -> None:
        role = self._quorum.role
        granted = (
            request.epoch == self._quorum.epoch
            and request.voter.matches(self._quorum.local)
            and may_grant(role, request, self._log.end)
        )
        if granted and not request.pre_vote and isinstance(role, Unattached | Prospective):
            self._quorum.vote_for(request.source, outcome.now_ms)
        response = VoteResponse(
            source=self._id,
            epoch=self._quorum.epoch,
            leader_id=self._quorum.vouched_leader,
            granted=granted,
        )
        outcome.send(request.source.id, response)

    def count_vote(self, response: VoteResponse) -> None:
        role = self._quorum.role
        asked = isinstance(role, Prospective | Candidate) and response.epoch == self._quorum.epoch
        if asked and response.source in self._quorum.voters.ids:
            self._quorum.count_answer(response.source, granted=response.granted)

    def answer_begin_epoch(self, request: BeginQuorumEpochRequest, outcome: StepOutcome) -> None:
        response = BeginQuorumEpochResponse(
            source=self._id, epoch=self._quorum.epoch, leader_id=self._quorum.vouched_leader
        )
        outcome.send(request.source, response)

    def note_acknowledgement(self, response: BeginQuorumEpochResponse) -> None:
        role = self._quorum.role
        if not isinstance(role, Leader) or response.epoch != role.epoch:
            return
        for voter in role.progress:
            if voter.id == response.source:
                self._quorum.update_leader(with_acknowledgement(role, voter))

    def note_end_of_epoch(self, request: EndQuorumEpochRequest, outcome: StepOutcome) -> None:
        """The leader goes: the first of its successors stands now, the others one time-out later each."""
        role = self._quorum.role
        if not isinstance(role, Follower) or request.epoch != role.epoch:
            return
        ids = [key.id for key in request.preferred_successors]
        place = ids.index(self._id) if self._id in ids else len(ids)
        self._quorum.stand_soon(place * self._timeouts.election_timeout_ms, outcome.now_ms)

    def resign(self, outcome: StepOutcome) -> None:
        role = self._quorum.role
        if not isinstance(role, Leader):
            return
        preferred = successors(role)
        self._quorum.become_resigned(outcome.now_ms)
        for voter in self._quorum.other_voters:
            request = EndQuorumEpochRequest(
                source=self._id, epoch=role.epoch, preferred_successors=preferred
            )
            outcome.send(voter.id, request)

    def check_deadlines(self, outcome: StepOutcome) -> None:
        role = self._quorum.role
        if not self._quorum.is_voter:
            return
        match role:
            case Unattached() | Resigned() | Candidate():
                if outcome.now_ms >= role.election_deadline_ms:
                    self._stand(outcome)
            case Follower():
                if outcome.now_ms >= role.fetch_deadline_ms:
                    self._stand(outcome)
            case Prospective():
                if outcome.now_ms >= role.election_deadline_ms or self._is_rejected(role):
                    self._give_up(role, outcome)
            case Leader():
                deadline_ms = self.check_quorum_deadline_ms(role)
                if deadline_ms is not None and outcome.now_ms >= deadline_ms:
                    self.resign(outcome)

    def check_quorum_deadline_ms(self, role: Leader) -> int | None:
        """Returns the time at which a leader steps down unless a majority shows itself; None when it is a majority by itself."""
        heard_ms = quorum_heard_ms(role, self._quorum.voters)
        return None if heard_ms is None else heard_ms + self._timeouts.check_quorum_timeout_ms

    def advance(self, outcome: StepOutcome) -> None:
        """Becomes a candidate on a majority of pre-votes, and the leader on a majority of votes."""
        majority = self._quorum.voters.majority
        role = self._quorum.role
        if isinstance(role, Prospective) and len(role.tally.granted) >= majority:
            self._quorum.become_candidate(outcome.now_ms)
            self._ask_for_votes(outcome, pre_vote=False)
        role = self._quorum.role
        if isinstance(role, Candidate) and len(role.tally.granted) >= majority:
            self._lead(outcome)

    def maybe_begin_epoch(self, outcome: StepOutcome) -> None:
        """Tells the voters that have not shown themselves who leads, until they do."""
        role = self._quorum.role
        if not isinstance(role, Leader) or outcome.now_ms < role.begin_epoch_deadline_ms:
            return
        for voter, state in role.progress.items():
            if not state.acknowledged:
                request = BeginQuorumEpochRequest(source=self._id, epoch=role.epoch)
                outcome.send(voter.id, request)
        deadline_ms = outcome.now_ms + self._timeouts.begin_epoch_retry_ms
        self._quorum.update_leader(replace(role, begin_epoch_deadline_ms=deadline_ms))

    def _stand(self, outcome: StepOutcome) -> None:
        self._quorum.become_prospective(outcome.now_ms)
        self._ask_for_votes(outcome, pre_vote=True)

    def _give_up(self, role: Prospective, outcome: StepOutcome) -> None:
        if role.leader_id in (NOBODY, self._id):
            self._quorum.become_unattached_after_lost_pre_vote(outcome.now_ms)
        else:
            self._quorum.become_follower(role.epoch, role.leader_id, outcome.now_ms)

    def _is_rejected(self, role: Prospective) -> bool:
        return len(role.tally.rejected) >= self._quorum.voters.majority

    def _ask_for_votes(self, outcome: StepOutcome, *, pre_vote: bool) -> None:
        for voter in self._quorum.other_voters:
            request = VoteRequest(
                source=self._quorum.local,
                epoch=self._quorum.epoch,
                log=self._log.end,
                voter=voter,
                pre_vote=pre_vote,
            )
            outcome.send(voter.id, request)

    def _lead(self, outcome: StepOutcome) -> None:
        """The epoch's first record says who leads; a log that does not say yet who votes says it here."""
        entry = self._quorum.history.newest
        self._quorum.become_leader(self._log.end.end_offset, outcome.now_ms)
        role = self._quorum.role
        assert isinstance(role, Leader), "become_leader makes a leader"
        control: list[ControlRecord] = [
            leader_change_record(role.local, entry.voters, role.granting)
        ]
        if entry.kraft_version >= KRAFT_VERSION_DYNAMIC and not entry.is_in_log:
            control += dynamic_quorum_records(entry.voters)
        self._log.append(outcome, role.epoch, control=tuple(control))

    @property
    def _id(self) -> BrokerId:
        return self._quorum.local.id


def _leader_named_by(message: RaftMessage) -> BrokerId:
    match message:
        case BeginQuorumEpochRequest() | EndQuorumEpochRequest():
            return message.source
        case VoteResponse() | BeginQuorumEpochResponse() | FetchResponse():
            return message.leader_id
        case VoteRequest() | FetchRequest():
            return NOBODY
