"""The answers that only a leader has: to fetches, of snapshots too, and to changes of the voters.

Others say who leads, if they know.

Whatever it answers well is a sign that the asking replica listens to it.
"""

from __future__ import annotations

from dataclasses import replace

from millstream.errors import (
    BrokerNotAvailable,
    FencedLeaderEpoch,
    InvalidRequest,
    NotLeaderOrFollower,
    PositionOutOfRange,
    SnapshotNotFound,
    UnknownLeaderEpoch,
)
from millstream.model import LeaderEpoch
from millstream.raft.leader_progress import with_contact, with_fetch
from millstream.raft.log_progress import LogProgress
from millstream.raft.membership import VoterChanges
from millstream.raft.messages import (
    AddVoterRequest,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    LogPosition,
    Refusal,
    RemoveVoterRequest,
    UpdateVoterRequest,
    VoterChangeRequest,
)
from millstream.raft.quorum_state import QuorumState
from millstream.raft.ready import StepOutcome
from millstream.raft.roles import Leader
from millstream.raft.snapshot import SnapshotId
from millstream.raft.voter_set import ReplicaKey


class LeaderAnswers:
    def __init__(self, quorum: QuorumState, log: LogProgress, membership: VoterChanges) -> None:
        self._quorum = quorum
        self._log = log
        self._membership = membership

    def answer_fetch(self, token: int, request: FetchRequest, outcome: StepOutcome) -> None:
        role = self._quorum.role
        response = FetchResponse(
            epoch=self._quorum.epoch,
            leader_id=self._quorum.vouched_leader,
            endpoints=self._quorum.vouched_endpoints,
            error=self._refusal(request.epoch),
        )
        if response.error is None and not request.log.is_possible:
            response = replace(response, error=InvalidRequest)
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

    def answer_fetch_snapshot(
        self, token: int, request: FetchSnapshotRequest, outcome: StepOutcome
    ) -> None:
        error, size = self._refusal(request.epoch), self._log.snapshot_bytes(request.id)
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

    def _refusal(self, epoch: LeaderEpoch) -> Refusal | None:
        """Returns why this replica refuses what only the leader of an epoch may answer."""
        if epoch < self._quorum.epoch:
            return FencedLeaderEpoch
        if epoch > self._quorum.epoch:
            return UnknownLeaderEpoch
        if self._quorum.is_closing:
            return BrokerNotAvailable
        return None if isinstance(self._quorum.role, Leader) else NotLeaderOrFollower

    def _note_fetch(self, leader: Leader, request: FetchRequest, outcome: StepOutcome) -> None:
        """Whoever fetches has everything below on disk; of an observer that promises nothing."""
        if request.source == self._quorum.local:
            return
        end_offset, own_end = request.log.end_offset, self._log.end.end_offset
        self._quorum.update_leader(
            with_fetch(leader, request.source, end_offset, own_end, outcome.now_ms)
        )
        self._log.advance_high_watermark(self._quorum.role, self._quorum.voters)

    def answer_voter_change(
        self, token: int, request: VoterChangeRequest, outcome: StepOutcome
    ) -> None:
        epoch = request.epoch if isinstance(request, UpdateVoterRequest) else self._quorum.epoch
        refusal = self._refusal(epoch)
        if refusal is not None:
            self._membership.refuse(token, refusal(), outcome)
            return
        match request:
            case AddVoterRequest():
                self._membership.answer_add(token, request, outcome)
            case RemoveVoterRequest():
                self._membership.answer_remove(token, request, outcome)
            case UpdateVoterRequest():
                self._membership.answer_update(token, request, outcome)
