"""Voter 1 of a quorum, elected, with a log in memory. The test speaks for everybody else."""

from __future__ import annotations

import itertools

from millstream.model import BrokerId, Offset, Uuid
from millstream.raft.election_state import ElectionState
from millstream.raft.messages import (
    FetchRequest,
    FetchResponse,
    Flushed,
    InboundRequest,
    InboundResponse,
    KraftVersionsResponse,
    LogPosition,
    QuorumRequest,
    RaftEvent,
    RaftResponse,
    Send,
    Tick,
    VoterChangeRequest,
    VoteRequest,
    VoteResponse,
)
from millstream.raft.quorum_state import RaftIdentity, RaftTimeouts
from millstream.raft.ready import Ready
from millstream.raft.replica import RaftReplica
from millstream.raft.voter_history import VoterHistory
from millstream.raft.voter_set import ReplicaKey, Voter, VoterEndpoint, VoterSet
from millstream.runtime import Instant
from tests.sim.raft_log import MemoryLog
from tests.unit.raft.replicas import Never


def key(number: int, disk: int | None = None) -> ReplicaKey:
    return ReplicaKey(BrokerId(number), Uuid(bytes([number if disk is None else disk]) * 16))


def voter(number: int, disk: int | None = None, host: str = "") -> Voter:
    endpoint = VoterEndpoint("CONTROLLER", host or f"host-{number}", 9093)
    return Voter(key(number, disk), (endpoint,))


class LedQuorum:
    """`sent` and `replies` gather what the replica wants sent and answered, `changes` its roles."""

    def __init__(self, *numbers: int, history: VoterHistory | None = None) -> None:
        self.now_ms = 0
        self.log = MemoryLog()
        self.sent: list[Send] = []
        self.changes: list[str] = []
        self.replies: dict[int, RaftResponse] = {}
        self._tokens = itertools.count(1)
        self.replica = RaftReplica(
            RaftIdentity(key(1), voter(1).endpoints),
            history or VoterHistory.bootstrapped(VoterSet(voter(n) for n in numbers)),
            RaftTimeouts(),
            Never(),
            self.log,
            stored=ElectionState(),
            now=self.now,
        )
        self.step(Tick(), after_ms=1_000)
        while not self.replica.is_leader:
            for send in self.take_sent(VoteRequest):
                granted = VoteResponse(epoch=self.replica.quorum.epoch, granted=True)
                self.step(InboundResponse(send, granted))

    @property
    def now(self) -> Instant:
        return Instant(self.now_ms, self.now_ms)

    @property
    def voters(self) -> dict[int, ReplicaKey]:
        return {each.key.id: each.key for each in self.replica.quorum.voters}

    def step(self, event: RaftEvent, after_ms: int = 0) -> Ready:
        """Everything that is appended is synced at once."""
        self.now_ms += after_ms
        ready = self.replica.step(event, self.now)
        for batch in ready.append:
            self.log.append(batch)
        self.sent += ready.send
        self.changes += map(str, ready.role_changes)
        self.replies |= {reply.token: reply.response for reply in ready.reply}
        if ready.append:
            self.log.synced = len(self.log.entries)
            self.step(Flushed(Offset(self.log.synced)))
        return ready

    def ask(self, request: QuorumRequest | VoterChangeRequest) -> int:
        token = next(self._tokens)
        self.step(InboundRequest(token, request))
        return token

    def take_sent(self, kind: type) -> list[Send]:
        found = [send for send in self.sent if isinstance(send.message, kind)]
        self.sent = [send for send in self.sent if send not in found]
        return found

    def fetch(self, source: ReplicaKey, end_offset: int | None = None) -> FetchResponse:
        """The source has all of the log, or what is before `end_offset`."""
        position = self.log.position_at(len(self.log.entries) if end_offset is None else end_offset)
        request = FetchRequest(
            source=source,
            epoch=self.replica.quorum.epoch,
            log=LogPosition(position.end_offset, position.last_epoch),
            high_watermark=Offset(0),
        )
        response = self.replies[self.ask(request)]
        assert isinstance(response, FetchResponse)
        return response

    def tell_versions(self, versions: tuple[int, int] | None = (0, 1)) -> None:
        (send,) = self.sent[-1:]
        self.step(InboundResponse(send, KraftVersionsResponse(kraft_versions=versions)))
