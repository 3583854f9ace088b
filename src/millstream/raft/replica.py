"""One replica of the quorum: messages, events and time in, `Ready` out. Does nothing itself.

Owns the order of a step and pull replication. Elections are in `elections`, the role in `quorum_state`, the state of the log in
`log_progress`; bytes, disks, sockets and clocks are the driver's. The driver carries out a `Ready` (syncs may finish later and
are reported as `Flushed`) before it takes the next step.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Final

from millstream.errors import (
    BrokerNotAvailable,
    FencedLeaderEpoch,
    KafkaStorageError,
    NotController,
    NotLeaderOrFollower,
    PositionOutOfRange,
    SnapshotNotFound,
    UnknownLeaderEpoch,
)
from millstream.model import BrokerId, LeaderEpoch, Offset
from millstream.raft.election_state import ElectionState
from millstream.raft.elections import Elections
from millstream.raft.fetching import Fetching
from millstream.raft.leader_progress import with_contact, with_fetch
from millstream.raft.log_progress import LogProgress
from millstream.raft.messages import (
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
    LocalEvent,
    LogPosition,
    Propose,
    RaftEvent,
    RaftRequest,
    RaftResponse,
    Refusal,
    Resign,
    Send,
    ShutDown,
    SnapshotInstalled,
    SnapshotRefused,
    SnapshotWritten,
    Tick,
    Unanswered,
    UpgradeKraftVersion,
    VoteRequest,
    VoteResponse,
)
from millstream.raft.quorum_description import ReplicaDescriptions, describe_replicas
from millstream.raft.quorum_state import QuorumState, RaftIdentity, RaftTimeouts
from millstream.raft.ready import LeaderAndEpoch, Ready
from millstream.raft.replicated_log import ReplicatedLog
from millstream.raft.roles import Leader, Resigned
from millstream.raft.snapshot import SnapshotId
from millstream.raft.step_outcome import StepOutcome
from millstream.raft.voter_history import VoterHistory
from millstream.raft.voter_set import (
    KRAFT_VERSION_DYNAMIC,
    ReplicaKey,
    Voter,
    VoterSet,
    dynamic_quorum_records,
)
from millstream.runtime.clock import Instant
from millstream.runtime.random import Random

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
        """`history`: the voters up to the end of the log. Raises KafkaStorageError when `stored` and the log do not belong together."""
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

    def step(self, event: RaftEvent, now: Instant) -> Ready:
        """Takes in one event and returns the work for the driver.

        Raises NotController when records are proposed to a replica that does not lead the proposer's epoch, KafkaStorageError
        when the leader's log is not of the same cluster as this one.
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
            case _:
                self._take_local(event, outcome)
        self._elections.check_deadlines(outcome)
        self._elections.advance(outcome)
        self._note_voters(outcome)
        self._log.advance_high_watermark(self._quorum.role, self._quorum.voters)
        self._fetching.maybe_fetch(outcome)
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
                self._elections.resign(outcome)
            case ShutDown():
                self._quorum.is_closing = True
                self._elections.resign(outcome)
            case Tick():
                pass

    def _answer(self, token: int, request: RaftRequest, outcome: StepOutcome) -> None:
        is_right = self._elections.observe_request(request, outcome)
        match request:
            case VoteRequest():
                self._elections.answer_vote(token, request, outcome, is_right=is_right)
            case BeginQuorumEpochRequest():
                self._elections.answer_begin_epoch(token, request, outcome, is_right=is_right)
            case EndQuorumEpochRequest():
                self._elections.answer_end_epoch(token, request, outcome, is_right=is_right)
            case FetchRequest():
                self._answer_fetch(token, request, outcome)
            case FetchSnapshotRequest():
                self._answer_fetch_snapshot(token, request, outcome)

    def _take_answer(self, sent: Send, response: RaftResponse, outcome: StepOutcome) -> None:
        """An answer that names a second leader of an epoch tells nothing that could be believed."""
        is_right = self._elections.observe_response(response, outcome)
        match sent.message, response:
            case (FetchRequest(), FetchResponse()) if is_right:
                self._fetching.take(sent, response, outcome)
            case (FetchSnapshotRequest(), FetchSnapshotResponse()) if is_right:
                self._fetching.take_piece(sent, response, outcome)
            case (FetchRequest() | FetchSnapshotRequest(), _):
                self._fetching.note_unanswered(sent, outcome)
            case (VoteRequest(), VoteResponse()) if is_right:
                self._elections.count_vote(sent.message, response)
            case (BeginQuorumEpochRequest(), BeginQuorumEpochResponse()) if is_right:
                self._elections.note_acknowledgement(sent.message, response)
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
        local = self._quorum.local
        assert self._quorum.voters.ids == {local.id}, (
            "others would have to learn their voters from the log, and tell this one their directories before"
        )
        records = dynamic_quorum_records(VoterSet([Voter(local)]))
        self._log.append(outcome, event.epoch, control=records)

    def _check_leads(self, epoch: LeaderEpoch) -> None:
        role = self._quorum.role
        if not isinstance(role, Leader) or role.epoch != epoch:
            raise NotController(f"replica {self._id} does not lead epoch {epoch}")

    # the leader's side of pull replication

    def _answer_fetch(self, token: int, request: FetchRequest, outcome: StepOutcome) -> None:
        role = self._quorum.role
        response = FetchResponse(
            epoch=self._quorum.epoch,
            leader_id=self._quorum.vouched_leader,
            endpoints=self._quorum.vouched_endpoints,
            error=self._refusal_of_leader(request.epoch),
        )
        if response.error is None:
            assert isinstance(role, Leader), "whoever does not lead refuses"
            match self._log.divergence(request.log):
                case None:
                    self._note_fetch(role, request, outcome)
                    response = replace(response, high_watermark=self._log.high_watermark)
                case LogPosition() as diverging:
                    self._note_contact(request.source, outcome)
                    response = replace(response, diverging=diverging)
                case SnapshotId() as snapshot:
                    self._note_contact(request.source, outcome)
                    response = replace(response, snapshot=snapshot)
        outcome.reply(token, response)

    def _answer_fetch_snapshot(
        self, token: int, request: FetchSnapshotRequest, outcome: StepOutcome
    ) -> None:
        error, size = self._refusal_of_leader(request.epoch), self._log.snapshot_bytes(request.id)
        if error is None:
            self._note_contact(request.source, outcome)
            if size is None:
                error = SnapshotNotFound
            elif not 0 <= request.position < size:
                error = PositionOutOfRange
        response = FetchSnapshotResponse(
            epoch=self._quorum.epoch,
            leader_id=self._quorum.vouched_leader,
            endpoints=self._quorum.vouched_endpoints,
            error=error,
            id=request.id,
            position=request.position,
            size=size or 0,
        )
        outcome.reply(token, response)

    def _note_contact(self, source: ReplicaKey, outcome: StepOutcome) -> None:
        """Whoever cannot continue yet still listens to this leader. It promises nothing."""
        role = self._quorum.role
        if isinstance(role, Leader) and source != self._quorum.local:
            self._quorum.update_leader(with_contact(role, source, outcome.now_ms))

    def _refusal_of_leader(self, epoch: LeaderEpoch) -> Refusal | None:
        """Returns why this replica refuses what only the leader of an epoch may answer."""
        if epoch < self._quorum.epoch:
            return FencedLeaderEpoch
        if epoch > self._quorum.epoch:
            return UnknownLeaderEpoch
        if self._quorum.is_closing:
            return BrokerNotAvailable
        return None if self.is_leader else NotLeaderOrFollower

    def _note_fetch(self, leader: Leader, request: FetchRequest, outcome: StepOutcome) -> None:
        """Whoever fetches has everything below on disk; of an observer that promises nothing."""
        if request.source == self._quorum.local:
            return
        end_offset, own_end = request.log.end_offset, self._log.end.end_offset
        self._quorum.update_leader(
            with_fetch(leader, request.source, end_offset, own_end, outcome.now_ms)
        )
        self._log.advance_high_watermark(self._quorum.role, self._quorum.voters)

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
            high_watermark=high_watermark if rose else None,
            deadline_ms=self._deadline_ms(outcome.now_ms),
        )

    def _deadline_ms(self, now_ms: int) -> int:
        role = self._quorum.role
        deadlines = [now_ms + IDLE_WAIT_MS, self._fetching.deadline_ms(now_ms)]
        if isinstance(role, Leader):
            check_ms = self._elections.check_quorum_deadline_ms(role)
            if role.progress:
                deadlines += [check_ms, role.begin_epoch_deadline_ms]
        elif self._quorum.may_stand:
            deadlines.append(self._elections.deadline_ms(role))
        if isinstance(role, Resigned) and role.to_tell:
            deadlines.append(role.tell_deadline_ms)
        return min(deadline for deadline in deadlines if deadline is not None)

    @property
    def _id(self) -> BrokerId:
        return self._quorum.local.id
