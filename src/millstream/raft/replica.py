"""One replica of the quorum: messages, events and time in, `Ready` out. Does nothing itself.

Owns the order of a step and pull replication. Elections are in `elections`, the role in `quorum_state`, the state of
the log in `log_progress`; bytes, disks, sockets and clocks are the driver's. The driver carries out a `Ready` (syncs
may finish later and are reported as `Flushed`) before it takes the next step.
"""

from __future__ import annotations

import itertools
from typing import Final

from millstream.errors import (
    KafkaStorageError,
    NotController,
)
from millstream.model import BrokerId, LeaderEpoch, Offset
from millstream.raft.election_state import ElectionState
from millstream.raft.elections import Elections
from millstream.raft.fetching import Fetching
from millstream.raft.joining import Joining
from millstream.raft.leader_answers import LeaderAnswers
from millstream.raft.log_progress import LogProgress, ReplicatedLog
from millstream.raft.membership import VoterChanges
from millstream.raft.messages import (
    AddVoterRequest,
    Appended,
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    Flushed,
    InboundRequest,
    InboundResponse,
    KraftVersionsRequest,
    KraftVersionsResponse,
    LocalEvent,
    Propose,
    QuorumRequest,
    RaftEvent,
    RaftResponse,
    RemoveVoterRequest,
    Resign,
    Send,
    ShutDown,
    SnapshotInstalled,
    SnapshotRefused,
    SnapshotWritten,
    Tick,
    Unanswered,
    UpdateVoterRequest,
    UpgradeKraftVersion,
    VoterChangeRequest,
    VoterChangeResponse,
    VoteRequest,
    VoteResponse,
)
from millstream.raft.quorum_description import (
    ReplicaDescriptions,
    ReplicaState,
    describe_replicas,
    describe_state,
)
from millstream.raft.quorum_state import QuorumState, RaftIdentity, RaftTimeouts
from millstream.raft.ready import LeaderAndEpoch, Ready, StepOutcome
from millstream.raft.roles import Candidate, Leader, Prospective, Resigned
from millstream.raft.voter_history import VoterHistory
from millstream.raft.voter_set import (
    KRAFT_VERSION_DYNAMIC,
)
from millstream.runtime.interfaces import Instant, Random

IDLE_WAIT_MS: Final = 60_000
"""Longest time between two ticks; there is nothing to do at them when no deadline is nearer."""


