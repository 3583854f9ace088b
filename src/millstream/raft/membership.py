"""Changes of the voters, on the leader's side (KIP-853): one at a time, each a record that counts from its append.

    request -> checks -> (Add: the new voter's kraft.version) -> voters record -> committed -> answer

Owns the change that is not answered yet. It ends with the leadership; its record may be committed
by the next leader all the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from millstream.errors import (
    DuplicateVoter,
    InvalidRequest,
    InvalidUpdateVersion,
    KafkaError,
    NotLeaderOrFollower,
    RequestTimedOut,
    UnsupportedVersion,
    VoterNotFound,
)
from millstream.model import BrokerId, LeaderEpoch, Offset
from millstream.raft.log_progress import LogProgress
from millstream.raft.messages import (
    AddVoterRequest,
    KraftVersionsRequest,
    KraftVersionsResponse,
    Peer,
    RemoveVoterRequest,
    Send,
    UpdateVoterRequest,
    VoterChangeResponse,
)
from millstream.raft.quorum_state import QuorumState, RaftTimeouts
from millstream.raft.ready import StepOutcome
from millstream.raft.roles import Leader
from millstream.raft.voter_set import (
    KRAFT_VERSION_DYNAMIC,
    ControlRecord,
    Voter,
    VoterSet,
    dynamic_quorum_records,
    voters_record,
)

_LATER: Final = "try again"


@dataclass(frozen=True, slots=True)
class _Pending:
    """A change whose request waits for its answer."""

    token: int
    epoch: LeaderEpoch
    deadline_ms: int
    asked: Send | None = None
    """Add: the question to the new voter."""
    added: AddVoterRequest | None = None
    offset: Offset | None = None
    """Of its record; None while it has none."""


class VoterChanges:
    def __init__(self, quorum: QuorumState, log: LogProgress, timeouts: RaftTimeouts) -> None:
        self._quorum = quorum
        self._log = log
        self._timeouts = timeouts
        self._pending: _Pending | None = None
        self._told: dict[BrokerId, Voter] = {}
        """What static voters said of themselves to this leader: their log has no place for it before kraft.version
        1."""

    @property
    def deadline_ms(self) -> int | None:
        """Returns the time at which a request is told that it took too long."""
        return self._pending.deadline_ms if self._pending else None

    def answer_add(self, token: int, request: AddVoterRequest, outcome: StepOutcome) -> None:
        """Asks the new voter first which kraft.version it can."""
        try:
            self._check_may_change()
            self._check_listens(request.voter)
            voters = self._quorum.voters
            if request.voter.key.id in voters.ids:
                raise DuplicateVoter(f"node {request.voter.key.id} is a voter already")
        except KafkaError as error:
            self.refuse(token, error, outcome)
            return
        peer = Peer(request.voter.key.id, request.voter.endpoints)
        asked = outcome.send(peer, KraftVersionsRequest(voter=request.voter.key))
        self._pending = self._new_pending(token, outcome.now_ms, asked=asked, added=request)

    def take_kraft_versions(
        self, sent: Send, response: KraftVersionsResponse, outcome: StepOutcome
    ) -> None:
        """Adds the new voter, unless it cannot do what the others do, or lags behind."""
        pending = self._pending
        if pending is None or pending.added is None or pending.asked != sent:
            return
        voter = pending.added.voter
        try:
            versions = self._checked_versions(response.kraft_versions)
            self._check_caught_up(voter)
        except KafkaError as error:
            self._end(outcome, error)
            return
        offset = self._append(
            self._quorum.voters.with_voter(replace(voter, kraft_versions=versions)), outcome
        )
        self._pending = replace(pending, asked=None, offset=offset)
        if not pending.added.ack_when_committed:
            self._end(outcome, None)

    def note_unanswered(self, sent: Send, outcome: StepOutcome) -> None:
        if self._pending is not None and self._pending.asked == sent:
            self._end(outcome, RequestTimedOut(f"the new voter does not answer; {_LATER}"))

    def answer_remove(self, token: int, request: RemoveVoterRequest, outcome: StepOutcome) -> None:
        try:
            self._check_may_change()
            voters = self._quorum.voters.without_voter(request.voter)
        except KafkaError as error:
            self.refuse(token, error, outcome)
            return
        offset = self._append(voters, outcome)
        self._pending = self._new_pending(token, outcome.now_ms, offset=offset)

    def answer_update(self, token: int, request: UpdateVoterRequest, outcome: StepOutcome) -> None:
        """Answers before the change is committed: a voter that missed it asks again."""
        try:
            self._check_fenced_others()
            self._check_listens(request.voter)
            if self._quorum.kraft_version >= KRAFT_VERSION_DYNAMIC:
                self._check_may_change()
                self._checked_versions(request.voter.kraft_versions)
                voters = self._quorum.voters.with_update(request.voter)
                if voters != self._quorum.voters:
                    self._append(voters, outcome)
            elif self._quorum.voters.has(request.voter.key):
                self._told[request.voter.key.id] = request.voter
            else:
                raise VoterNotFound(f"node {request.voter.key.id} is not among the voters")
        except KafkaError as error:
            self.refuse(token, error, outcome)
            return
        outcome.reply(token, self._response(None))

    def upgraded_records(self) -> tuple[ControlRecord, ...]:
        """Returns the records with which a static quorum becomes dynamic.

        Raises InvalidUpdateVersion while a voter is not known enough.
        """
        quorum = self._quorum
        voters: list[Voter] = []
        for static in quorum.voters:
            own = Voter(quorum.local, quorum.identity.endpoints)
            told = own if static.key.matches(quorum.local) else self._told.get(static.key.id)
            if told is None or told.kraft_versions[1] < KRAFT_VERSION_DYNAMIC:
                raise InvalidUpdateVersion(
                    f"voter {static.key.id} has not said yet that it can do kraft.version 1; {_LATER} once all voters run"
                )
            voters.append(told)
        return dynamic_quorum_records(VoterSet(voters))

    def settle(self, outcome: StepOutcome) -> None:
        """Answers what is committed, took too long, or lost its leader."""
        role, pending = self._quorum.role, self._pending
        if not isinstance(role, Leader):
            self._told.clear()
        if pending is None:
            return
        if not isinstance(role, Leader) or role.epoch != pending.epoch:
            self._end(outcome, NotLeaderOrFollower("the leader of the quorum has changed"))
        elif pending.offset is not None and self._log.high_watermark > pending.offset:
            self._end(outcome, None)
        elif outcome.now_ms >= pending.deadline_ms:
            self._end(outcome, RequestTimedOut("the change may yet be committed"))

    def leads_no_more(self) -> bool:
        """Whether this leader was removed, and that is committed: until then it leads on without counting itself."""
        newest = self._quorum.history.newest
        removed = isinstance(self._quorum.role, Leader) and not self._quorum.is_voter
        return removed and newest.offset < self._log.high_watermark

    # checks

    def _check_may_change(self) -> None:
        """Two changes at a time, or one on top of what a leader before left behind, could make two majorities."""
        self._check_fenced_others()
        if self._quorum.kraft_version < KRAFT_VERSION_DYNAMIC:
            raise UnsupportedVersion(
                "kraft.version is 0: the voters stand in controller.quorum.voters"
            )
        if self._quorum.history.newest.offset >= self._log.high_watermark:
            raise RequestTimedOut(f"the last change of the voters is not committed; {_LATER}")

    def _check_fenced_others(self) -> None:
        role = self._quorum.role
        assert isinstance(role, Leader), "whoever does not lead refuses"
        if self._pending is not None:
            raise RequestTimedOut(f"another change of the voters is going on; {_LATER}")
        if self._log.high_watermark <= role.epoch_start_offset:
            raise RequestTimedOut(f"the leader has not committed anything in its epoch; {_LATER}")

    def _check_listens(self, voter: Voter) -> None:
        listeners = {endpoint.listener for endpoint in voter.endpoints}
        for default in self._quorum.identity.endpoints[:1]:
            if default.listener not in listeners:
                raise InvalidRequest(
                    f"node {voter.key.id} names no address for the listener {default.listener} of the controllers"
                )

    def _checked_versions(self, versions: tuple[int, int] | None) -> tuple[int, int]:
        finalized = self._quorum.kraft_version
        if versions is None or not versions[0] <= finalized <= versions[1]:
            raise InvalidRequest(f"the voter cannot do kraft.version {finalized}")
        return versions

    def _check_caught_up(self, voter: Voter) -> None:
        role = self._quorum.role
        assert isinstance(role, Leader), "a change ends with the leadership"
        observer = role.observers.get(voter.key)
        if observer is None or observer.caught_up_ms < 0:
            raise RequestTimedOut(
                f"node {voter.key.id} with this directory has not caught up with the leader; {_LATER}"
            )

    # answers

    def _append(self, voters: VoterSet, outcome: StepOutcome) -> Offset:
        return self._log.append(outcome, self._quorum.epoch, control=(voters_record(voters),))

    def _new_pending(
        self,
        token: int,
        now_ms: int,
        *,
        asked: Send | None = None,
        added: AddVoterRequest | None = None,
        offset: Offset | None = None,
    ) -> _Pending:
        deadline_ms = now_ms + self._timeouts.request_timeout_ms
        return _Pending(token, self._quorum.epoch, deadline_ms, asked, added, offset)

    def refuse(self, token: int, error: KafkaError, outcome: StepOutcome) -> None:
        outcome.reply(token, self._response(error))

    def _end(self, outcome: StepOutcome, error: KafkaError | None) -> None:
        assert self._pending is not None, "there is a change to be answered"
        outcome.reply(self._pending.token, self._response(error))
        self._pending = None

    def _response(self, error: KafkaError | None) -> VoterChangeResponse:
        return VoterChangeResponse(
            epoch=self._quorum.epoch,
            leader_id=self._quorum.vouched_leader,
            endpoints=self._quorum.vouched_endpoints,
            error=type(error) if error else None,
            message=str(error) if error else "",
        )
