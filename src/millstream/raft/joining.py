"""The changes of the voters that a follower asks for: its own entry, or, where that is allowed, that it votes.

Decides; `VoterChanges` does it on the leader's side. A removed voter does not come back by itself (KAFKA-19850):
whoever was a voter, or cannot tell any more whether it was, waits to be added by hand.
"""

from __future__ import annotations

from millstream.model import LeaderEpoch, Offset
from millstream.raft.log_progress import ReplicatedLog
from millstream.raft.messages import (
    AddVoterRequest,
    RemoveVoterRequest,
    UpdateVoterRequest,
    VoterChangeRequest,
    VoterChangeResponse,
)
from millstream.raft.quorum_state import QuorumState, RaftIdentity, RaftTimeouts
from millstream.raft.ready import StepOutcome
from millstream.raft.roles import Follower
from millstream.raft.voter_history import QuorumEntry
from millstream.raft.voter_set import KRAFT_VERSION_DYNAMIC, Voter


def wanted_change(
    identity: RaftIdentity, entry: QuorumEntry, epoch: LeaderEpoch, *, may_join: bool
) -> VoterChangeRequest | None:
    """Returns what a follower wants changed of the voters that are named now.

    The old directory of a replaced disk is removed before the new one is added: one directory votes for an id.
    """
    own = Voter(identity.local, identity.endpoints)
    named = entry.voters.get(identity.local.id)
    if named is not None and named.key.matches(identity.local):
        # A static voter tells what its log cannot hold yet, for the day of the upgrade.
        return UpdateVoterRequest(epoch=epoch, voter=own) if named != own else None
    if not may_join or entry.kraft_version < KRAFT_VERSION_DYNAMIC:
        return None
    if named is not None:
        return RemoveVoterRequest(voter=named.key)
    return AddVoterRequest(voter=own, ack_when_committed=False)


class Joining:
    def __init__(self, quorum: QuorumState, log: ReplicatedLog, timeouts: RaftTimeouts) -> None:
        self._quorum = quorum
        self._timeouts = timeouts
        snapshot = log.newest_snapshot()
        is_empty = log.position().end_offset == 0
        is_complete = log.start().end_offset == 0 and (snapshot is None or snapshot.end_offset == 0)
        self._may_have_voted = not (is_empty or is_complete)
        """It was a voter once, or a snapshot stands for the part of the log that would tell."""
        self._next_ms: int | None = None
        self._told_epoch: LeaderEpoch | None = None
        """The epoch whose leader knows of this static voter."""

    def maybe_ask(self, high_watermark: Offset, outcome: StepOutcome) -> None:
        """Asks once each fetch time-out, as Kafka does, while there is something to ask for."""
        quorum, role = self._quorum, self._quorum.role
        if not self._may_have_voted:
            self._may_have_voted = quorum.history.ever_named(quorum.local, high_watermark)
        if not isinstance(role, Follower) or not role.has_fetched:
            self._next_ms = None
            return
        if self._next_ms is None:
            self._next_ms = outcome.now_ms + self._timeouts.fetch_timeout_ms
        if outcome.now_ms < self._next_ms or quorum.is_closing or quorum.is_installing:
            return
        self._next_ms = outcome.now_ms + self._timeouts.fetch_timeout_ms
        request, leader = self._wanted(), quorum.leader
        if request is not None and leader is not None:
            outcome.send(leader, request)

    def take(self, request: UpdateVoterRequest, response: VoterChangeResponse) -> None:
        """The leader knows of this voter now."""
        if response.error is None:
            self._told_epoch = request.epoch

    @property
    def deadline_ms(self) -> int | None:
        """Returns the time at which there is something to ask for; None where there is nothing, or
        nothing is asked for now.
        """
        if self._quorum.is_closing or self._quorum.is_installing:
            return None  # a time that is over would have the driver look again at once, until the snapshot is there
        return self._next_ms if self._next_ms is not None and self._wanted() else None

    def _wanted(self) -> VoterChangeRequest | None:
        quorum = self._quorum
        entry = quorum.history.newest
        is_told = self._told_epoch == quorum.epoch and entry.kraft_version < KRAFT_VERSION_DYNAMIC
        if not quorum.identity.endpoints or is_told:
            return None
        may_join = quorum.identity.joins_by_itself and not self._may_have_voted
        return wanted_change(quorum.identity, entry, quorum.epoch, may_join=may_join)