class RaftReplica:
    """A voter or an observer of the metadata quorum."""

    def __init__(
        self,
        identity: RaftIdentity,
        history: VoterHistory,
        timeouts: RaftTimeouts,
        random: Random,
        log: ReplicatedLog,
        *,
        stored: ElectionState,
        now: Instant,
    ) -> None:
        """`history`: the voters up to the end of the log.

        Raises KafkaStorageError when `stored` and the log do not belong together.
        """
        last_epoch = log.position().last_epoch
        if stored.epoch < last_epoch:
            raise KafkaStorageError(
                f"the metadata log ends in epoch {last_epoch}, quorum-state knows {stored.epoch} only: it is lost or old. "
                "Restore it, or remove this voter's directory and let it join as new"
            )
        self._timeouts = timeouts
        self._quorum = QuorumState(
            identity, history, timeouts, random, stored=stored, now_ms=now.monotonic_ms
        )
        self._log = LogProgress(log)
        self._elections = Elections(self._quorum, self._log, timeouts)
        self._fetching = Fetching(self._quorum, self._log, timeouts)
        self._membership = VoterChanges(self._quorum, self._log, timeouts)
        self._leader_answers = LeaderAnswers(self._quorum, self._log, self._membership)
        self._joining = Joining(self._quorum, log, timeouts)
        self._numbers = itertools.count(1)
        self._reported_high_watermark = Offset(-1)
        self._reported_leadership: LeaderAndEpoch | None = None

    @property
    def quorum(self) -> QuorumState:
        return self._quorum

    @property
    def high_watermark(self) -> Offset:
        return self._log.high_watermark

    @property
    def is_leader(self) -> bool:
        return isinstance(self._quorum.role, Leader)

    @property
    def has_handed_over(self) -> bool:
        """Whether every other voter knows that this replica does not lead, as far as it can be told."""
        role = self._quorum.role
        return not (isinstance(role, Leader) or (isinstance(role, Resigned) and role.to_tell))

    def describe(self, now: Instant) -> ReplicaDescriptions:
        """Returns how far every replica is, as far as this one knows."""
        quorum = self._quorum
        return describe_replicas(quorum.role, quorum.voters, self._log.end.end_offset, now)

    def state(self) -> ReplicaState:
        """Returns the state of this replica, for those who look at it from outside."""
        quorum = self._quorum
        return describe_state(
            quorum.role,
            quorum.voters,
            quorum.local,
            has_uncommitted_voters=quorum.history.newest.offset >= self._log.high_watermark,
        )

    @property
    def leader_high_watermark(self) -> Offset:
        """The end of what is committed, as far as this replica was told; its own log may not reach there yet."""
        return self._log.leader_high_watermark

    @property
    def heard_ms(self) -> int | None:
        """The time of the last good answer of a leader to this follower; None before the first one.

        It stays when the leader is lost.
        """
        return self._fetching.heard_ms

    def step(self, event: RaftEvent, now: Instant) -> Ready:
        """Takes in one event and returns the work for the driver.

        Raises NotController when records are proposed to a replica that does not lead the proposer's epoch,
        InvalidUpdateVersion when the voters are not ready for kraft.version 1, KafkaStorageError when the leader's log
        is not of the same cluster as this one.
        """
        outcome = StepOutcome(now.monotonic_ms, self._numbers)
        self._log.refresh()
        match event:
            case InboundRequest():
                self._answer(event.token, event.request, outcome)
            case InboundResponse():
                self._take_answer(event.sent, event.response, outcome)
            case Unanswered():
                self._fetching.note_unanswered(event.sent, outcome)
                self._elections.note_unanswered(event.sent, outcome)
                self._membership.note_unanswered(event.sent, outcome)
            case _:
                self._take_local(event, outcome)
        self._elections.check_deadlines(outcome)
        self._elections.advance(outcome)
        self._note_voters(outcome)
        self._log.advance_high_watermark(self._quorum.role, self._quorum.voters)
        self._membership.settle(outcome)
        if self._membership.leads_no_more():
            self._elections.resign("it was removed from the voters", outcome)
        self._fetching.maybe_fetch(outcome)
        self._joining.maybe_ask(self._log.high_watermark, outcome)
        self._elections.maybe_ask_again(outcome)
        self._elections.maybe_begin_epoch(outcome)
        self._elections.maybe_end_epoch(outcome)
        return self._ready(outcome)

    def _take_local(self, event: LocalEvent, outcome: StepOutcome) -> None:
        match event:
            case Propose():
                self._check_leads(event.epoch)
                self._log.append(outcome, event.epoch, data=event.records)
            case UpgradeKraftVersion():
                self._upgrade_kraft_version(event, outcome)
            case Appended():
                assert event.log == self._log.end, (
                    "the log does not end where the driver says it does"
                )
                self._quorum.note_appended(event.control, outcome.now_ms)
            case Flushed():
                self._log.note_flushed(event.end_offset)
            case SnapshotWritten():
                self._quorum.history.compact(event.end_offset)
            case SnapshotInstalled():
                self._fetching.note_installed(event, outcome)
            case SnapshotRefused():
                self._fetching.note_refused(outcome)
            case Resign():
                self._elections.resign("it was told to step down", outcome)
            case ShutDown():
                self._quorum.is_closing = True
                self._elections.resign("it ends", outcome)
            case Tick():
                pass

    def _answer(
        self, token: int, request: QuorumRequest | VoterChangeRequest, outcome: StepOutcome
    ) -> None:
        is_right = self._elections.observe_request(request, outcome)
        match request:
            case VoteRequest():
                self._elections.answer_vote(token, request, outcome, is_right=is_right)
            case BeginQuorumEpochRequest():
                self._elections.answer_begin_epoch(token, request, outcome, is_right=is_right)
            case EndQuorumEpochRequest():
                self._elections.answer_end_epoch(token, request, outcome, is_right=is_right)
            case FetchRequest():
                self._leader_answers.answer_fetch(token, request, outcome)
            case FetchSnapshotRequest():
                self._leader_answers.answer_fetch_snapshot(token, request, outcome)
            case AddVoterRequest() | RemoveVoterRequest() | UpdateVoterRequest():
                self._leader_answers.answer_voter_change(token, request, outcome)

    def _take_answer(self, sent: Send, response: RaftResponse, outcome: StepOutcome) -> None:
        """An answer that names a second leader of an epoch tells nothing that could be believed."""
        match sent.message, response:
            case (KraftVersionsRequest(), KraftVersionsResponse()):
                self._membership.take_kraft_versions(sent, response, outcome)
                return
            case (AddVoterRequest() | RemoveVoterRequest(), VoterChangeResponse()):
                return  # the leader tells no epoch here, and what it changes comes with its log
            case _:
                assert not isinstance(response, KraftVersionsResponse), (
                    "the driver pairs answers with requests"
                )
        is_right = self._elections.observe_response(response, outcome)
        match sent.message, response:
            case (FetchRequest(), FetchResponse()) if is_right:
                self._fetching.take(sent, response, outcome)
            case (FetchSnapshotRequest(), FetchSnapshotResponse()) if is_right:
                self._fetching.take_piece(sent, response, outcome)
            case (FetchRequest() | FetchSnapshotRequest(), _):
                self._fetching.note_unanswered(sent, outcome)
            case (VoteRequest(), VoteResponse()) if is_right:
                self._elections.count_vote(sent.message, response, outcome)
            case (BeginQuorumEpochRequest(), BeginQuorumEpochResponse()) if is_right:
                self._elections.note_acknowledgement(sent.message, response)
            case (UpdateVoterRequest(), VoterChangeResponse()) if is_right:
                self._joining.take(sent.message, response)
            case (EndQuorumEpochRequest(), EndQuorumEpochResponse()):
                self._elections.note_told(sent.message, sent.to.id)
            case _:
                pass

    def _note_voters(self, outcome: StepOutcome) -> None:
        """What this step appends or cuts off counts at once, whether it is committed or not."""
        if outcome.truncate_to is not None:
            self._quorum.history.truncate(outcome.truncate_to)
        for batch in outcome.append:
            records = enumerate(batch.control, batch.base_offset)
            self._quorum.note_appended(
                ((Offset(offset), record) for offset, record in records), outcome.now_ms
            )

    def _upgrade_kraft_version(self, event: UpgradeKraftVersion, outcome: StepOutcome) -> None:
        """Writes nothing where the quorum is dynamic already."""
        self._check_leads(event.epoch)
        if self._quorum.kraft_version >= KRAFT_VERSION_DYNAMIC:
            return
        self._log.append(outcome, event.epoch, control=self._membership.upgraded_records())

    def _check_leads(self, epoch: LeaderEpoch) -> None:
        role = self._quorum.role
        if not isinstance(role, Leader) or role.epoch != epoch:
            raise NotController(f"replica {self._id} does not lead epoch {epoch}")

    # the result

    def _ready(self, outcome: StepOutcome) -> Ready:
        leadership = LeaderAndEpoch(self._quorum.vouched_leader, self._quorum.epoch)
        new_leadership = None if leadership == self._reported_leadership else leadership
        high_watermark = self._log.high_watermark
        rose = high_watermark > self._reported_high_watermark
        self._reported_leadership = leadership
        self._reported_high_watermark = high_watermark
        return Ready(
            persist=self._quorum.take_persist(),
            truncate_to=outcome.truncate_to,
            append=tuple(outcome.append),
            append_fetched=outcome.append_fetched,
            snapshot_piece=outcome.snapshot_piece,
            send=tuple(outcome.sends),
            reply=tuple(outcome.replies),
            leadership=new_leadership,
            role_changes=self._quorum.take_changes(),
            vote_answers=tuple(outcome.vote_answers),
            high_watermark=high_watermark if rose else None,
            deadline_ms=self._deadline_ms(outcome.now_ms),
        )

    def _deadline_ms(self, now_ms: int) -> int:
        role = self._quorum.role
        deadlines = [
            now_ms + IDLE_WAIT_MS,
            self._fetching.deadline_ms(now_ms),
            self._membership.deadline_ms,
            self._joining.deadline_ms,
        ]
        if isinstance(role, Leader):
            check_ms = self._elections.check_quorum_deadline_ms(role)
            if role.progress:
                deadlines += [check_ms, role.begin_epoch_deadline_ms]
        elif self._elections.may_stand:
            deadlines.append(self._elections.deadline_ms(role))
        if isinstance(role, Prospective | Candidate):
            deadlines.append(role.ask_deadline_ms)
        if isinstance(role, Resigned) and role.to_tell:
            deadlines.append(role.tell_deadline_ms)
        return min(deadline for deadline in deadlines if deadline is not None)

    @property
    def _id(self) -> BrokerId:
        return self._quorum.local.id
