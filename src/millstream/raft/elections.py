"""Elections, from both sides: standing, asking, voting, winning, leading an epoch in, and giving it up.

Owns when this replica changes its role; the transitions themselves are `QuorumState`'s, the rules of votes `voting`'s.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from millstream.errors import FencedLeaderEpoch, InvalidRequest, InvalidVoterKey
from millstream.model import BrokerId, LeaderEpoch
from millstream.raft.election_state import NOBODY
from millstream.raft.leader_progress import quorum_heard_ms, with_acknowledgement
from millstream.raft.log_progress import LogProgress
from millstream.raft.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    Endpoints,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    QuorumRequest,
    QuorumResponse,
    Refusal,
    Send,
    VoterChangeRequest,
    VoterChangeResponse,
    VoteRequest,
    VoteResponse,
)
from millstream.raft.quorum_state import QuorumState, RaftTimeouts
from millstream.raft.ready import StepOutcome, VoteAnswer
from millstream.raft.roles import (
    Candidate,
    Follower,
    Leader,
    Prospective,
    Resigned,
    Role,
    Unattached,
)
from millstream.raft.voter_set import (
    KRAFT_VERSION_DYNAMIC,
    ControlRecord,
    ReplicaKey,
    Voter,
    VoterSet,
    dynamic_quorum_records,
    leader_change_record,
)
from millstream.raft.voting import may_grant, why_refused

VOTE_RETRY_MS: Final = 100
"""After this time a (pre-)vote is asked for again: often enough to lose little of the shortest
election time-out, a second."""


def successor_wait_ms(place: int, successors: int, wait_max_ms: int) -> int:
    """Returns how long a successor of a leader that resigns waits before it stands: the first not
    at all, the last the longest.

    It doubles from each to the next, as in Kafka (`strictExponentialElectionBackoffMs`). Whoever is not among the
    successors waits longest.
    """
    if place == 0:
        return 0
    if place >= successors:
        return wait_max_ms
    return min(wait_max_ms, (wait_max_ms >> (successors - 1)) << (place - 1))


class Elections:
    def __init__(self, quorum: QuorumState, log: LogProgress, timeouts: RaftTimeouts) -> None:
        self._quorum = quorum
        self._log = log
        self._timeouts = timeouts

    def observe_request(
        self, request: QuorumRequest | VoterChangeRequest, outcome: StepOutcome
    ) -> bool:
        """Moves to the epoch of a voter's request. False for one that no right voter sends; it moves nothing.

        That is a vote for an epoch in which records were written, a second leader of an epoch, a leader with our id.
        What an observer may ask, a fetch above all, moves nothing either: any stranger could send it.
        """
        match request:
            case VoteRequest() if request.log.last_epoch >= request.epoch + request.pre_vote:
                return False
            case VoteRequest():
                return self._observe(request.epoch, NOBODY, (), outcome)
            case BeginQuorumEpochRequest() | EndQuorumEpochRequest() if request.source == self._id:
                return False
            case BeginQuorumEpochRequest():
                is_known = self._observe(request.epoch, request.source, request.endpoints, outcome)
                if is_known:
                    self._believe_in(request, outcome)
                return is_known
            case EndQuorumEpochRequest():
                return self._observe(request.epoch, request.source, request.endpoints, outcome)
            case _:
                return True

    def observe_response(
        self, response: QuorumResponse | VoterChangeResponse, outcome: StepOutcome
    ) -> bool:
        """Moves to the epoch of an answer and to the leader that it names; False when that is a
        second leader of an epoch.
        """
        return self._observe(response.epoch, response.leader_id, response.endpoints, outcome)

    def _observe(
        self, epoch: LeaderEpoch, leader_id: BrokerId, endpoints: Endpoints, outcome: StepOutcome
    ) -> bool:
        quorum = self._quorum
        names_other = leader_id not in (NOBODY, self._id)
        if epoch > quorum.epoch:
            if names_other:
                quorum.become_follower(epoch, leader_id, endpoints, outcome.now_ms)
            else:
                quorum.become_unattached(epoch, outcome.now_ms)
        elif epoch == quorum.epoch and names_other:
            if quorum.leader_id == NOBODY:
                quorum.become_follower(epoch, leader_id, endpoints, outcome.now_ms)
            elif quorum.leader_id != leader_id:
                return False
            quorum.note_leader_endpoints(endpoints)
        return True

    def _believe_in(self, request: BeginQuorumEpochRequest, outcome: StepOutcome) -> None:
        """Follows a leader again that was lost from sight, now that it shows itself.

        Others do not bring it back: followers of a dead leader, and its last answers, would keep
        the rest from electing another.
        """
        role = self._quorum.role
        if request.epoch == role.epoch and isinstance(role, Unattached | Prospective):
            self._quorum.become_follower(
                role.epoch, request.source, request.endpoints, outcome.now_ms
            )

    def answer_vote(
        self, token: int, request: VoteRequest, outcome: StepOutcome, *, is_right: bool
    ) -> None:
        error = self._refusal(request.epoch, request.voter, is_right=is_right)
        role = self._quorum.role
        granted = error is None and may_grant(role, request, self._log.end)
        outcome.vote_answers.append(self._told(request, role, error, granted=granted))
        if granted and not request.pre_vote and isinstance(role, Unattached | Prospective):
            self._quorum.vote_for(request.source, outcome.now_ms)
        response = VoteResponse(
            epoch=self._quorum.epoch,
            leader_id=self._quorum.vouched_leader,
            endpoints=self._quorum.vouched_endpoints,
            granted=granted,
            error=error,
        )
        outcome.reply(token, response)

    def _told(
        self, request: VoteRequest, role: Role, error: Refusal | None, *, granted: bool
    ) -> VoteAnswer:
        refusal = None
        if error is not None:
            refusal = f"{error().name}, this node is in epoch {self._quorum.epoch}"
        elif not granted:
            refusal = why_refused(role, request, self._log.end)
        return VoteAnswer(
            candidate=request.source.id,
            epoch=request.epoch,
            pre_vote=request.pre_vote,
            refusal=refusal,
        )

    def count_vote(
        self, request: VoteRequest, response: VoteResponse, outcome: StepOutcome
    ) -> None:
        """The answer says not whether it is to a pre-vote: the request does."""
        role = self._quorum.role
        is_asking = (
            isinstance(role, Prospective) if request.pre_vote else isinstance(role, Candidate)
        )
        is_counted = is_asking and self._quorum.voters.has(request.voter)
        if is_counted and request.epoch == response.epoch == role.epoch:
            self._quorum.count_answer(request.voter.id, granted=response.granted)
            self._maybe_stand_again_soon(outcome)

    def note_unanswered(self, send: Send, outcome: StepOutcome) -> None:
        """A voter that cannot be reached will not vote in this election."""
        request, role = send.message, self._quorum.role
        if not isinstance(request, VoteRequest) or request.pre_vote:
            return
        if not isinstance(role, Candidate) or request.epoch != role.epoch:
            return
        if request.voter.id not in role.tally.granted:
            self._quorum.count_answer(request.voter.id, granted=False)
            self._maybe_stand_again_soon(outcome)

    def _maybe_stand_again_soon(self, outcome: StepOutcome) -> None:
        """Two that stood at once and split the votes do not wait for the whole time-out."""
        if isinstance(self._quorum.role, Candidate) and self._is_rejected(self._quorum.role):
            self._quorum.hasten_election(outcome.now_ms)

    def answer_begin_epoch(
        self, token: int, request: BeginQuorumEpochRequest, outcome: StepOutcome, *, is_right: bool
    ) -> None:
        response = BeginQuorumEpochResponse(
            epoch=self._quorum.epoch,
            leader_id=self._quorum.vouched_leader,
            endpoints=self._quorum.vouched_endpoints,
            error=self._refusal(request.epoch, request.voter, is_right=is_right),
        )
        outcome.reply(token, response)

    def note_acknowledgement(
        self, request: BeginQuorumEpochRequest, response: BeginQuorumEpochResponse
    ) -> None:
        role = self._quorum.role
        if not isinstance(role, Leader) or request.epoch != role.epoch:
            return
        if response.error is None and request.voter in role.progress:
            self._quorum.update_leader(with_acknowledgement(role, request.voter))

    def answer_end_epoch(
        self, token: int, request: EndQuorumEpochRequest, outcome: StepOutcome, *, is_right: bool
    ) -> None:
        """The leader goes: the first of its successors stands now, each other one later than the one before it."""
        error = self._refusal(request.epoch, self._quorum.local, is_right=is_right)
        if error is None and isinstance(self._quorum.role, Follower):
            places = [key.matches(self._quorum.local) for key in request.preferred_successors]
            place = places.index(True) if True in places else len(places)
            wait_ms = successor_wait_ms(place, len(places), self._timeouts.election_backoff_max_ms)
            self._quorum.stand_soon(wait_ms, outcome.now_ms)
        response = EndQuorumEpochResponse(
            epoch=self._quorum.epoch,
            leader_id=self._quorum.vouched_leader,
            endpoints=self._quorum.vouched_endpoints,
            error=error,
        )
        outcome.reply(token, response)

    def _refusal(self, epoch: LeaderEpoch, meant: ReplicaKey, *, is_right: bool) -> Refusal | None:
        """Returns why a voter's request is refused: it is old, wrong, or for a replica with another directory."""
        if epoch < self._quorum.epoch:
            return FencedLeaderEpoch
        if not is_right:
            return InvalidRequest
        return None if meant.matches(self._quorum.local) else InvalidVoterKey

    def note_told(self, request: EndQuorumEpochRequest, voter_id: BrokerId) -> None:
        """A voter knows that this leader stepped down."""
        role = self._quorum.role
        if isinstance(role, Resigned) and request.epoch == role.epoch:
            to_tell = frozenset(voter for voter in role.to_tell if voter.id != voter_id)
            self._quorum.update_resigned(replace(role, to_tell=to_tell))

    def resign(self, reason: str, outcome: StepOutcome) -> None:
        if isinstance(self._quorum.role, Leader):
            self._quorum.become_resigned(reason, outcome.now_ms)

    def maybe_end_epoch(self, outcome: StepOutcome) -> None:
        """Tells the voters that this leader stepped down, until they have heard."""
        role = self._quorum.role
        if not isinstance(role, Resigned) or outcome.now_ms < role.tell_deadline_ms:
            return
        for voter in role.successors:
            if voter in role.to_tell:
                request = EndQuorumEpochRequest(
                    source=self._id,
                    epoch=role.epoch,
                    preferred_successors=role.successors,
                    endpoints=self._quorum.identity.endpoints,
                )
                outcome.send(self._quorum.peer(voter), request)
        deadline_ms = outcome.now_ms + self._timeouts.begin_epoch_retry_ms
        self._quorum.update_resigned(replace(role, tell_deadline_ms=deadline_ms))

    def check_deadlines(self, outcome: StepOutcome) -> None:
        role = self._quorum.role
        if isinstance(role, Leader):
            deadline_ms = self.check_quorum_deadline_ms(role)
            if deadline_ms is not None and outcome.now_ms >= deadline_ms:
                timeout_ms = self._timeouts.check_quorum_timeout_ms
                self.resign(f"no majority fetched for {timeout_ms} ms", outcome)
        elif self.may_stand and outcome.now_ms >= self.deadline_ms(role):
            if isinstance(role, Prospective):
                self._give_up(role, outcome)
            else:
                self._stand(outcome)
        elif isinstance(role, Follower) and outcome.now_ms >= role.fetch_deadline_ms:
            self._quorum.lose_touch()
        elif isinstance(role, Prospective) and self._is_rejected(role):
            self._give_up(role, outcome)

    @property
    def may_stand(self) -> bool:
        return self._quorum.may_stand(self._log.high_watermark)

    def deadline_ms(self, role: Unattached | Resigned | Candidate | Follower | Prospective) -> int:
        """Returns the time at which a voter stands, or gives up to stand, unless something happens."""
        return role.fetch_deadline_ms if isinstance(role, Follower) else role.election_deadline_ms

    def check_quorum_deadline_ms(self, role: Leader) -> int | None:
        """Returns the time at which a leader steps down unless a majority shows itself; None when
        it is a majority by itself.
        """
        heard_ms = quorum_heard_ms(role, self._quorum.voters)
        return None if heard_ms is None else heard_ms + self._timeouts.check_quorum_timeout_ms

    def advance(self, outcome: StepOutcome) -> None:
        """Becomes a candidate on a majority of pre-votes, and the leader on a majority of votes."""
        majority = self._quorum.voters.majority
        role = self._quorum.role
        if isinstance(role, Prospective) and len(role.tally.granted) >= majority:
            self._quorum.become_candidate(outcome.now_ms)
            self._ask_for_votes(outcome)
        role = self._quorum.role
        if isinstance(role, Candidate) and len(role.tally.granted) >= majority:
            self._lead(outcome)

    def maybe_begin_epoch(self, outcome: StepOutcome) -> None:
        """Tells the voters that do not show themselves who leads, until they do."""
        role = self._quorum.role
        if not isinstance(role, Leader) or outcome.now_ms < role.begin_epoch_deadline_ms:
            return
        retry_ms = self._timeouts.begin_epoch_retry_ms
        for voter, state in role.progress.items():
            if not state.acknowledged or outcome.now_ms - state.heard_ms >= retry_ms:
                request = BeginQuorumEpochRequest(
                    source=self._id,
                    epoch=role.epoch,
                    endpoints=self._quorum.identity.endpoints,
                    voter=voter,
                )
                outcome.send(self._quorum.peer(voter), request)
        deadline_ms = outcome.now_ms + retry_ms
        self._quorum.update_leader(replace(role, begin_epoch_deadline_ms=deadline_ms))

    def _stand(self, outcome: StepOutcome) -> None:
        self._quorum.become_prospective(outcome.now_ms)
        self._ask_for_votes(outcome)

    def _give_up(self, role: Prospective, outcome: StepOutcome) -> None:
        if role.leader_id in (NOBODY, self._id):
            self._quorum.become_unattached_after_lost_pre_vote(outcome.now_ms)
        else:
            self._quorum.return_to_leader(outcome.now_ms)

    def _is_rejected(self, role: Prospective | Candidate) -> bool:
        voters = self._quorum.voters
        return len(voters) - len(role.tally.rejected) < voters.majority

    def maybe_ask_again(self, outcome: StepOutcome) -> None:
        """Asks once more for what was lost on the way, or refused by who may have changed its mind.

        Without that, the one whose log is long enough would wait for the next round because it missed the leader first.
        """
        role = self._quorum.role
        if isinstance(role, Prospective | Candidate) and outcome.now_ms >= role.ask_deadline_ms:
            self._ask_for_votes(outcome)

    def _ask_for_votes(self, outcome: StepOutcome) -> None:
        role = self._quorum.role
        assert isinstance(role, Prospective | Candidate), "who does not stand asks for no votes"
        pre_vote = isinstance(role, Prospective)
        answered = role.tally.granted if pre_vote else role.tally.granted | role.tally.rejected
        for voter in self._quorum.other_voters:
            if voter.id in answered:
                continue
            request = VoteRequest(
                source=self._quorum.local,
                epoch=role.epoch,
                log=self._log.end,
                voter=voter,
                pre_vote=pre_vote,
            )
            outcome.send(self._quorum.peer(voter), request)
        self._quorum.note_asked(outcome.now_ms + VOTE_RETRY_MS)

    def _lead(self, outcome: StepOutcome) -> None:
        """The epoch's first record says who leads.

        A log that does not say yet who votes says it here, and so does one with an old entry of the leader.

        Followers have their entries changed by whoever leads (`Joining`). A leader changes its own as Kafka's does,
        when it begins to lead: who leads alone has nobody to ask.
        """
        entry = self._quorum.history.newest
        self._quorum.become_leader(self._log.end.end_offset, outcome.now_ms)
        role = self._quorum.role
        assert isinstance(role, Leader), "become_leader makes a leader"
        control: list[ControlRecord] = [
            leader_change_record(role.local, entry.voters, role.granting)
        ]
        updated = self._voters_with_own(entry.voters)
        if entry.kraft_version >= KRAFT_VERSION_DYNAMIC and (
            not entry.is_in_log or updated != entry.voters
        ):
            control += dynamic_quorum_records(updated)
        self._log.append(outcome, role.epoch, control=tuple(control))

    def _voters_with_own(self, voters: VoterSet) -> VoterSet:
        """The voters, of which this one is where it listens now.

        One that listens to nobody leaves its entry as it is.
        """
        identity = self._quorum.identity
        named = voters.get(identity.local.id)
        if not identity.endpoints or named is None or named.key != identity.local:
            return voters
        return voters.with_update(Voter(identity.local, identity.endpoints))

    @property
    def _id(self) -> BrokerId:
        return self._quorum.local.id
