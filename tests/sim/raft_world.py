"""A world of raft replicas in memory: a network that delays, reorders, repeats, drops and cuts; nodes that come, go and lose their disk."""

from __future__ import annotations

import heapq
import itertools
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

from millstream.errors import InvalidUpdateVersion
from millstream.model import BrokerId, Offset, Uuid
from millstream.raft.election_state import NOBODY, ElectionState
from millstream.raft.messages import (
    AddVoterRequest,
    FetchRequest,
    FetchResponse,
    FetchSnapshotResponse,
    Flushed,
    InboundRequest,
    InboundResponse,
    KraftVersionsRequest,
    KraftVersionsResponse,
    LogPosition,
    OutboundResponse,
    Peer,
    Propose,
    RaftEvent,
    RaftResponse,
    RemoveVoterRequest,
    Resign,
    Send,
    ShutDown,
    SnapshotWritten,
    Tick,
    Unanswered,
    UpgradeKraftVersion,
)
from millstream.raft.quorum_state import RaftIdentity, RaftTimeouts
from millstream.raft.ready import Ready, SnapshotPiece
from millstream.raft.replica import RaftReplica
from millstream.raft.voter_history import VoterHistory
from millstream.raft.voter_set import ReplicaKey, Voter, VoterEndpoint, VoterSet
from millstream.runtime import Instant
from tests.sim.raft_log import Entry, MemoryLog

IDLE_FETCH_MS = 100
PIECE_BYTES = 400
SLOW_SYNC_MS = 800
MOST_REQUESTS_A_SECOND = 2_000
"""Of all nodes: seven that look for a leader send some hundred."""


@dataclass
class Node:
    key: ReplicaKey
    founders: VoterSet | None
    """The voters it was formatted with; None for one that joined later."""
    joins_by_itself: bool = False
    is_static: bool = False
    """Configuration names the voters (kraft.version 0)."""
    log: MemoryLog = field(default_factory=MemoryLog)
    stored: ElectionState = field(default_factory=ElectionState)
    replica: RaftReplica | None = None
    deadline_ms: int = 0
    incarnation: int = 0
    high_watermark: int = 0

    @property
    def running(self) -> RaftReplica:
        assert self.replica is not None, "the node is down"
        return self.replica

    def history(self) -> VoterHistory:
        return self.log.history(self.founders, is_static=self.is_static)

    @property
    def endpoint(self) -> VoterEndpoint:
        return VoterEndpoint("CONTROLLER", f"node-{self.key.id}", 9093)

    @property
    def voter(self) -> Voter:
        return Voter(self.key, (self.endpoint,))


class _Asked(NamedTuple):
    """Who waits for the answer to a request that has arrived."""

    source: Node
    incarnation: int
    send: Send


