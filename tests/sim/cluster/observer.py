"""Watches every step of every node of a simulated cluster: what must hold whatever fails, and which paths were taken.

The checks of raft's rules are those of `raft_invariants`, as far as they can be seen from outside a driver; those of images, brokers and
blocks of producer ids are of the whole node. Changes nothing.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from typing import Any
from unittest import mock

from millstream.broker.forwarding.broker_channel import BrokerChannel
from millstream.broker.forwarding.controller_channel import ControllerChannel
from millstream.broker.metadata_log.controller_runner import ControllerRunner
from millstream.broker.metadata_log.driver import MetadataDriver
from millstream.broker.transactions.producer_ids import ProducerIds
from millstream.errors import MillstreamError
from millstream.metadata.image import MetadataImage, PartitionImage
from millstream.metadata.loader import MetadataBatch, PublishedImage
from millstream.model import BrokerId, LeaderEpoch, Uuid
from millstream.protocol.generated.metadata_records import (
    BrokerRegistrationChangeRecord,
    PartitionChangeRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    TopicRecord,
)
from millstream.raft.election_state import ElectionState
from millstream.raft.messages import (
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    InboundRequest,
    RaftEvent,
    SnapshotInstalled,
)
from millstream.raft.ready import Ready, RoleChange
from millstream.raft.roles import Leader
from millstream.raft.snapshot import Snapshot
from tests.sim.cluster.node import Life
from tests.sim.cluster.replicas_observed import ReplicaObserver, replicas_observed
from tests.sim.cluster.schedule import ScheduledLoop

_FENCED = 1
Committed = tuple[int, LeaderEpoch, Sequence[Any]]


class Broken(AssertionError):
    """A rule that was broken, whatever the code that broke it does with errors."""


def _now_running() -> Life | None:
    """The life whose step this is; None for one that is over."""
    loop = asyncio._get_running_loop()
    if not isinstance(loop, ScheduledLoop) or loop.is_dead:
        return None
    return loop.owner if isinstance(loop.owner, Life) else None


def _without_directory(state: ElectionState) -> tuple[LeaderEpoch, BrokerId, BrokerId | None]:
    """The file of a static quorum has no directories."""
    return state.epoch, state.leader_id, None if state.voted is None else state.voted.id


class Observer:
    def __init__(self) -> None:
        self.paths: Counter[str] = Counter()
        self.broken: list[str] = []
        """Every rule that was broken: the first is the cause."""
        self.high_watermark = 0
        """The highest that any replica of the quorum has told."""
        self.leader_of: dict[int, str] = {}
        self.epochs: dict[int, int] = {}
        self.committed: dict[int, Committed] = {}
        """By first offset: what every node must have there."""
        self.images: dict[int, MetadataImage] = {}
        """The first that was seen at each offset."""
        self.broker_epochs: dict[int, tuple[int, object]] = {}
        self.highest_broker_epoch = -1
        self.producer_ids_end = 0
        self.blocks: list[tuple[int, int]] = []
        """Of producer ids, as brokers were given them."""
        self.newest: MetadataImage | None = None
        self.replicas = ReplicaObserver(self.require, _now_running, self.partition, self.count)

    def count(self, path: str) -> None:
        self.paths[path] += 1

    def partition(self, key: tuple[Uuid, int]) -> PartitionImage | None:
        """In the newest metadata that anybody has."""
        topic = None if self.newest is None else self.newest.topic_by_id(key[0])
        return (
            None if topic is None or key[1] >= len(topic.partitions) else topic.partitions[key[1]]
        )

    def require(self, holds: bool, what: str) -> None:
        if not holds:
            self.broken.append(what)
            raise Broken(what)

    def forget(self, node: int) -> None:
        """The disk of the node was replaced: it knows of no epoch."""
        self.epochs.pop(node, None)

    # after each step of a replica

    def stepped(self, life: Life, driver: MetadataDriver, event: RaftEvent) -> None:
        if isinstance(event, SnapshotInstalled):
            self.paths["snapshot fetched"] += 1
        if isinstance(event, InboundRequest) and isinstance(event.request, FetchSnapshotRequest):
            self.paths["snapshot asked for"] += 1
        self.looked(life, driver)

    def looked(self, life: Life, driver: MetadataDriver) -> None:
        """Looks at how a replica is. What waits for its disk was told to nobody yet, and is lost if that fails."""
        if driver._awaits_disk:
            return
        quorum = driver._replica.quorum
        node = life.node.id
        life.voters = quorum.voters
        if quorum.epoch < self.epochs.get(node, 0):
            self.require(False, f"the epoch of {life.name} fell to {quorum.epoch}")
        self.epochs[node] = quorum.epoch
        if isinstance(quorum.role, Leader):
            first = self.leader_of.setdefault(quorum.epoch, life.name)
            self.require(
                first == life.name, f"epoch {quorum.epoch} is led by {first} and by {life.name}"
            )
            self.check_voters(life, driver)
        mark = int(driver._replica.high_watermark)
        self.require(mark >= life.high_watermark, f"the mark of {life.name} fell to {mark}")
        life.high_watermark = mark
        self.high_watermark = max(self.high_watermark, mark)

    def check_voters(self, life: Life, driver: MetadataDriver) -> None:
        """A leader has one change of who votes that is not committed, at most, and each is of one voter: so two majorities always share one (KIP-853).

        What others know to be committed counts: a new leader knows it of nothing before its own epoch has a commit.
        """
        history = driver._replica.quorum.history
        newest = int(history.newest.offset)
        if newest == life.checked_voters:
            return
        life.checked_voters = newest
        uncommitted = 0
        for before, after in pairwise(history._entries):
            changed = before.voters.ids ^ after.voters.ids
            if before.voters.ids and after.offset >= self.high_watermark and changed:
                uncommitted += 1
                self.require(len(changed) == 1, f"{life.name} changes {sorted(changed)} at a time")
                self.paths["voter added or removed"] += 1
        self.require(
            uncommitted <= 1,
            f"{life.name} has {uncommitted} changes of the voters that are not committed",
        )

    def ready(self, life: Life, driver: MetadataDriver, ready: Ready) -> None:
        """What a step is about to be told of stands on the disk: a replica that ends now would not deny it in its next life."""
        if ready.send or ready.reply or ready.leadership is not None:
            stored, told = driver._log.read_election_state(), driver._replica.quorum.role
            self.require(
                _without_directory(stored) == _without_directory(told.election_state),
                f"{life.name} tells of {told.election_state}, and its disk has {stored}",
            )
        for response in [each.response for each in ready.reply]:
            if isinstance(response, FetchResponse) and response.snapshot is not None:
                path = f"{driver._log.log.directory}/{response.snapshot.file_name}"
                self.require(
                    life.node.disk.is_synced(path),
                    f"{life.name} tells of {path}, and has it on no disk",
                )
        synced = driver._log.log.recovery_point
        for message in [each.message for each in ready.send]:
            # What is sent at the start goes out once `run` has begun, and all is synced before.
            if isinstance(message, FetchRequest) and driver._is_running:
                self.require(
                    message.log.end_offset <= synced,
                    f"{life.name} tells that its log ends at {message.log.end_offset}, and is synced to {synced}",
                )
        if ready.truncate_to is not None:
            self.paths["metadata log truncated"] += 1
            self.require(
                int(ready.truncate_to) >= driver._committed,
                f"{life.name} truncates to {ready.truncate_to} what is committed to {driver._committed}",
            )
        for change in ready.role_changes:
            self.changed_role(change)

    def changed_role(self, change: RoleChange) -> None:
        if change.role == "Leader":
            self.paths["leader elected"] += 1
        if "no majority fetched" in change.reason:
            self.paths["resigned by check-quorum"] += 1
        if change.reason == "it ends":
            self.paths["resigned at a stop"] += 1
        if change.role == "Prospective":
            self.paths["pre-vote"] += 1

    # after each batch that a node applies

    def published(self, life: Life, batch: MetadataBatch, images: Sequence[PublishedImage]) -> None:
        found: Committed = (int(batch.last_offset), batch.epoch, list(batch.records))
        first = self.committed.setdefault(int(batch.base_offset), found)
        if first is found:
            for offset, record in enumerate(batch.records, int(batch.base_offset)):
                self.committed_first(life, offset, record)
        else:
            self.require(
                first == found,
                f"{life.name} applies {found} at {batch.base_offset}, others {first}",
            )
        for published in images:
            self.same_image(life, published.image)

    def same_image(self, life: Life, image: MetadataImage) -> None:
        first = self.images.setdefault(int(image.offset), image)
        if self.newest is None or image.offset > self.newest.offset:
            self.newest = image
        if first is not image:
            self.require(
                first == image, f"the image of {life.name} at {image.offset} is another one"
            )

    def applied(self, life: Life, image: MetadataImage) -> None:
        self.require(
            int(image.offset) >= life.image_offset,
            f"the image of {life.name} goes back from {life.image_offset} to {image.offset}",
        )
        life.image_offset = int(image.offset)

    def allocated(self, life: Life, start: int, end: int) -> None:
        """No producer id is given to two brokers, or twice to one."""
        for first, last in self.blocks:
            self.require(
                end <= first or start >= last,
                f"{life.name} has producer ids {start} to {end}, of which some were given out as {first} to {last}",
            )
        self.blocks.append((start, end))

    def installed(self, life: Life, snapshot: Snapshot, image: MetadataImage) -> None:
        self.require(
            int(image.offset) + 1 == int(snapshot.id.end_offset),
            f"{life.name} has image {image.offset} by {snapshot.id.file_name}",
        )
        self.same_image(life, image)

    def committed_first(self, life: Life, offset: int, record: object) -> None:
        """The first node to apply it: the record is committed now."""
        match record:
            case RegisterBrokerRecord():
                self.registered(offset, record)
            case BrokerRegistrationChangeRecord(fenced=1):
                self.paths["broker fenced"] += 1
            case BrokerRegistrationChangeRecord(fenced=-1):
                self.paths["broker unfenced"] += 1
            case BrokerRegistrationChangeRecord(in_controlled_shutdown=1):
                self.paths["controlled shutdown"] += 1
            case ProducerIdsRecord():
                self.paths["block of producer ids"] += 1
                self.require(
                    record.next_producer_id > self.producer_ids_end,
                    f"the blocks of producer ids end at {self.producer_ids_end}, the next one at {record.next_producer_id}",
                )
                self.producer_ids_end = record.next_producer_id
            case PartitionChangeRecord():
                self.paths["partition changed"] += 1
            case TopicRecord():
                self.paths["topic created"] += 1
            case RegisterControllerRecord():
                self.paths["controller registered"] += 1
            case _:
                pass

    def registered(self, offset: int, record: RegisterBrokerRecord) -> None:
        """An incarnation has one epoch, and each new one a higher epoch than every broker before."""
        known = self.broker_epochs.get(record.broker_id)
        if known is not None and known[1] == record.incarnation_id:
            self.paths["broker registered twice"] += 1
            self.require(
                known[0] == record.broker_epoch,
                f"one incarnation of broker {record.broker_id} has epochs {known[0]} and {record.broker_epoch}",
            )
            return
        self.paths["broker registered" if known is None else "broker registered anew"] += 1
        self.require(
            record.broker_epoch > self.highest_broker_epoch,
            f"broker {record.broker_id} has epoch {record.broker_epoch}, there was {self.highest_broker_epoch} before",
        )
        self.require(
            record.broker_epoch <= offset,
            f"broker {record.broker_id} has epoch {record.broker_epoch} by a record at {offset}",
        )
        self.highest_broker_epoch = record.broker_epoch
        self.broker_epochs[record.broker_id] = (record.broker_epoch, record.incarnation_id)


@contextmanager
def observed(observer: Observer) -> Iterator[None]:
    """Has the observer look at each step of every node while this lasts. What stands here in place of a method calls it first."""
    step, carry_out = MetadataDriver._step, MetadataDriver._carry_out
    publish, install = ControllerRunner.publish, ControllerRunner.handle_load_snapshot
    ask_broker, own = BrokerChannel.ask, ControllerChannel._own
    enveloped, allocate = ControllerChannel._enveloped, ProducerIds._allocate

    def stepped(driver: MetadataDriver, event: RaftEvent) -> None:
        step(driver, event)
        if (life := _now_running()) is not None:
            observer.stepped(life, driver, event)

    def carried_out(driver: MetadataDriver, ready: Ready) -> object:
        if (life := _now_running()) is None:
            return carry_out(driver, ready)
        observer.ready(life, driver, ready)
        following = carry_out(driver, ready)
        observer.looked(life, driver)
        return following

    def published(
        runner: ControllerRunner, batch: MetadataBatch, images: Sequence[PublishedImage]
    ) -> None:
        life = _now_running()
        if life is not None:
            observer.published(life, batch, images)
        publish(runner, batch, images)
        if life is not None:
            observer.applied(life, runner.image)

    def installed(runner: ControllerRunner, snapshot: Snapshot) -> None:
        install(runner, snapshot)
        if (life := _now_running()) is not None:
            observer.installed(life, snapshot, runner.image)

    async def allocated(producer_ids: ProducerIds) -> None:
        await allocate(producer_ids)
        if (life := _now_running()) is not None:
            observer.allocated(life, producer_ids._next, producer_ids._end)

    def counted(name: Callable[..., str], asked: Callable[..., Any]) -> Callable[..., Any]:
        """Counts what is asked of another node, and where that failed."""

        async def ask(*args: Any) -> Any:
            if _now_running() is None:
                return await asked(*args)
            path = name(*args)
            observer.paths[path] += 1
            try:
                return await asked(*args)
            except MillstreamError as error:
                observer.paths[f"{path}, {type(error).__name__}"] += 1
                raise

        return ask

    with ExitStack() as stack:
        for owner, name, replacement in (
            (MetadataDriver, "_step", stepped),
            (MetadataDriver, "_carry_out", carried_out),
            (ControllerRunner, "publish", published),
            (ControllerRunner, "handle_load_snapshot", installed),
            (ProducerIds, "_allocate", allocated),
            (BrokerChannel, "ask", counted(lambda _, broker, key, *rest: f"to a broker: {key.name}", ask_broker)),
            (ControllerChannel, "_own", counted(lambda _, key, *rest: f"to the controller: {key.name}", own)),
            (ControllerChannel, "_enveloped", counted(lambda _, key, *rest: f"forwarded: {key.name}", enveloped)),
        ):  # fmt: skip
            stack.enter_context(mock.patch.object(owner, name, replacement))
        stack.enter_context(replicas_observed(observer.replicas))
        yield
