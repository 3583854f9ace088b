"""Watches the replicas of partitions in a simulated cluster after every step: what is committed stays, on all who are in sync.

    committed: below the high watermark of a leader. From then on every leader has it, with the same epoch and checksum.

Reads the logs through the partitions of each node; changes nothing. Where a story takes back what was committed (all machines of a
partition lose their power, or a leader is elected uncleanly), `forgives` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, NamedTuple
from unittest import mock

from millstream.broker.coordination.coordinator_partition import CoordinatorPartition
from millstream.broker.metadata_log.broker_session import BrokerSession
from millstream.broker.storage.hosted_partitions import HostedPartitions
from millstream.broker.storage.replica_moves import ReplicaMoves
from millstream.broker.transactions.markers import TransactionMarkers
from millstream.coordinator.runtime import Ready
from millstream.errors import KafkaError
from millstream.log.append_info import AppendInfo
from millstream.log.file_range import FileRange
from millstream.log.partition_log import PartitionLog
from millstream.metadata.image import MetadataImage, PartitionImage
from millstream.model import TopicPartition, Uuid
from millstream.records.batch import read_header
from millstream.records.control import TransactionMarker
from millstream.replication.partition import Partition
from millstream.replication.replica_progress import ANY_BROKER_EPOCH
from millstream.runtime import Instant
from tests.sim.cluster.node import Life

Key = tuple[Uuid, int]
_ALL_BYTES = 1 << 30
IS_INTERPRETED = isinstance(Partition.apply, FunctionType)
"""Methods of compiled classes cannot be replaced by ones that look on."""


class Batch(NamedTuple):
    base_offset: int
    next_offset: int
    leader_epoch: int
    crc: int


@dataclass
class Committed:
    """What has been committed in a partition, by anybody, and in which leader epochs."""

    batches: list[Batch] = field(default_factory=list)
    ends: dict[int, int] = field(default_factory=dict)
    """By leader epoch: where that ended which its leader had committed."""

    @property
    def end(self) -> int:
        return self.batches[-1].next_offset if self.batches else 0

    def before(self, leader_epoch: int) -> int:
        """Where that ends which was committed in earlier epochs. What is committed later, a leader who does not know of it lacks."""
        return max((end for epoch, end in self.ends.items() if epoch < leader_epoch), default=0)

    def between(self, start: int, end: int) -> list[Batch]:
        return [each for each in self.batches if start <= each.base_offset < end]


def batches_of(log: PartitionLog, start: int, end: int) -> list[Batch]:
    """Returns the batches from the one that holds `start` on that end at or before `end`."""
    found: list[Batch] = []
    while start < end:
        data = log.read(start, _ALL_BYTES, end).records
        view = data.read() if isinstance(data, FileRange) else data
        at = 0
        while at < len(view):
            header = read_header(view, at)
            found.append(
                Batch(header.base_offset, header.next_offset, header.partition_leader_epoch, header.crc)
            )  # fmt: skip
            at += header.size_bytes
        if not view:
            break
        start = found[-1].next_offset
    return found


class ReplicaObserver:
    def __init__(
        self,
        require: Callable[[bool, str], None],
        now_running: Callable[[], Life | None],
        newest: Callable[[Key], PartitionImage | None],
        count: Callable[[str], None],
    ) -> None:
        """`newest`: a partition in the newest metadata that anybody has."""
        self.forgives: Callable[[Partition], bool] = lambda _partition: False
        self.compacted: set[str] = set()
        """Topics whose replicas need not have the same batches."""
        self.committed: dict[Key, Committed] = {}
        self.lives: dict[int, Life] = {}
        """By node: the one that spoke last."""
        self._require = require
        self._now_running = now_running
        self._newest = newest
        self._count = count
        self._written: dict[int, dict[Key, tuple[int, int]]] = {}
        """By node: from where to where its replicas were when it was killed, until the next life has them."""
        self._stirred: dict[Partition, Life] = {}
        self._leader_of: dict[tuple[Key, int], int] = {}
        self._marked: dict[tuple[TopicPartition, TransactionMarker], tuple[Partition, int]] = {}
        """Where the newest of equal markers stands, and the end after it."""

    # what was done

    def stirred(self, partition: Partition) -> None:
        life = self._now_running()
        if life is not None:
            self._stirred[partition] = life

    def has(self, partition: Partition) -> None:
        """The node of the running life has this replica."""
        life = self._now_running()
        if life is not None:
            self.lives[life.node.id] = life
            if key_of(partition) not in life.partitions:
                self._check_found(partition, life)
            life.partitions[key_of(partition)] = partition
            self._stirred[partition] = life

    def took_over(self, partition: Partition, before: PartitionLog) -> None:
        """A replica has moved to another directory: its log there is the log that it was, but for what a cleaning has removed meanwhile."""
        life, log = self._now_running(), partition.log
        if life is None or log is before:
            return
        self._count("replica moved to another directory")
        start, end = before.log_start_offset, before.log_end_offset
        self._require(
            (log.log_start_offset, log.log_end_offset) == (start, end),
            f"{life.name} has moved {partition.topic_partition}, which was from {start} to {end}: its log is from "
            f"{log.log_start_offset} to {log.log_end_offset}",
        )
        if partition.topic_partition.topic not in self.compacted:
            lacking = {*batches_of(before, start, end)} ^ {*batches_of(log, start, end)}
            self._require(
                not lacking,
                f"{life.name} has moved {partition.topic_partition}, and other batches are there: {sorted(lacking)[:4]}",
            )
        self._stirred[partition] = life

    def killed(self, life: Life) -> None:
        """What a process had written when it was killed, the next one has."""
        self._written[life.node.id] = {
            key: (each.log_start_offset, each.log_end_offset)
            for key, each in life.partitions.items()
            if each.log.health.failure is None
            and not each.log.cuts.is_under_way
            and each.log_end_offset > each.log_start_offset
        }

    def forget_written(self, node: int) -> None:
        """Its machine has lost power, or its new life has read what there is."""
        self._written.pop(node, None)

    def _check_found(self, partition: Partition, life: Life) -> None:
        written = self._written.get(life.node.id, {}).pop(key_of(partition), None)
        if written is not None:
            self._require(
                partition.log_end_offset >= written[1],
                f"{life.name} has {partition.topic_partition} to {partition.log_end_offset}; it was killed with it from "
                f"{written[0]} to {written[1]}",
            )

    def has_no_more(self, partition: Partition) -> None:
        life = self._now_running()
        if life is not None and life.partitions.get(key_of(partition)) is partition:
            del life.partitions[key_of(partition)]

    def appended_as_leader(self, partition: Partition) -> None:
        """One node appends as leader of an epoch."""
        life = self._now_running()
        if life is not None:
            epoch = int(partition.leader_epoch)
            first = self._leader_of.setdefault((key_of(partition), epoch), life.node.id)
            self._require(
                first == life.node.id,
                f"{partition.topic_partition} is led in epoch {epoch} by nodes {first} and {life.node.id}",
            )
            self._stirred[partition] = life

    def marked(self, partition: Partition, marker: TransactionMarker, end_offset: int) -> None:
        if self._now_running() is not None:
            self._marked[partition.topic_partition, marker] = partition, end_offset

    def told_of_markers(
        self, refusals: dict[TopicPartition, KafkaError | None], marker: TransactionMarker
    ) -> None:
        """Whoever coordinates a transaction forgets it once its markers were told: they are committed."""
        life = self._now_running()
        for name in [each for each, refusal in refusals.items() if refusal is None]:
            partition, end = self._marked.get((name, marker), (None, 0))
            if life is None or partition is None or self.forgives(partition):
                continue
            mark = partition.high_watermark
            self._require(
                mark >= end,
                f"{life.name} tells of a marker in {name} that ends at {end}, and the mark is {mark}",
            )

    def told_by_coordinator(self, coordinator: CoordinatorPartition[Any]) -> None:
        """What a coordinator answers is committed: nobody who leads its partition next knows of anything else."""
        life, partition = self._now_running(), coordinator.partition
        leads = partition.is_leader and partition.leader_epoch == coordinator.leader_epoch
        if life is None or not leads or self.forgives(partition):
            return
        told, mark = coordinator._runtime._committed_offset, partition.high_watermark
        self._require(
            told <= mark,
            f"{life.name} answers from {partition.topic_partition} as if it were committed to {told}, and the mark is {mark}",
        )

    # after each step

    def check(self) -> None:
        if not self._stirred:
            return
        stirred, self._stirred = self._stirred, {}
        for partition, life in stirred.items():
            if not life.is_over and life.partitions.get(key_of(partition)) is partition:
                self._check_one(partition, life)

    def _check_one(self, partition: Partition, life: Life) -> None:
        name, epoch = partition.topic_partition, partition.partition_epoch
        seen = life.partition_epochs.get(key_of(partition), -1)
        self._require(
            epoch >= seen, f"the partition epoch of {name} on {life.name} fell from {seen} to {epoch}"
        )  # fmt: skip
        life.partition_epochs[key_of(partition)] = epoch
        if partition.log.health.failure is not None:
            return
        end, mark = partition.log_end_offset, partition.high_watermark
        self._require(
            mark <= end, f"the mark of {name} on {life.name} is {mark}, and its log ends at {end}"
        )
        if partition.is_leader and partition.topic_partition.topic not in self.compacted:
            self._check_leader(partition, life)

    def _check_leader(self, partition: Partition, life: Life) -> None:
        key = key_of(partition)
        committed = self.committed.setdefault(key, Committed())
        led = key, int(partition.leader_epoch)
        if life.checked_epochs.get(key) != led[1]:
            life.checked_epochs[key] = led[1]
            self._begins_to_lead(partition, life, committed)
        self._check_isr(partition, life)
        mark = partition.high_watermark
        if mark > committed.end:
            start = max(committed.end, partition.log_start_offset)
            new = batches_of(partition.log, start, mark)
            self._check_members(partition, life, new)
            committed.batches += new
            committed.ends[led[1]] = committed.end

    def _begins_to_lead(self, partition: Partition, life: Life, committed: Committed) -> None:
        """A new leader has all that was ever committed."""
        log = partition.log
        if partition.leader_epoch > 0:
            self._count("partition led anew")
        own = batches_of(log, log.log_start_offset, log.log_end_offset)
        end = committed.before(int(partition.leader_epoch))
        wanted = committed.between(log.log_start_offset, end)
        if own[: len(wanted)] != wanted:
            if self.forgives(partition):
                self._count("committed records taken back")
                committed.batches[:] = [each for each in own if each.next_offset <= end]
                committed.ends = {int(partition.leader_epoch) - 1: committed.end}
                return
            lacking = [each for each in wanted if each not in own]
            self._require(
                False,
                f"{life.name} leads {partition.topic_partition} in epoch {partition.leader_epoch}, its log ends at "
                f"{log.log_end_offset}, and {end} was committed: it lacks {lacking[:3]}",
            )

    def _check_isr(self, partition: Partition, life: Life) -> None:
        """Whoever is in sync as the controller has it, the leader of that epoch counts with (its maximal ISR): so ISRs are never disjoint."""
        image = self._newest(key_of(partition))
        if (
            image is None
            or image.leader_epoch != partition.leader_epoch
            or image.partition_epoch < partition.partition_epoch
        ):
            return
        maximal = partition._in_sync.maximal
        missing = {*image.isr} - {*maximal}
        self._require(
            not missing,
            f"{life.name} leads {partition.topic_partition} without {sorted(missing)}, who are in sync: its ISR is {maximal}, "
            f"the controller's {image.isr}",
        )

    def _check_members(self, partition: Partition, life: Life, new: list[Batch]) -> None:
        """What a leader has just committed is on all members of its maximal ISR."""
        for member in partition._in_sync.maximal:
            if member == life.node.id:
                continue
            other = self._known_to(partition, int(member))
            if other is None:
                continue
            own = batches_of(other.log, max(new[0].base_offset, other.log_start_offset), other.log_end_offset) if new else []  # fmt: skip
            lacking = [each for each in new if each not in own and each.base_offset >= other.log_start_offset]  # fmt: skip
            self._require(
                not lacking,
                f"{life.name} commits {lacking[:3]} of {partition.topic_partition}, which node {member} of the maximal ISR lacks: "
                f"it ends at {other.log_end_offset}",
            )

    def _known_to(self, partition: Partition, member: int) -> Partition | None:
        """The replica of a member, where the leader knows of the incarnation that runs. What it knew of one before says nothing of this one."""
        progress = partition._followers.progress.get(member)  # type: ignore[call-overload]  # an id is an int
        other = self.lives.get(member)
        if other is None or other.is_over or other.node.life is not other:
            return None
        if progress is not None and progress.broker_epoch not in (None, ANY_BROKER_EPOCH, other.broker_epoch):  # fmt: skip
            return None
        if progress is None or progress.broker_epoch is None:
            known = partition._followers._rules.find_broker(member)  # type: ignore[arg-type]  # as above
            if known is None or known.broker_epoch != other.broker_epoch:
                return None
        found = other.partitions.get(key_of(partition))
        return None if found is None or found.log.health.failure is not None else found

    # in the end

    def differences(self, life_of: Callable[[int], Life | None]) -> list[str]:
        """Returns in what replicas of one partition differ, where all are in sync: logs, and the epochs that they know."""
        found: list[str] = []
        for key in self.committed:
            image = self._newest(key)
            if image is None:
                continue
            logs = {}
            for node in image.replicas:
                life = life_of(int(node))
                partition = None if life is None else life.partitions.get(key)
                if partition is None:
                    found.append(f"node {node} has no replica of partition {key[1]}")
                    continue
                log = partition.log
                logs[node] = (
                    batches_of(log, log.log_start_offset, log.log_end_offset),
                    log.leader_epochs.entries,
                )
            (first, own), *rest = logs.items()
            for node, (batches, epochs) in rest:
                name = partition.topic_partition if partition is not None else key
                if batches != own[0]:
                    different = sorted({*batches} ^ {*own[0]})
                    found.append(f"the logs of {name} on nodes {first} and {node} differ in {different[:4]}")  # fmt: skip
                elif _with_records(epochs, batches) != _with_records(own[1], own[0]):
                    found.append(
                        f"the epochs of {name} on nodes {first} and {node} differ: {own[1]} and {epochs}"
                    )
        return found


def _with_records(epochs: Any, batches: list[Batch]) -> Any:
    """A leader notes its own epoch when it begins; its followers learn of it with its first record."""
    end = batches[-1].next_offset if batches else 0
    return [each for each in epochs if each.start_offset < end]


def key_of(partition: Partition) -> Key:
    return partition.topic_id, partition.topic_partition.partition


@contextmanager
def replicas_observed(observer: ReplicaObserver) -> Iterator[None]:
    """Has the observer look at the replicas of every node while this lasts, if they are interpreted."""
    if not IS_INTERPRETED:
        yield
        return

    def followed_by(name: str, told: Callable[[Partition], None]) -> tuple[type, str, Any]:
        true = getattr(Partition, name)

        def method(partition: Partition, *args: Any, **kwargs: Any) -> Any:
            done = true(partition, *args, **kwargs)
            told(partition)
            return done

        return Partition, name, method

    register, append_marker = BrokerSession.register, Partition.append_marker
    true_load, true_take_over = HostedPartitions.load, ReplicaMoves._take_over
    write_markers, tell = TransactionMarkers.write, CoordinatorPartition._tell

    def load(partitions: HostedPartitions, image: MetadataImage) -> None:
        true_load(partitions, image)
        if (life := observer._now_running()) is not None:
            observer.forget_written(life.node.id)

    async def registered(session: BrokerSession, *args: Any) -> None:
        await register(session, *args)
        if (life := observer._now_running()) is not None:
            life.broker_epoch = session.broker_epoch

    def marked(partition: Partition, marker: TransactionMarker, now: Instant) -> AppendInfo:
        appended = append_marker(partition, marker, now)
        observer.marked(partition, marker, appended.last_offset + 1)
        return appended

    def told(coordinator: CoordinatorPartition[Any], ready: Ready) -> None:
        if ready.replies:
            observer.told_by_coordinator(coordinator)
        tell(coordinator, ready)

    def take_over(moves: ReplicaMoves, hosted: Partition, *more: Any) -> bool:
        before = hosted.log
        try:
            return true_take_over(moves, hosted, *more)
        finally:
            observer.took_over(hosted, before)

    async def markers_written(
        markers: TransactionMarkers, partitions: Iterable[TopicPartition], marker: TransactionMarker
    ) -> dict[TopicPartition, KafkaError | None]:
        refusals = await write_markers(markers, partitions, marker)
        observer.told_of_markers(refusals, marker)
        return refusals

    with ExitStack() as stack:
        for owner, name, replacement in (
            followed_by("apply", observer.has),
            followed_by("leave", observer.has_no_more),
            followed_by("append_checked", observer.appended_as_leader),
            followed_by("read_as_replica", observer.stirred),
            followed_by("wanted_alteration", observer.stirred),
            followed_by("take_altered", observer.stirred),
            followed_by("append_fetched", observer.stirred),
            followed_by("make_cut", observer.stirred),
            (BrokerSession, "register", registered),
            (Partition, "append_marker", marked),
            (HostedPartitions, "load", load),
            (ReplicaMoves, "_take_over", take_over),
            (CoordinatorPartition, "_tell", told),
            (TransactionMarkers, "write", markers_written),
        ):
            stack.enter_context(mock.patch.object(owner, name, replacement))
        yield