class RaftWorld:
    """Voters 1..n and observers after them, one clock, one seed. `after_step` hooks see every Ready; invariants hang there."""

    def __init__(
        self, voters: int, seed: int = 0, *, observers: int = 0, latency_ms: int = 5
    ) -> None:
        self.random = random.Random(seed)
        self.latency_ms = latency_ms
        self.now_ms = 0
        keys = [_key(n, 0) for n in range(1, voters + observers + 1)]
        endpoints = [VoterEndpoint("CONTROLLER", f"node-{key.id}", 9093) for key in keys]
        founding = zip(keys[:voters], endpoints, strict=False)
        self.founders = VoterSet(Voter(key, (endpoint,)) for key, endpoint in founding)
        self.bootstrap_servers = tuple(endpoints)
        self.nodes: dict[int, Node] = {
            key.id: Node(key, self.founders if key.id <= voters else None) for key in keys
        }
        self.cut: set[frozenset[int]] = set()
        self.cut_one_way: set[tuple[int, int]] = set()
        """Nothing gets from the first to the second."""
        self.loss = self.duplication = 0.0
        self.slow_disks: set[int] = set()
        self.late_ms = 0
        """How much later than others a message may come."""
        self.sent: Counter[tuple[int, type]] = Counter()
        """Requests by sender and kind."""
        self.asked_for: set[ReplicaKey] = set()
        """Replicas that somebody wanted to vote."""
        self.lost_disks: list[tuple[ReplicaKey, list[Entry]]] = []
        """What replaced disks held: it was promised, and gone before it was counted."""
        self.after_step: list[Callable[[Node, RaftEvent, Ready], None]] = []
        self._sent_in = (0, 0)
        self._asked: dict[int, _Asked] = {}
        self._answers: dict[int, RaftResponse | None] = {}
        self._tokens = itertools.count()
        self._disks = itertools.count(1)
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._ties = itertools.count()

    # nodes

    def start(self, node_id: int) -> None:
        node = self.nodes[node_id]
        node.incarnation += 1
        node.high_watermark = node.log.high_watermark()
        node.replica = RaftReplica(
            RaftIdentity(node.key, (node.endpoint,), self.bootstrap_servers, node.joins_by_itself),
            node.history(),
            RaftTimeouts(),
            self.random,  # type: ignore[arg-type]  # it names the argument of randrange otherwise
            node.log,
            stored=node.stored,
            now=self.instant(),
        )
        self.step(node_id, Tick())

    def crash(self, node_id: int) -> None:
        node = self.nodes[node_id]
        node.replica = None
        node.log.crash()

    def wipe(self, node_id: int) -> None:
        """The node's disk is replaced: another directory, without a log, a vote or an epoch."""
        node = self.nodes[node_id]
        self.lost_disks.append((node.key, node.log.entries[: node.log.synced]))
        node.incarnation += 1  # its events are no longer its own
        node.replica = None
        self.nodes[node_id] = Node(
            _key(node_id, next(self._disks)),
            None,
            node.joins_by_itself,
            incarnation=node.incarnation,
        )

    def may_lose(self, node_id: int) -> bool:
        """Whether every voter set that a log names keeps its majority without this node's disk.

        And whether it does once it names that node no more. Without one no quorum goes on, whatever its rules.
        """
        alive = [node.key for node in self.nodes.values() if node.key.id != node_id]
        for node in self.nodes.values():
            named = node.history().voters
            rest = VoterSet(voter for voter in named if voter.key.id != node_id)
            if any(
                sum(map(each.has, alive)) < each.majority for each in (named, rest) if len(each)
            ):
                return False
        return True

    def instant(self) -> Instant:
        return Instant(1_000_000 + self.now_ms, self.now_ms)

    def leaders(self) -> list[Node]:
        return [n for n in self.nodes.values() if n.replica is not None and n.replica.is_leader]

    def leader(self) -> Node | None:
        """The leader of the highest epoch."""
        return max(self.leaders(), key=lambda n: n.running.quorum.epoch, default=None)

    def propose(self, text: str) -> bool:
        node = self.leader()
        if node is None:
            return False
        self.step(node.key.id, Propose((text.encode(),), node.running.quorum.epoch))
        return True

    def resign(self, node_id: int) -> None:
        self.step(node_id, Resign())

    def shut_down(self, node_id: int) -> None:
        self.step(node_id, ShutDown())

    def add(self, node_id: int) -> int | None:
        """An administrator wants this node to vote. Returns what `answer` knows the answer by."""
        node = self.nodes[node_id]
        self.asked_for.add(node.key)
        return self._administer(AddVoterRequest(voter=node.voter))

    def remove(self, key: ReplicaKey) -> int | None:
        return self._administer(RemoveVoterRequest(voter=key))

    def answer(self, token: int | None) -> RaftResponse | None:
        return None if token is None else self._answers[token]

    def snapshot(self, node_id: int) -> None:
        """A snapshot of what this node has applied; the log before an older one goes."""
        node = self.nodes[node_id]
        if node.replica is not None and node.log.take_snapshot(node.high_watermark):
            self.step(node_id, SnapshotWritten(node.log.high_watermark()))

    def upgrade_kraft_version(self) -> bool:
        """Makes the voters of a static quorum records of its log; False while that cannot be done."""
        node = self.leader()
        if node is None:
            return False
        try:
            self.step(node.key.id, UpgradeKraftVersion(node.running.quorum.epoch))
        except InvalidUpdateVersion:
            return False
        return True

    def isolate(self, node_id: int) -> None:
        self.cut |= {frozenset((node_id, other)) for other in self.nodes if other != node_id}

    def deafen(self, node_id: int) -> None:
        """The node still speaks, and hears nobody."""
        self.cut_one_way |= {(other, node_id) for other in self.nodes if other != node_id}

    def mute(self, node_id: int) -> None:
        """The node still hears, and nobody hears it."""
        self.cut_one_way |= {(node_id, other) for other in self.nodes if other != node_id}

    def heal(self) -> None:
        self.cut.clear()
        self.cut_one_way.clear()
        self.loss = self.duplication = 0.0
        self.late_ms = 0
        self.slow_disks.clear()

    def run(self, duration_ms: int) -> None:
        end = self.now_ms + duration_ms
        while self._events and self._events[0][0] <= end:
            self.now_ms, _, event = heapq.heappop(self._events)
            event()
        self.now_ms = end

    def step(self, node_id: int, event: RaftEvent) -> None:
        node = self.nodes[node_id]
        if node.replica is None:
            return
        ready = node.replica.step(event, self.instant())
        self._carry_out(node, ready)
        for hook in self.after_step:
            hook(node, event, ready)
        if ready.append_fetched:
            self.step(node_id, node.log.appended())
        if ready.snapshot_piece is not None:
            self._write_piece(node, ready.snapshot_piece)

    # what a driver does

    def _carry_out(self, node: Node, ready: Ready) -> None:
        if ready.persist is not None:
            node.stored = ready.persist
        if ready.truncate_to is not None:
            node.log.truncate(ready.truncate_to)
        for batch in ready.append:
            node.log.append(batch)
        if ready.append_fetched:
            node.log.append_fetched(ready.append_fetched)
        if ready.high_watermark is not None:
            node.high_watermark = ready.high_watermark
        if ready.append or ready.append_fetched:
            longest_ms = SLOW_SYNC_MS if node.key.id in self.slow_disks else 5
            end = node.log.position()
            self._later(self.random.randrange(longest_ms) + 1, node, partial(self._flush, end))
        for send in ready.send:
            self._request(node, send)
        for reply in ready.reply:
            self._answer(node, reply)
        node.deadline_ms = ready.deadline_ms
        self._at(
            max(ready.deadline_ms, self.now_ms + 1),
            partial(self._tick, node.incarnation),
            node,
        )

    def _write_piece(self, node: Node, piece: SnapshotPiece) -> None:
        """Putting a whole snapshot in the place of the log takes its time."""

        def install(target: Node) -> None:
            installed = target.log.write_piece(piece)
            assert installed is not None, "the last piece makes it whole"
            self.step(target.key.id, installed)

        if piece.is_last:
            self._later(self.random.randrange(200) + 1, node, install)
        else:
            node.log.write_piece(piece)

    def _flush(self, end: LogPosition, node: Node) -> None:
        """Everything that was there when the sync began is on the disk, unless it was cut off since."""
        if len(node.log.entries) < end.end_offset or node.log.position_at(end.end_offset) != end:
            return
        node.log.synced = max(node.log.synced, end.end_offset)
        self.step(node.key.id, Flushed(Offset(node.log.synced)))

    def _tick(self, incarnation: int, node: Node) -> None:
        if node.incarnation == incarnation and self.now_ms >= node.deadline_ms:
            self.step(node.key.id, Tick())
            # Else the driver would step again at once, and again, and its loop would do nothing else.
            is_at_work = node.replica is not None and node.incarnation == incarnation
            assert not is_at_work or node.deadline_ms > self.now_ms, (
                f"node {node.key.id} spins at {self.now_ms} ms"
            )

    # the network

    def _administer(self, request: AddVoterRequest | RemoveVoterRequest) -> int | None:
        node = self.leader()
        if node is None:
            return None
        token = next(self._tokens)
        self._answers[token] = None
        self.step(node.key.id, InboundRequest(token, request))
        return token

    def _request(self, source: Node, send: Send) -> None:
        self.sent[source.key.id, type(send.message)] += 1
        second = self.now_ms // 1_000
        self._sent_in = (second, self._sent_in[1] + 1 if self._sent_in[0] == second else 1)
        assert self._sent_in[1] <= MOST_REQUESTS_A_SECOND, "requests multiply"
        target = self._reached(send.to)
        asked = _Asked(source, source.incarnation, send)

        def arrive(node: Node) -> None:
            if node.replica is None:
                self._send_back(node, asked, Unanswered(send))
            elif isinstance(send.message, KraftVersionsRequest):
                versions = KraftVersionsResponse(kraft_versions=node.voter.kraft_versions)
                self._send_back(node, asked, InboundResponse(send, versions))
            else:
                self._asked[token := next(self._tokens)] = asked
                self.step(node.key.id, InboundRequest(token, send.message))

        self._transmit(source.key.id, target, arrive)

    def _reached(self, peer: Peer) -> int:
        if peer.id != NOBODY:
            return peer.id
        (endpoint,) = peer.endpoints
        return int(endpoint.host.removeprefix("node-"))

    def _answer(self, source: Node, reply: OutboundResponse) -> None:
        asked = self._asked.pop(reply.token, None)
        if asked is None:
            self._answers[reply.token] = reply.response
            return
        response, held_ms = reply.response, 0
        request = asked.send.message
        mark = response.high_watermark if isinstance(response, FetchResponse) else None
        if isinstance(response, FetchResponse) and mark is not None:
            assert isinstance(request, FetchRequest)
            response = replace(response, records=source.log.read(request.log.end_offset))
            is_news = response.records or mark > request.high_watermark
            held_ms = 0 if is_news else IDLE_FETCH_MS
        if isinstance(response, FetchSnapshotResponse) and response.error is None:
            data = source.log.snapshots[response.id][response.position :]
            response = replace(response, data=data[:PIECE_BYTES])
        self._send_back(source, asked, InboundResponse(asked.send, response), held_ms)

    def _send_back(
        self, source: Node, asked: _Asked, event: InboundResponse | Unanswered, held_ms: int = 0
    ) -> None:
        def arrive(node: Node) -> None:
            if node.incarnation == asked.incarnation:
                self.step(node.key.id, event)

        self._transmit(source.key.id, asked.source.key.id, arrive, held_ms)

    def _transmit(
        self, source: int, target: int, arrive: Callable[[Node], None], held_ms: int = 0
    ) -> None:
        """A message may be lost, come twice, or come after one that was sent later."""

        def is_cut() -> bool:
            return frozenset((source, target)) in self.cut or (source, target) in self.cut_one_way

        def reach() -> None:
            if not is_cut():
                arrive(self.nodes[target])

        if is_cut() or (self.loss and self.random.random() < self.loss):
            return
        copies = 2 if self.duplication and self.random.random() < self.duplication else 1
        for _ in range(copies):
            delay_ms = self.latency_ms + self.random.randrange(self.latency_ms)
            delay_ms += self.random.randrange(self.late_ms) if self.late_ms else 0
            self._push(self.now_ms + held_ms + delay_ms, reach)

    def _later(self, delay_ms: int, node: Node, event: Callable[[Node], None]) -> None:
        incarnation = node.incarnation

        def alive(target: Node) -> None:
            if target.incarnation == incarnation and target.replica is not None:
                event(target)

        self._at(self.now_ms + delay_ms, alive, node)

    def _at(self, at_ms: int, event: Callable[[Node], None], node: Node) -> None:
        self._push(at_ms, lambda: event(node))

    def _push(self, at_ms: int, event: Callable[[], None]) -> None:
        heapq.heappush(self._events, (at_ms, next(self._ties), event))


def _key(number: int, disk: int) -> ReplicaKey:
    return ReplicaKey(BrokerId(number), Uuid(number.to_bytes(8, "big") + disk.to_bytes(8, "big")))
