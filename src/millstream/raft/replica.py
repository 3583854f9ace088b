"""One replica of the quorum: messages, events and time in, `Ready` out. Does nothing itself.

Owns the order of a step and pull replication. Elections are in `elections`, the role in `quorum_state`, the state of the log in
`log_progress`; bytes, disks, sockets and clocks are the driver's. The driver carries out a `Ready` (syncs may finish later and
are reported as `Flushed`) before it takes the next step.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

from millstream.errors import KafkaStorageError, NotController
from millstream.model import BrokerId, LeaderEpoch, Offset
from millstream.raft.election_state import ElectionState
from millstream.raft.elections import Elections
from millstream.raft.leader_progress import with_fetch
from millstream.raft.log_progress import LogProgress
from millstream.raft.messages import (
    Appended,
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    Flushed,
    LocalEvent,
    Propose,
    RaftMessage,
    Resign,
    Tick,
    UpgradeKraftVersion,
    VoteRequest,
    VoteResponse,
)
from millstream.raft.quorum_state import QuorumState, RaftIdentity, RaftTimeouts
from millstream.raft.ready import LeaderAndEpoch, Ready
from millstream.raft.replicated_log import ReplicatedLog
from millstream.raft.roles import Follower, Leader
from millstream.raft.step_outcome import StepOutcome
from millstream.raft.voter_history import VoterHistory
from millstream.raft.voter_set import (
    KRAFT_VERSION_DYNAMIC,
    Voter,
    VoterSet,
    dynamic_quorum_records,
)
from millstream.runtime.clock import Instant
from millstream.runtime.random import Random

IDLE_WAIT_MS: Final = 60_000
"""Longest time between two ticks; there is nothing to do at them when no deadline is nearer."""


class _SentFetch(NamedTuple):
    """The fetch that is on its way."""

    epoch: LeaderEpoch
    at_ms: int


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
        self._sent_fetch: _SentFetch | None = None
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

    def step(self, event: RaftMessage | LocalEvent, now: Instant) -> Ready:
        """Takes in one event and returns the work for the driver.

        Raises NotController when records are proposed to a replica that does not lead the proposer's epoch.
        """
        outcome = StepOutcome(now.monotonic_ms)
        self._log.refresh()
        match event:
            case Propose():
                self._propose(event, outcome)
            case UpgradeKraftVersion():
                self._upgrade_kraft_version(event, outcome)
            case Appended():
                assert event.log == self._log.end, (
                    "the log does not end where the driver says it does"
                )
                self._quorum.note_appended(event.control, outcome.now_ms)
            case Flushed():
                self._log.note_flushed(event.end_offset)
            case Resign():
                self._elections.resign(outcome)
            case Tick():
                pass
            case _:
                self._elections.observe_epoch(event, outcome)
                self._handle(event, outcome)
        self._elections.check_deadlines(outcome)
        self._elections.advance(outcome)
        self._note_voters(outcome)
        self._log.advance_high_watermark(self._quorum.role, self._quorum.voters)
        self._maybe_fetch(outcome)
        self._elections.maybe_begin_epoch(outcome)
        return self._ready(outcome)

    def _handle(self, message: RaftMessage, outcome: StepOutcome) -> None:
        match message:
            case VoteRequest():
                self._elections.answer_vote(message, outcome)
            case VoteResponse():
                self._elections.count_vote(message)
            case BeginQuorumEpochRequest():
                self._elections.answer_begin_epoch(message, outcome)
            case BeginQuorumEpochResponse():
                self._elections.note_acknowledgement(message)
            case EndQuorumEpochRequest():
                self._elections.note_end_of_epoch(message, outcome)
            case FetchRequest():
                self._answer_fetch(message, outcome)
            case FetchResponse():
                self._take_fetched(message, outcome)

    def _note_voters(self, outcome: StepOutcome) -> None:
        """What this step appends or cuts off counts at once, whether it is committed or not."""
        if outcome.truncate_to is not None:
            self._quorum.history.truncate(outcome.truncate_to)
        for batch in outcome.append:
            records = enumerate(batch.control, batch.base_offset)
            self._quorum.note_appended(
                ((Offset(offset), record) for offset, record in records), outcome.now_ms
            )

    def _propose(self, event: Propose, outcome: StepOutcome) -> None:
        self._check_leads(event.epoch)
        self._log.append(outcome, event.epoch, data=event.records)

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

    # pull replication: the leader's side, then the follower's

    def _answer_fetch(self, request: FetchRequest, outcome: StepOutcome) -> None:
        role = self._quorum.role
        response = FetchResponse(
            source=self._id,
            epoch=self._quorum.epoch,
            leader_id=self._quorum.vouched_leader,
            fetch_offset=request.log.end_offset,
        )
        if isinstance(role, Leader) and request.epoch == role.epoch:
            response = replace(response, diverging=self._log.divergence(request.log))
            if response.diverging is None:
                self._note_fetch(role, request, outcome)
                response = replace(response, high_watermark=self._log.high_watermark)
        outcome.send(request.source.id, response)

    def _note_fetch(self, leader: Leader, request: FetchRequest, outcome: StepOutcome) -> None:
        """A voter has everything below its fetch on disk. An observer's fetch promises nothing."""
        voters = self._quorum.voters
        if voters.has(request.source) and request.source.id != self._id:
            voter = voters.key_of(request.source.id)
            self._quorum.update_leader(
                with_fetch(leader, voter, request.log.end_offset, outcome.now_ms)
            )
            self._log.advance_high_watermark(self._quorum.role, voters)

    def _take_fetched(self, response: FetchResponse, outcome: StepOutcome) -> None:
        role = self._quorum.role
        leads = response.source == response.leader_id  # a leader that resigned answers without one
        followed = isinstance(role, Follower) and role.leader_id == response.source
        if not (leads and followed and response.epoch == self._quorum.epoch):
            return
        self._sent_fetch = None
        if response.fetch_offset != self._log.end.end_offset:
            return  # an answer to a fetch from before a truncation
        self._quorum.fetched(outcome.now_ms)
        if response.diverging is not None:
            self._log.truncate(outcome, response.diverging)
            return
        if response.high_watermark is not None:
            self._log.note_leader_high_watermark(response.high_watermark)
        outcome.append_fetched = response.records

    def _maybe_fetch(self, outcome: StepOutcome) -> None:
        """One fetch is on its way at a time, and only from what is on the disk: a fetch promises what lies below it."""
        role = self._quorum.role
        idle = not outcome.append_fetched and self._log.is_flushed
        if not isinstance(role, Follower) or not idle or outcome.now_ms < self._next_fetch_ms(role):
            return
        self._sent_fetch = _SentFetch(role.epoch, outcome.now_ms)
        request = FetchRequest(source=self._quorum.local, epoch=role.epoch, log=self._log.end)
        outcome.send(role.leader_id, request)

    def _next_fetch_ms(self, role: Follower) -> int:
        """At once, unless a fetch to this leader may still be answered."""
        if self._sent_fetch is None or self._sent_fetch.epoch != role.epoch:
            return 0
        return self._sent_fetch.at_ms + self._timeouts.fetch_retry_ms

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
            send=tuple(outcome.sends),
            leadership=new_leadership,
            high_watermark=high_watermark if rose else None,
            deadline_ms=self._deadline_ms(outcome.now_ms),
        )

    def _deadline_ms(self, now_ms: int) -> int:
        role = self._quorum.role
        latest = now_ms + IDLE_WAIT_MS
        match role:
            case Follower():
                next_fetch_ms = max(self._next_fetch_ms(role), now_ms + 1)
                return min(latest, role.fetch_deadline_ms, next_fetch_ms)
            case Leader():
                check_ms = self._elections.check_quorum_deadline_ms(role)
                return (
                    latest
                    if check_ms is None
                    else min(latest, role.begin_epoch_deadline_ms, check_ms)
                )
            case _:
                return min(latest, role.election_deadline_ms) if self._quorum.is_voter else latest

    @property
    def _id(self) -> BrokerId:
        return self._quorum.local.id
