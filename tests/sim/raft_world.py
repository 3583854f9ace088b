"""A world of raft replicas in memory: logs that lose what was not synced, a network that delays, drops and cuts."""

from __future__ import annotations

import heapq
import itertools
import pickle
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import pytest

from millstream.model import BrokerId, LeaderEpoch, Offset, Uuid
from millstream.protocol.generated.control_records import VotersRecord
from millstream.raft.election_state import ElectionState
from millstream.raft.messages import (
    Appended,
    FetchRequest,
    FetchResponse,
    FetchSnapshotResponse,
    Flushed,
    InboundRequest,
    InboundResponse,
    KraftVersionsRequest,
    LogPosition,
    OutboundResponse,
    Propose,
    RaftEvent,
    Resign,
    Send,
    SnapshotInstalled,
    SnapshotWritten,
    Tick,
)
from millstream.raft.quorum_state import RaftIdentity, RaftTimeouts
from millstream.raft.ready import AppendBatch, Ready
from millstream.raft.replica import RaftReplica
from millstream.raft.roles import Leader
from millstream.raft.snapshot import SnapshotId
from millstream.raft.snapshot_transfer import SnapshotPiece
from millstream.raft.voter_history import VoterHistory
from millstream.raft.voter_set import ControlRecord, ReplicaKey, Voter, VoterSet, voters_from_record
from millstream.runtime import Instant

IDLE_FETCH_MS = 100
PIECE_BYTES = 400


Entry = tuple[int, str | ControlRecord]
"""Epoch, and the text of a data record or a control record."""


def text_of(entry: str | ControlRecord) -> str:
    return entry if isinstance(entry, str) else type(entry).__name__


