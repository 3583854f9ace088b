"""Drives the metadata quorum: steps the replica and carries out the actions of each `Ready`.

    propose -> step -> append -> (pool) sync -> step(Flushed) -> high watermark rises -> committed batches -> listener

Records are appended as they are proposed; while one sync runs, further proposals are appended and share the next one. A node
by itself is a quorum of one and takes the same way.

    step that votes, or cuts the log -> (pool) quorum-state, the cut -> the rest of what it says -> the events that came meanwhile

Nothing of such a step is told to anybody before that, and no other step is made: events wait in their order.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from millstream.broker.metadata_log.election_log import ElectionLog
from millstream.broker.metadata_log.log import MetadataLog, StoredBatch, decoded
from millstream.broker.metrics.quorum_metrics import QuorumMetrics
from millstream.broker.storage.disk_pool import DiskPool
from millstream.errors import KafkaStorageError, NotController
from millstream.log.truncation import LogCut
from millstream.metadata.loader import MetadataBatch, PublishedImage
from millstream.model import BrokerId, LeaderEpoch, Offset
from millstream.net.client.tasks import TaskGroup
from millstream.quoting import some_of
from millstream.raft.messages import (
    Appended,
    Flushed,
    InboundRequest,
    LocalEvent,
    Propose,
    QuorumRequest,
    RaftEvent,
    RaftResponse,
    Send,
    ShutDown,
    SnapshotInstalled,
    SnapshotRefused,
    Tick,
    UpgradeKraftVersion,
    VoterChangeRequest,
)
from millstream.raft.quorum_description import ReplicaDescriptions, ReplicaState
from millstream.raft.ready import LeaderAndEpoch, Ready, SnapshotPiece
from millstream.raft.replica import RaftReplica
from millstream.raft.snapshot import Snapshot, SnapshotId
from millstream.raft.voter_set import (
    KRAFT_VERSION_DYNAMIC,
    KRAFT_VERSION_STATIC,
    ReplicaKey,
    VoterEndpoint,
    VoterSet,
)
from millstream.runtime import Clock

if TYPE_CHECKING:
    from millstream.broker.metadata_log.quorum_peers import QuorumPeers

_LOGGER = logging.getLogger(__name__)
_HANDING_OVER_POLL_S: Final = 0.01
_NO_EPOCH: Final = LeaderEpoch(-1)
_START: Final = Offset(0)
_APPLIED_AT_ONCE: Final = 200
"""Records, in a few milliseconds. More are decoded and replayed in a thread."""


class MetadataListener(Protocol):
    """A listener to leadership and committed records, in the order of the log."""

    def handle_leader_change(self, leadership: LeaderAndEpoch) -> None: ...
    def handle_commit(self, batch: MetadataBatch) -> None: ...

    def replay(self, batch: MetadataBatch) -> list[PublishedImage]:
        """Does the first half of `handle_commit`. It may run in a thread, since no other code sees its result yet."""
        ...

    def handle_load_snapshot(self, snapshot: Snapshot) -> None:
        """Takes a snapshot in place of everything before its end."""
        ...

    def publish(self, batch: MetadataBatch, images: Sequence[PublishedImage]) -> None:
        """Does the second half of `handle_commit`, on the loop."""
        ...


@dataclass(frozen=True, slots=True)
class QuorumDescription:
    """The metadata quorum as its leader sees it."""

    leader_id: BrokerId
    leader_epoch: LeaderEpoch
    high_watermark: Offset
    log_end_offset: Offset
    voters: tuple[ReplicaKey, ...]
    kraft_version: int = KRAFT_VERSION_DYNAMIC
    replicas: ReplicaDescriptions = field(default=ReplicaDescriptions(()))
    """How far voters and observers are."""
    log_end_epoch: LeaderEpoch = _NO_EPOCH
    own: ReplicaState = field(default=ReplicaState())
    """How this node is in it."""
    applied_end_offset: Offset = _START
    """This node has applied every record below."""
    committed_end_offset: Offset = _START
    """Every record below is committed, as far as this node was told; its own log may not reach there yet."""
    unknown_voters: int = 0
    """Voters of which nobody has said where they listen."""
    ignores_static_voters: bool = False
    """Whether `controller.quorum.voters` is given and the log says who votes."""
    lag_ms: int | None = None
    """How long ago this node knew that it has applied everything; None before it first did."""

    @property
    def lag(self) -> int:
        """The number of records that are committed and not applied here."""
        return max(0, self.committed_end_offset - self.applied_end_offset)

    @property
    def is_static(self) -> bool:
        """Whether configuration names the voters, and nobody joins them or leaves."""
        return self.kraft_version == KRAFT_VERSION_STATIC

    def without_leader(self) -> str:
        """Says what this node knows of a quorum that has no leader: where it stands, who is silent, and how many are needed."""
        ids = sorted(voter.id for voter in self.voters)
        told = f"; votes of {len(ids)}: {self.own.votes}" if self.own.votes else ""
        if len(ids) > 1:
            needed = f"{len(ids) // 2 + 1} are needed"
            told += (
                f"; {needed}"
                if told
                else f"; its voters are {some_of([*map(str, ids)])}, and {needed}"
            )
        return (
            f"the metadata quorum has no leader that answers: this node is {self.own.name} "
            f"in epoch {self.leader_epoch}{told}"
        )


class SnapshotInstaller(Protocol):
    """Puts snapshots that come in pieces into their place. Runs in the pool."""

    def write_piece(self, piece: SnapshotPiece) -> None: ...
    def finish(self, snapshot_id: SnapshotId) -> Snapshot:
        """Returns the snapshot, on the disk under its name. Raises KafkaStorageError for one that is damaged, which is removed."""
        ...

    def size_bytes(self, snapshot_id: SnapshotId) -> int: ...


class QuorumChange:
    """One change of what other replicas can be told: records on the disk, what is committed, or who leads."""

    def __init__(self) -> None:
        self._happened = asyncio.Event()

    async def wait(self, timeout_s: float) -> None:
        """Returns when it has happened. Raises TimeoutError."""
        async with asyncio.timeout(timeout_s):
            await self._happened.wait()

    def happen(self) -> None:
        self._happened.set()


class MetadataDriver:
    """The driver of the metadata quorum, on one loop; `run` is the task that waits for the disk and for deadlines."""

    def __init__(
        self,
        replica: RaftReplica,
        log: MetadataLog,
        listener: MetadataListener,
        pool: DiskPool,
        clock: Clock,
        *,
        installer: SnapshotInstaller,
        peers: QuorumPeers | None,
    ) -> None:
        """`peers`: None where this node has nobody to speak to."""
        self._replica = replica
        self._installer = installer
        self._peers = peers
        self._sending: TaskGroup | None = None
        self._unsent: list[Send] = []
        self._pieces: asyncio.Queue[SnapshotPiece] = asyncio.Queue()
        self._log = log
        self._listener = listener
        self._pool = pool
        self._clock = clock
        self._applied = self._committed = int(log.high_watermark())
        self._caught_up_ms: int | None = None
        """When this node last knew that it has applied all that is committed."""
        self.metrics = QuorumMetrics()
        self._election_log = None if peers is None else ElectionLog(replica, clock.now())
        self._is_running = False
        self._unwritten: Ready | None = None
        """A step of which nothing is told before it is on the disk."""
        self._has_unwritten = asyncio.Event()
        self._held: deque[RaftEvent] = deque()
        """Events since then: requests and answers of the few other replicas, and what this one's own tasks have done."""
        self._is_applying = False
        """`_keep_applied` is at work: whatever is committed meanwhile is left to it."""
        self._has_many = asyncio.Event()
        self._many = asyncio.Lock()
        """Held while much is applied, or a snapshot takes the place of the log: one after the other."""
        self._failure: Exception | None = None
        self._failed = asyncio.Event()
        self._deadline_ms = 0
        self._wake_up = asyncio.Event()
        self._appended = asyncio.Event()
        self._tokens = itertools.count(1)
        self._asked: dict[int, asyncio.Future[RaftResponse]] = {}
        """The requests of other replicas that are not answered yet."""
        self.changed = QuorumChange()
        """The next change. Whoever is about to look at how things are takes it before, so that none is missed."""

    async def answer(self, request: QuorumRequest | VoterChangeRequest) -> RaftResponse:
        """Returns the replica's answer to another one. Some wait until a record is committed."""
        token = next(self._tokens)
        answered: asyncio.Future[RaftResponse] = asyncio.get_running_loop().create_future()
        self._asked[token] = answered
        try:
            self._step(InboundRequest(token, request))
            return await answered
        finally:
            del self._asked[token]

    def propose(self, records: Sequence[bytes], epoch: LeaderEpoch) -> Offset:
        """Appends the records as one batch and returns the offset of the first. Raises NotController, KafkaStorageError.

        They are committed when the listener hears of them, and not before.
        """
        self._check_leads()
        first_offset = self._log.position().end_offset
        self._step(Propose(tuple(records), epoch))
        return first_offset

    def _check_leads(self) -> None:
        """Raises NotController, also while it is on no disk yet that this replica leads: its epoch begins with a record of its own."""
        if self._awaits_disk or not self._replica.is_leader:
            raise NotController("this node does not lead the metadata quorum")

    @property
    def end_offset(self) -> Offset:
        """The end of the log, committed or not."""
        return self._log.position().end_offset

    def leader_endpoints(self) -> tuple[VoterEndpoint, ...]:
        """Returns where the leader of the quorum listens, as far as it is known."""
        leader = self._replica.quorum.leader
        return () if leader is None else leader.endpoints

    def upgrade_kraft_version(self, epoch: LeaderEpoch) -> None:
        """Appends the voters of a static quorum. Raises NotController, KafkaStorageError."""
        self._check_leads()
        self._step(UpgradeKraftVersion(epoch))

    def voters_in_log(self, end_offset: Offset) -> VoterSet | None:
        """Returns the voters that the log below `end_offset` names; None where the configuration names them (kraft.version 0)."""
        entry = self._replica.quorum.history.at(end_offset)
        return entry.voters if entry.kraft_version >= KRAFT_VERSION_DYNAMIC else None

    def describe(self) -> QuorumDescription:
        quorum, now, log = self._replica.quorum, self._clock.now(), self._log.position()
        return QuorumDescription(
            quorum.leader_id,
            quorum.epoch,
            self._replica.high_watermark,
            log.end_offset,
            tuple(voter.key for voter in quorum.voters),
            quorum.kraft_version,
            self._replica.describe(now),
            log_end_epoch=log.last_epoch,
            own=self._replica.state(),
            applied_end_offset=Offset(self._applied),
            committed_end_offset=self._replica.leader_high_watermark,
            unknown_voters=sum(
                not quorum.voters.endpoints_of(each.id) for each in quorum.other_voters
            ),
            ignores_static_voters=quorum.history.ignores_static,
            lag_ms=self._lag_ms(now.monotonic_ms),
        )

    def _lag_ms(self, now_ms: int) -> int | None:
        if self._replica.is_leader and self._applied >= self._replica.high_watermark:
            return 0
        return None if self._caught_up_ms is None else now_ms - self._caught_up_ms

    def _note_applied(self, now_ms: int) -> None:
        """A follower has everything that was committed when its leader last answered."""
        heard_ms = now_ms if self._replica.is_leader else self._replica.heard_ms
        if heard_ms is not None and self._applied >= self._replica.leader_high_watermark:
            self._caught_up_ms = heard_ms

    async def run(self) -> None:
        """Runs until cancelled. A failure of the metadata log's disk ends the node."""
        self._is_running = True
        try:
            await self._run()
        finally:
            # What waits for the disk was told to nobody, and is not any more: it stays unwritten, so no other step is made.
            self._is_running = False
            self._held.clear()

    async def _run(self) -> None:
        async with TaskGroup() as tasks:
            self._sending = tasks
            for sent in self._unsent:
                self._send(sent)
            self._unsent.clear()
            tasks.create_task(self._keep_sound())
            tasks.create_task(self._keep_written())
            tasks.create_task(self._keep_installed())
            tasks.create_task(self._keep_flushed())
            tasks.create_task(self._keep_applied())
            tasks.create_task(self._keep_time())

    def start(self) -> None:
        """Makes the first tick: a voter without others to wait for elects itself at once."""
        self._step(Tick())

    async def hand_over(self, timeout_s: float) -> None:
        """Steps down before the node ends, and tells the other voters; returns when they know, or the time is over."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                self._step(ShutDown())
                while not self._replica.has_handed_over:  # noqa: ASYNC110 - answers come to the replica
                    await asyncio.sleep(_HANDING_OVER_POLL_S)

    def resign(self) -> None:
        """Resigns as leader before a clean shutdown, unless the last step of `run` waits for its disk still: then nothing is told any more.

        From then on this replica neither stands nor fetches.
        """
        self._step(ShutDown())

    def flush(self) -> None:
        """Syncs in this thread, for the start, when nothing else runs yet."""
        plan = self._log.log.plan_flush()
        if plan is not None:
            plan.sync()
            self._log.log.complete_flush(plan, self._clock.now())
            self._step(Flushed(Offset(plan.end_offset)))

    def _step(self, event: RaftEvent) -> None:
        """Steps the replica; later, while an earlier step waits for the disk. Raises KafkaStorageError once a step could not be carried out."""
        if self._failure is not None:
            raise KafkaStorageError(f"the metadata log is offline: {self._failure}")
        if self._awaits_disk:
            self._held.append(event)
        else:
            self._advance(event)

    @property
    def _awaits_disk(self) -> bool:
        """Whether a step has been made of which nothing may be told yet."""
        return self._unwritten is not None

    def _advance(self, event: RaftEvent | None) -> None:
        """Steps, and again with what came of carrying that out, until nothing does or the disk is to be waited for."""
        following = event
        while following is not None:
            ready = self._replica.step(following, self._clock.now())
            try:
                if ready.persist is not None or ready.truncate_to is not None:
                    if self._is_running:
                        self._unwritten = ready
                        self._has_unwritten.set()
                        return
                    self._write_here(ready)
                following = self._carry_out(ready)
            except Exception as error:
                # What was to be proposed is not in the log, and that is all.
                if not isinstance(following, Propose):
                    self._fail(error)
                raise

    def _write_here(self, ready: Ready) -> None:
        """Waits for the disk in this thread, for the start and the end, when nothing else runs."""
        if ready.persist is not None:
            self._log.persist(ready.persist, self._replica.quorum.history.newest)
        if ready.truncate_to is not None:
            self._log.log.truncate_to(ready.truncate_to, self._clock.now())

    async def _keep_written(self) -> None:
        """Brings to the disk what a step may not be told without; then what is left of that step, and what came meanwhile, has its turn."""
        while True:
            await self._has_unwritten.wait()
            self._has_unwritten.clear()
            ready = self._unwritten
            assert ready is not None, "a step that waits is known"
            try:
                await self._write(ready)
                self._unwritten = None
                following = self._carry_out(ready)
            except Exception as error:
                self._fail(error)
                raise
            self._advance(following)
            while self._held and not self._awaits_disk:
                self._advance(self._held.popleft())
            self._wake_up.set()

    async def _write(self, ready: Ready) -> None:
        """Raises KafkaStorageError. No step is made meanwhile, so nothing that this reads of the replica changes."""
        if ready.persist is not None:
            newest = self._replica.quorum.history.newest
            await self._pool.run(partial(self._log.persist, ready.persist, newest))
        if ready.truncate_to is not None:
            cut = self._log.log.cuts.plan(ready.truncate_to)
            if cut is not None:
                await self._cut(cut)

    async def _cut(self, cut: LogCut, made: Callable[[], None] = lambda: None) -> None:
        """Cuts the log; `made` is what must follow in the same turn. Raises KafkaStorageError."""
        await self._pool.run(cut.read)
        while not cut.make():
            await self._pool.run(cut.read)
        made()
        try:
            await self._pool.run(cut.settle)
        except OSError as error:
            cut.fail(error)
        self._log.log.cuts.complete(cut, self._clock.now())

    def _fail(self, error: Exception) -> None:
        """Ends the node, whoever asked for the step. The replica believes that it was carried out: it would vote again as if it had never
        voted, or vouch for what it has not.
        """
        self._failure = error
        self._failed.set()

    async def _keep_sound(self) -> None:
        await self._failed.wait()
        assert self._failure is not None, "what has failed is known"
        raise self._failure

    def _carry_out(self, ready: Ready) -> LocalEvent | None:
        """Carries out what follows once quorum-state and a cut are on the disk. Returns what the replica has to be told of it."""
        now = self._clock.now()
        for batch in ready.append:
            self._log.append(batch, now)
            self._appended.set()
        following = self._append_fetched(ready.append_fetched) if ready.append_fetched else None
        if ready.snapshot_piece is not None:
            self._pieces.put_nowait(ready.snapshot_piece)
        for sent in ready.send:
            self._send(sent)
        if ready.leadership is not None:
            self._listener.handle_leader_change(ready.leadership)
        if ready.high_watermark is not None:
            self._apply_up_to(ready.high_watermark)
        self.metrics.note(ready, now.monotonic_ms)
        if self._election_log is not None:
            self._election_log.note(ready, now)
        self._note_applied(now.monotonic_ms)
        for reply in ready.reply:
            waiting = self._asked.get(reply.token)
            if waiting is not None and not waiting.done():  # whoever asked may have gone
                waiting.set_result(reply.response)
        if ready.leadership is not None or ready.high_watermark is not None:
            self._tell_changed()
        if ready.deadline_ms != self._deadline_ms:
            self._deadline_ms = ready.deadline_ms
            self._wake_up.set()
        return following

    def _append_fetched(self, records: bytes) -> Appended:
        """Whoever brought them has seen that they are whole and undamaged."""
        start = self._log.position().end_offset
        self._log.log.append_as_follower(memoryview(records), self._clock.now())
        self._appended.set()
        position = self._log.position()
        self.metrics.fetched.observe(position.end_offset - start, self._clock.now().monotonic_ms)
        control = self._log.control_records(start, position.end_offset)
        return Appended(position, tuple(control))

    def _send(self, sent: Send) -> None:
        """Sends in the background. What is sent while the node starts goes out once `run` has begun."""
        if self._sending is None:
            self._unsent.append(sent)
        elif self._peers is not None:
            sending = self._peers.send(sent, self._step)
            try:
                self._sending.create_task(sending)
            except (
                RuntimeError
            ):  # an answer came in the turn in which `run` was cancelled: nobody sends any more
                sending.close()

    def _tell_changed(self) -> None:
        change, self.changed = self.changed, QuorumChange()
        change.happen()

    def _apply_up_to(self, high_watermark: Offset) -> None:
        """Applies committed records. While the node starts, no client waits, so all are applied at once."""
        self._committed = int(high_watermark)
        if self._is_applying:
            return
        if self._is_running and self._committed - self._applied > _APPLIED_AT_ONCE:
            self._is_applying = True
            self._has_many.set()
            return
        for batch in self._log.batches(self._applied, high_watermark):
            self._applied = batch.last_offset + 1
            self._listener.handle_commit(batch)

    async def _keep_applied(self) -> None:
        """Applies what is too long to be applied at once, and everything that is committed until that is done."""
        while True:
            await self._has_many.wait()
            self._has_many.clear()
            async with self._many:
                while self._applied < self._committed:
                    for stored in list(self._log.stored_batches(self._applied, self._committed)):
                        # What is committed is never cut: it stays what it is while a thread reads it.
                        batch, images = await self._pool.run(partial(self._replay, stored))
                        self._applied = batch.last_offset + 1
                        self._listener.publish(batch, images)
                self._is_applying = False
                self._note_applied(self._clock.now().monotonic_ms)

    def _replay(self, stored: StoredBatch) -> tuple[MetadataBatch, list[PublishedImage]]:
        batch = decoded(stored)
        return batch, self._listener.replay(batch)

    async def _keep_installed(self) -> None:
        """Writes the pieces of snapshots as they come; after the last one the log begins at the snapshot's end."""
        while True:
            piece = await self._pieces.get()
            await self._pool.run(partial(self._installer.write_piece, piece))
            if not piece.is_last:
                continue
            try:
                snapshot = await self._pool.run(partial(self._installer.finish, piece.id))
            except KafkaStorageError as error:
                _LOGGER.warning("the snapshot that a controller sent is not taken: %s", error)
                self._step(SnapshotRefused(piece.id))
                continue
            async with self._many:  # images come in the order of the log
                size_bytes = await self._pool.run(partial(self._installer.size_bytes, piece.id))
                cut = self._log.log.cuts.plan(piece.id.end_offset, is_whole=True)
                assert cut is not None, "a log that begins anew is always cut"
                await self._cut(cut, partial(self._begin_at, piece.id, size_bytes))
                self._applied = self._committed = int(piece.id.end_offset)
                self._listener.handle_load_snapshot(snapshot)
                self.metrics.snapshots_loaded += 1
                _LOGGER.info(
                    "took snapshot %s of node %d: the metadata log begins at offset %d",
                    piece.id.file_name,
                    self._replica.quorum.leader_id,
                    piece.id.end_offset,
                )
                self._step(SnapshotInstalled(piece.id, snapshot.voters))

    def _begin_at(self, snapshot_id: SnapshotId, size_bytes: int) -> None:
        """In the turn in which the log is emptied: without the snapshot it would have no epoch, and this replica vote for anybody."""
        self._log.add_snapshot(snapshot_id, size_bytes)
        self._log.start_at(snapshot_id.end_offset)

    async def _keep_flushed(self) -> None:
        while True:
            await self._appended.wait()
            self._appended.clear()
            log = self._log.log
            plan = log.plan_flush()
            if plan is None:
                continue
            try:
                # What is appended meanwhile sets the event again. Nothing is cut: only the answer to a fetch asks for
                # that, and a replica fetches when all it has is on the disk (`Fetching.maybe_fetch`).
                await self._pool.run(plan.sync)
            except OSError as error:
                log.fail_flush(plan, error)
            log.complete_flush(plan, self._clock.now())
            self._step(Flushed(Offset(plan.end_offset)))
            self._tell_changed()

    async def _keep_time(self) -> None:
        while True:
            self._wake_up.clear()
            if self._awaits_disk:
                await self._wake_up.wait()
                continue
            wait_s = max(0, self._deadline_ms - self._clock.now().monotonic_ms) / 1000
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._wake_up.wait()
                    continue
            self._step(Tick())
