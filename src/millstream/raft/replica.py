"""One replica of the quorum: messages, events and time in, `Ready` out. Does nothing itself.

Owns the protocol: elections with pre-vote, the leader's bookkeeping, pull replication, divergence, commit. The role and its
transitions are `QuorumState`'s; bytes, disks, sockets and clocks are the driver's. The driver carries out a `Ready` (syncs may
finish later and are reported as `Flushed`) before it takes the next step.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from millstream.errors import KafkaStorageError, NotController
from millstream.model import BrokerId, LeaderEpoch, Offset
from millstream.protocol.generated.control_records import KRaftVersionRecord
from millstream.raft.election_state import NOBODY, ElectionState
from millstream.raft.leader_progress import (
    committed_offset,
    quorum_heard_ms,
    successors,
    with_acknowledgement,
    with_fetch,
)
from millstream.raft.messages import (
    Appended,
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    Flushed,
    LocalEvent,
    LogPosition,
    Propose,
    RaftMessage,
    Resign,
    Tick,
    VoteRequest,
    VoteResponse,
)
from millstream.raft.quorum_state import QuorumState, RaftIdentity, RaftTimeouts
from millstream.raft.ready import AppendBatch, ControlRecord, LeaderAndEpoch, Ready, Send
from millstream.raft.replicated_log import ReplicatedLog
from millstream.raft.roles import Candidate, Follower, Leader, Prospective, Resigned, Unattached
from millstream.raft.voter_set import (
    KRAFT_VERSION_DYNAMIC,
    leader_change_record,
    voters_record,
)
from millstream.raft.voting import may_grant
from millstream.runtime.clock import Instant
from millstream.runtime.random import Random

IDLE_WAIT_MS: Final = 60_000
"""Longest time between two ticks; there is nothing to do at them when no deadline is nearer."""


@dataclass(slots=True)
class _Outcome:
    """What this step has gathered for its Ready."""

    truncate_to: Offset | None = None
    append: list[AppendBatch] = field(default_factory=list)
    append_fetched: bytes = b""
    send: list[Send] = field(default_factory=list)


class RaftReplica:
    """A voter or an observer of the metadata quorum."""

    def __init__(
        self,
        identity: RaftIdentity,
        timeouts: RaftTimeouts,
        random: Random,
        log: ReplicatedLog,
        stored: ElectionState,
        *,
        now: Instant,
    ) -> None:
        """Raises KafkaStorageError when `stored` and the log do not belong together."""
        self._timeouts = timeouts
        self._log = log
        end = log.position()
        if stored.epoch < end.last_epoch:
            raise KafkaStorageError(
                f"the metadata log ends in epoch {end.last_epoch}, quorum-state knows {stored.epoch} only: it is lost or old. "
                "Restore it, or remove this voter's directory and let it join as new"
            )
        self._quorum = QuorumState(identity, timeouts, random, stored, now.monotonic_ms)
        self._end = end
        self._flushed = self._end.end_offset
        self._high_watermark = log.high_watermark()
        self._leader_high_watermark = self._high_watermark
        self._reported_high_watermark = Offset(-1)
        self._reported_leadership: LeaderAndEpoch | None = None
        self._fetch_sent_ms: int | None = None
        self._out = _Outcome()
        self._now_ms = now.monotonic_ms

    @property
    def quorum(self) -> QuorumState:
        return self._quorum

    @property
    def high_watermark(self) -> Offset:
        return self._high_watermark

    @property
    def is_leader(self) -> bool:
        return isinstance(self._quorum.role, Leader)

    def step(self, event: RaftMessage | LocalEvent, now: Instant) -> Ready:
        """Raises NotController when records are proposed to a replica that does not lead the proposer's epoch."""
        self._out = _Outcome()
        self._now_ms = now.monotonic_ms
        self._end = self._log.position()
        match event:
            case Propose():
                self._propose(event)
            case Appended():
                assert event.log == self._end, "the log does not end where the driver says it does"
            case Flushed():
                self._flushed = min(event.end_offset, self._end.end_offset)
            case Resign():
                self._resign()
            case Tick():
                pass
            case _:
                self._handle(event)
        self._check_deadlines()
        self._advance_election()
        self._advance_high_watermark()
        self._maybe_fetch()
        self._maybe_begin_epoch()
        return self._ready()

    # messages of other replicas

    def _handle(self, message: RaftMessage) -> None:
        self._observe_epoch(message)
        match message:
            case VoteRequest():
                self._answer_vote(message)
            case VoteResponse():
                self._count_vote(message)
            case BeginQuorumEpochRequest():
                self._send(message.source, BeginQuorumEpochResponse(source=self._id, epoch=self._epoch, leader_id=self._known_leader))  # fmt: skip
            case BeginQuorumEpochResponse():
                self._note_acknowledgement(message)
            case EndQuorumEpochRequest():
                self._note_end_of_epoch(message)
            case FetchRequest():
                self._answer_fetch(message)
            case FetchResponse():
                self._take_fetched(message)

    def _observe_epoch(self, message: RaftMessage) -> None:
        """Moves to the message's epoch when it is higher, and to the leader it names when there was none."""
        leader_id = _leader_named_by(message)
        if message.epoch > self._epoch:
            if leader_id in (NOBODY, self._id):
                self._quorum.become_unattached(message.epoch, self._now_ms)
            else:
                self._follow(message.epoch, leader_id)
        elif message.epoch == self._epoch and leader_id not in (NOBODY, self._id):
            role = self._quorum.role
            # A replica that lost touch with its leader believes in it again only when the leader itself says so:
            # else followers of a dead leader, and its last answers, would keep the others from electing another.
            news = role.leader_id == NOBODY or isinstance(message, BeginQuorumEpochRequest)
            if news and isinstance(role, Unattached | Prospective | Candidate):
                self._follow(message.epoch, leader_id)

    def _answer_vote(self, request: VoteRequest) -> None:
        role = self._quorum.role
        granted = (
            request.epoch == self._epoch
            and request.voter.matches(self._quorum.identity.local)
            and may_grant(role, request, self._end)
        )
        if granted and not request.pre_vote and isinstance(role, Unattached | Prospective):
            self._quorum.vote_for(request.source, self._now_ms)
        self._send(
            request.source.id,
            VoteResponse(
                source=self._id, epoch=self._epoch, leader_id=self._known_leader, granted=granted
            ),
        )

    def _count_vote(self, response: VoteResponse) -> None:
        role = self._quorum.role
        asked = isinstance(role, Prospective | Candidate) and response.epoch == self._epoch
        if asked and response.source in self._quorum.identity.voters.ids:
            self._quorum.count_answer(response.source, granted=response.granted)

    def _note_acknowledgement(self, response: BeginQuorumEpochResponse) -> None:
        role = self._quorum.role
        if (
            isinstance(role, Leader)
            and response.epoch == role.epoch
            and response.source in role.progress
        ):
            self._quorum.update_leader(with_acknowledgement(role, response.source, self._now_ms))

    def _note_end_of_epoch(self, request: EndQuorumEpochRequest) -> None:
        role = self._quorum.role
        if not isinstance(role, Follower) or request.epoch != role.epoch:
            return
        ids = [key.id for key in request.preferred_successors]
        place = ids.index(self._id) if self._id in ids else len(ids)
        self._quorum.stand_soon(place * self._timeouts.election_timeout_ms, self._now_ms)

    def _answer_fetch(self, request: FetchRequest) -> None:
        role = self._quorum.role
        response = FetchResponse(source=self._id, epoch=self._epoch, leader_id=self._known_leader, fetch_offset=request.log.end_offset)  # fmt: skip
        if isinstance(role, Leader) and request.epoch == role.epoch:
            response = replace(response, diverging=self._divergence(request.log))
            if response.diverging is None:
                self._note_fetch(role, request)
                response = replace(response, high_watermark=self._high_watermark)
        self._send(request.source.id, response)

    def _note_fetch(self, leader: Leader, request: FetchRequest) -> None:
        if request.source.id in leader.progress and self._quorum.identity.voters.has(
            request.source
        ):
            end_offset = request.log.end_offset
            self._quorum.update_leader(
                with_fetch(leader, request.source.id, end_offset, self._now_ms)
            )
            self._advance_high_watermark()

    def _divergence(self, theirs: LogPosition) -> LogPosition | None:
        """Where a log that ends at `theirs` leaves this one; None when this one continues it."""
        if theirs.end_offset == 0:
            return None
        ours = self._log.end_of_epoch(theirs.last_epoch)
        same = ours.last_epoch == theirs.last_epoch and ours.end_offset >= theirs.end_offset
        return None if same else ours

    def _take_fetched(self, response: FetchResponse) -> None:
        role = self._quorum.role
        leads = response.source == response.leader_id  # a leader that resigned answers without one
        followed = isinstance(role, Follower) and role.leader_id == response.source
        if not (leads and followed and response.epoch == self._epoch):
            return
        self._fetch_sent_ms = None
        if response.fetch_offset != self._end.end_offset:
            return  # an answer to a fetch from before a truncation
        self._quorum.fetched(self._now_ms)
        if response.diverging is not None:
            self._truncate(response.diverging)
            return
        if response.high_watermark is not None:
            self._leader_high_watermark = response.high_watermark
        self._out.append_fetched = response.records

    def _truncate(self, diverging: LogPosition) -> None:
        ours = self._log.end_of_epoch(diverging.last_epoch)
        offset = min(ours.end_offset, diverging.end_offset)
        assert offset >= self._high_watermark, (
            f"the leader wants the log cut at {offset}, below what was committed: {self._high_watermark}"
        )
        self._out.truncate_to = offset
        self._end = LogPosition(offset, ours.last_epoch)
        self._flushed = min(self._flushed, offset)

    # the own log

    def _propose(self, event: Propose) -> None:
        role = self._quorum.role
        if not isinstance(role, Leader) or role.epoch != event.epoch:
            raise NotController(f"replica {self._id} does not lead epoch {event.epoch}")
        self._append(data=event.records)

    def _append(
        self, *, control: tuple[ControlRecord, ...] = (), data: tuple[bytes, ...] = ()
    ) -> None:
        batch = AppendBatch(
            base_offset=self._end.end_offset, epoch=self._epoch, control=control, data=data
        )
        self._out.append.append(batch)
        self._end = LogPosition(Offset(batch.last_offset + 1), self._epoch)

    def _advance_high_watermark(self) -> None:
        role = self._quorum.role
        if isinstance(role, Leader):
            committed = committed_offset(role, self._quorum.identity.voters, self._flushed)
        elif isinstance(role, Follower):
            committed = min(self._leader_high_watermark, self._flushed)
        else:
            committed = None
        if committed is not None and committed > self._high_watermark:
            self._high_watermark = committed

    # elections and time

    def _check_deadlines(self) -> None:
        role = self._quorum.role
        if not self._quorum.identity.is_voter:
            return
        match role:
            case Unattached() | Resigned() | Candidate():
                if self._now_ms >= role.election_deadline_ms:
                    self._stand()
            case Follower():
                if self._now_ms >= role.fetch_deadline_ms:
                    self._stand()
            case Prospective():
                if self._now_ms >= role.election_deadline_ms or self._is_rejected(role):
                    self._give_up(role)
            case Leader():
                heard_ms = quorum_heard_ms(role, self._quorum.identity.voters)
                if (
                    heard_ms is not None
                    and self._now_ms >= heard_ms + self._timeouts.check_quorum_timeout_ms
                ):
                    self._resign()

    def _stand(self) -> None:
        self._fetch_sent_ms = None
        self._quorum.become_prospective(self._now_ms)
        self._ask_for_votes(pre_vote=True)

    def _give_up(self, role: Prospective) -> None:
        if role.leader_id in (NOBODY, self._id):
            self._quorum.become_unattached_after_lost_pre_vote(self._now_ms)
        else:
            self._follow(role.epoch, role.leader_id)

    def _is_rejected(self, role: Prospective) -> bool:
        return len(role.tally.rejected) >= self._quorum.identity.voters.majority

    def _advance_election(self) -> None:
        voters = self._quorum.identity.voters
        role = self._quorum.role
        if isinstance(role, Prospective) and len(role.tally.granted) >= voters.majority:
            self._quorum.become_candidate(self._now_ms)
            self._ask_for_votes(pre_vote=False)
        role = self._quorum.role
        if isinstance(role, Candidate) and len(role.tally.granted) >= voters.majority:
            self._lead()

    def _ask_for_votes(self, *, pre_vote: bool) -> None:
        identity = self._quorum.identity
        for voter in identity.other_voters:
            request = VoteRequest(source=identity.local, epoch=self._epoch, log=self._end, voter=voter, pre_vote=pre_vote)  # fmt: skip
            self._send(voter.id, request)

    def _lead(self) -> None:
        identity = self._quorum.identity
        self._quorum.become_leader(self._end.end_offset, self._now_ms)
        role = self._quorum.role
        assert isinstance(role, Leader), "become_leader makes a leader"
        control: list[ControlRecord] = [
            leader_change_record(role.local, identity.voters, role.granting)
        ]
        if identity.kraft_version >= KRAFT_VERSION_DYNAMIC and role.epoch_start_offset == 0:
            control += [
                KRaftVersionRecord(kraft_version=identity.kraft_version),
                voters_record(identity.voters),
            ]
        self._append(control=tuple(control))

    def _resign(self) -> None:
        role = self._quorum.role
        if not isinstance(role, Leader):
            return
        preferred = successors(role, self._quorum.identity.voters)
        self._quorum.become_resigned(self._now_ms)
        for voter in self._quorum.identity.other_voters:
            request = EndQuorumEpochRequest(
                source=self._id, epoch=role.epoch, preferred_successors=preferred
            )
            self._send(voter.id, request)

    def _follow(self, epoch: LeaderEpoch, leader_id: BrokerId) -> None:
        self._quorum.become_follower(epoch, leader_id, self._now_ms)
        self._fetch_sent_ms = None

    def _maybe_fetch(self) -> None:
        """One fetch is on its way at a time, and only from what is on the disk: a fetch promises what lies below it."""
        role = self._quorum.role
        idle = not self._out.append_fetched and self._flushed >= self._end.end_offset
        if not isinstance(role, Follower) or not idle or self._now_ms < self._next_fetch_ms():
            return
        self._fetch_sent_ms = self._now_ms
        request = FetchRequest(source=self._quorum.identity.local, epoch=role.epoch, log=self._end)
        self._send(role.leader_id, request)

    def _next_fetch_ms(self) -> int:
        return (
            0
            if self._fetch_sent_ms is None
            else self._fetch_sent_ms + self._timeouts.fetch_retry_ms
        )

    def _maybe_begin_epoch(self) -> None:
        """Tells the voters that have not shown themselves who leads, until they do."""
        role = self._quorum.role
        if not isinstance(role, Leader) or self._now_ms < role.begin_epoch_deadline_ms:
            return
        for voter_id, state in role.progress.items():
            if not state.acknowledged:
                self._send(voter_id, BeginQuorumEpochRequest(source=self._id, epoch=role.epoch))
        deadline = self._now_ms + self._timeouts.begin_epoch_retry_ms
        self._quorum.update_leader(replace(role, begin_epoch_deadline_ms=deadline))

    # the result

    def _ready(self) -> Ready:
        leadership = LeaderAndEpoch(self._known_leader, self._epoch)
        new_leadership = None if leadership == self._reported_leadership else leadership
        rose = self._high_watermark > self._reported_high_watermark
        self._reported_leadership = leadership
        self._reported_high_watermark = self._high_watermark
        return Ready(
            persist=self._quorum.take_persist(),
            truncate_to=self._out.truncate_to,
            append=tuple(self._out.append),
            append_fetched=self._out.append_fetched,
            send=tuple(self._out.send),
            leadership=new_leadership,
            high_watermark=self._high_watermark if rose else None,
            deadline_ms=self._deadline_ms(),
        )

    def _deadline_ms(self) -> int:
        role = self._quorum.role
        latest = self._now_ms + IDLE_WAIT_MS
        match role:
            case Follower():
                return min(
                    latest, role.fetch_deadline_ms, max(self._next_fetch_ms(), self._now_ms + 1)
                )
            case Leader():
                heard_ms = quorum_heard_ms(role, self._quorum.identity.voters)
                if heard_ms is None:
                    return latest
                return min(
                    latest,
                    role.begin_epoch_deadline_ms,
                    heard_ms + self._timeouts.check_quorum_timeout_ms,
                )
            case _:
                return (
                    min(latest, role.election_deadline_ms)
                    if self._quorum.identity.is_voter
                    else latest
                )

    def _send(self, to: BrokerId, message: RaftMessage) -> None:
        self._out.send.append(Send(to, message))

    @property
    def _id(self) -> BrokerId:
        return self._quorum.identity.local.id

    @property
    def _epoch(self) -> LeaderEpoch:
        return self._quorum.epoch

    @property
    def _known_leader(self) -> BrokerId:
        """The leader this replica can vouch for: one it only remembers does not count, it may be long gone."""
        role = self._quorum.role
        return role.leader_id if isinstance(role, Leader | Follower) else NOBODY


def _leader_named_by(message: RaftMessage) -> BrokerId:
    match message:
        case BeginQuorumEpochRequest() | EndQuorumEpochRequest():
            return message.source
        case VoteResponse() | BeginQuorumEpochResponse() | FetchResponse():
            return message.leader_id
        case VoteRequest() | FetchRequest():
            return NOBODY