class MemoryLog:
    """Entries with their epochs; a crash forgets those that were not synced. Snapshots stand for those before `start_offset`."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        """All there ever were: those before `start_offset` as the snapshot that ends there has them."""
        self.synced = 0
        self.start_offset = 0
        self.snapshots: dict[SnapshotId, bytes] = {}
        self._noted = 0
        self._unfinished = bytearray()

    # what a replica asks

    def position(self) -> LogPosition:
        return self.position_at(len(self.entries))

    def start(self) -> LogPosition:
        return self.position_at(self.start_offset)

    def end_of_epoch(self, epoch: LeaderEpoch) -> LogPosition:
        end = len(self.entries)
        while end >= self.start_offset and end and self.entries[end - 1][0] > epoch:
            end -= 1
        return self.position_at(end) if end >= self.start_offset else self.position_at(0)

    def high_watermark(self) -> Offset:
        return Offset(max((each.end_offset for each in self.snapshots), default=0))

    def newest_snapshot(self) -> SnapshotId | None:
        return max(self.snapshots, default=None)

    def snapshot_bytes(self, snapshot_id: SnapshotId) -> int | None:
        data = self.snapshots.get(snapshot_id)
        return None if data is None else len(data)

    def position_at(self, end: int) -> LogPosition:
        last_epoch = self.entries[end - 1][0] if end else -1
        return LogPosition(Offset(end), LeaderEpoch(last_epoch))

    # what its driver does

    def append(self, batch: AppendBatch) -> None:
        assert batch.base_offset == len(self.entries)
        self.entries += [(batch.epoch, record) for record in batch.control]
        self.entries += [(batch.epoch, value.decode()) for value in batch.data]

    def append_fetched(self, data: bytes) -> None:
        self._noted = len(self.entries)
        self.entries += pickle.loads(data)

    def appended(self) -> Appended:
        """What the driver tells of what was just fetched."""
        return Appended(self.position(), tuple(self.control_records(self._noted)))

    def control_records(self, start: int) -> Iterator[tuple[Offset, ControlRecord]]:
        for offset, (_, entry) in enumerate(self.entries[start:], start):
            if not isinstance(entry, str):
                yield Offset(offset), entry

    def history(self, voters: VoterSet) -> VoterHistory:
        """Who votes by the newest snapshot and the log after it; `voters` before anything says so."""
        history = VoterHistory.bootstrapped(voters)
        newest = self.newest_snapshot()
        if newest is not None:
            history.start_at(newest.end_offset, self.voters_below(newest.end_offset))
        history.note(self.control_records(newest.end_offset if newest else 0))
        return history

    def voters_below(self, end: int) -> VoterSet | None:
        found = [entry for _, entry in self.entries[:end] if isinstance(entry, VotersRecord)]
        return voters_from_record(found[-1]) if found else None

    def read(self, start: int) -> bytes:
        assert start >= self.start_offset, "this part of the log is gone"
        found = self.entries[start : self.synced]
        return pickle.dumps(found) if found else b""

    def truncate(self, size: int) -> None:
        assert size >= self.start_offset, "a snapshot is not cut"
        del self.entries[size:]
        self.synced = min(self.synced, size)

    def take_snapshot(self, end: int) -> SnapshotId | None:
        """Keeps two; the log before the older one goes."""
        if end <= self.high_watermark() or end > self.synced:
            return None
        newest = SnapshotId(Offset(end), self.position_at(end).last_epoch)
        self.snapshots[newest] = pickle.dumps(self.entries[:end])
        older = sorted(self.snapshots)[-2:][0]
        self.snapshots = {each: data for each, data in self.snapshots.items() if each >= older}
        self.start_offset = older.end_offset if len(self.snapshots) > 1 else self.start_offset
        return newest

    def write_piece(self, piece: SnapshotPiece) -> SnapshotInstalled | None:
        """Begins anew at the end of a snapshot that has come whole."""
        del self._unfinished[piece.position :]
        assert len(self._unfinished) == piece.position, "a piece is missing"
        self._unfinished += piece.data
        if not piece.is_last:
            return None
        self.snapshots = {piece.id: bytes(self._unfinished)}
        self.entries = pickle.loads(self._unfinished)
        self.start_offset = self.synced = piece.id.end_offset
        assert self.position() == LogPosition(*piece.id)
        return SnapshotInstalled(piece.id, self.voters_below(piece.id.end_offset))

    def crash(self) -> None:
        del self.entries[self.synced :]
        self._unfinished.clear()


@dataclass
class Node:
    key: ReplicaKey
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


class _Asked(NamedTuple):
    """Who waits for the answer to a request that has arrived."""

    source: Node
    incarnation: int
    send: Send


class RaftWorld:
    """Voters 1..n, one clock, one seed. `after_step` hooks see every Ready; invariants hang there."""

    invariants: Invariants

    def __init__(self, voters: int, seed: int = 0, latency_ms: int = 5) -> None:
        self.random = random.Random(seed)
        self.latency_ms = latency_ms
        self.now_ms = 0
        keys = [ReplicaKey(BrokerId(n), Uuid(bytes([n]) * 16)) for n in range(1, voters + 1)]
        self.voters = VoterSet(Voter(key) for key in keys)
        self.nodes: dict[int, Node] = {key.id: Node(key) for key in keys}
        self.cut: set[frozenset[int]] = set()
        self.loss = 0.0
        self.duplication = 0.0
        self._tokens = itertools.count()
        self._asked: dict[int, _Asked] = {}
        self.after_step: list[Callable[[Node, object, Ready], None]] = []
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._ties = itertools.count()

    def start(self, node_id: int) -> None:
        node = self.nodes[node_id]
        node.incarnation += 1
        node.high_watermark = node.log.high_watermark()
        node.replica = RaftReplica(
            RaftIdentity(node.key),
            node.log.history(self.voters),
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

    def snapshot(self, node_id: int) -> None:
        """A snapshot of what this node has applied; the log before an older one goes."""
        node = self.nodes[node_id]
        if node.replica is not None and node.log.take_snapshot(node.high_watermark):
            self.step(node_id, SnapshotWritten(node.log.high_watermark()))

    def isolate(self, node_id: int) -> None:
        self.cut |= {frozenset((node_id, other)) for other in self.nodes if other != node_id}

    def heal(self) -> None:
        self.cut.clear()
        self.loss = self.duplication = 0.0

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
            self._later(self.random.randrange(5) + 1, node, self._flush)
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

    def _request(self, source: Node, send: Send) -> None:
        target = self.nodes[send.to.id]
        asked = _Asked(source, source.incarnation, send)

        def arrive(node: Node) -> None:
            assert not isinstance(send.message, KraftVersionsRequest), "a driver answers this"
            self._asked[token := next(self._tokens)] = asked
            self.step(node.key.id, InboundRequest(token, send.message))

        self._transmit(source, target, arrive, self._delay_ms())

    def _answer(self, source: Node, reply: OutboundResponse) -> None:
        asked = self._asked.pop(reply.token)
        response, delay_ms = reply.response, self._delay_ms()
        request = asked.send.message
        if isinstance(response, FetchResponse) and response.high_watermark is not None:
            assert isinstance(request, FetchRequest)
            response = replace(response, records=source.log.read(request.log.end_offset))
            delay_ms += 0 if response.records else IDLE_FETCH_MS
        if isinstance(response, FetchSnapshotResponse) and response.error is None:
            data = source.log.snapshots[response.id][response.position :]
            response = replace(response, data=data[:PIECE_BYTES])

        def arrive(node: Node) -> None:
            if node.incarnation == asked.incarnation:
                self.step(node.key.id, InboundResponse(asked.send, response))

        self._transmit(source, asked.source, arrive, delay_ms)

    def _transmit(
        self, source: Node, target: Node, arrive: Callable[[Node], None], delay_ms: int
    ) -> None:
        """A message that may be lost, or come twice, or after one that was sent later."""
        link = frozenset((source.key.id, target.key.id))

        def reach(node: Node) -> None:
            if link not in self.cut:
                arrive(node)

        if link in self.cut or (self.loss and self.random.random() < self.loss):
            return
        self._later(delay_ms, target, reach)
        if self.duplication and self.random.random() < self.duplication:
            self._later(delay_ms + self._delay_ms(), target, reach)

    def _delay_ms(self) -> int:
        return self.latency_ms + self.random.randrange(self.latency_ms)

    def _flush(self, node: Node) -> None:
        if node.replica is not None:
            node.log.synced = len(node.log.entries)
            self.step(node.key.id, Flushed(Offset(node.log.synced)))

    def _tick(self, incarnation: int, node: Node) -> None:
        if node.incarnation == incarnation and self.now_ms >= node.deadline_ms:
            self.step(node.key.id, Tick())

    def _later(self, delay_ms: int, node: Node, event: Callable[[Node], None]) -> None:
        incarnation = node.incarnation

        def alive(target: Node) -> None:
            if target.incarnation == incarnation:
                event(target)

        self._at(self.now_ms + delay_ms, alive, node)

    def _at(self, at_ms: int, event: Callable[[Node], None], node: Node) -> None:
        heapq.heappush(self._events, (at_ms, next(self._ties), lambda: event(node)))


class Invariants:
    """What must hold after every step of every node, whatever fails."""

    def __init__(self, world: RaftWorld) -> None:
        self.world = world
        self.leader_of: dict[int, int] = {}
        self.epochs: dict[int, int] = {}
        self.marks: dict[tuple[int, int], int] = {}
        self.committed: list[Entry] = []
        world.after_step.append(self.check)

    def check(self, node: Node, event: object, ready: Ready) -> None:
        node_id, replica = node.key.id, node.running
        epoch = replica.quorum.epoch
        assert epoch >= self.epochs.get(node_id, 0), f"epoch of {node_id} fell"
        self.epochs[node_id] = epoch
        assert node.stored == replica.quorum.role.election_state, "the election state is on disk"
        if isinstance(replica.quorum.role, Leader):
            assert self.leader_of.setdefault(epoch, node_id) == node_id, (
                f"two leaders in epoch {epoch}"
            )
        incarnation = (node_id, node.incarnation)
        mark = replica.high_watermark
        assert mark >= self.marks.get(incarnation, 0), f"high watermark of {node_id} fell"
        self.marks[incarnation] = mark
        assert mark <= node.log.synced, "what is committed here is on the disk here"
        start = node.log.start()
        if start.end_offset > 0:
            assert SnapshotId(start.end_offset, start.last_epoch) in node.log.snapshots, (
                f"the log of {node_id} starts at {start.end_offset} without a snapshot"
            )
        if mark > len(self.committed):
            self.commit(node, mark)
        assert node.log.entries[:mark] == self.committed[:mark], (
            f"{node_id} lost or changed committed records"
        )

    def commit(self, node: Node, mark: int) -> None:
        entries = node.log.entries[:mark]
        assert entries[: len(self.committed)] == self.committed, "a committed record changed"
        holders = [
            n for n in self.world.nodes.values() if n.log.entries[: n.log.synced][:mark] == entries
        ]
        assert len(holders) >= self.world.voters.majority, (
            f"{mark} is committed but on {len(holders)} disks only"
        )
        self.committed = entries


@pytest.fixture
def raft_world() -> Callable[..., RaftWorld]:
    """Makes worlds whose invariants are checked after every step."""

    def make(voters: int, seed: int = 0) -> RaftWorld:
        world = RaftWorld(voters, seed)
        world.invariants = Invariants(world)
        return world

    return make


@pytest.fixture
def memory_log() -> type[MemoryLog]:
    return MemoryLog
