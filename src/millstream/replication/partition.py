"""One partition as this broker holds it: a log, who leads it, who is in sync, and up to where it is committed.

The only way for handlers to append and read. One task owns it, nothing here waits: progress is told through one callback,
by which the purgatory wakes what waits, and through another that the controller is to be asked to change the ISR.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from millstream.errors import (
    FencedLeaderEpoch,
    NotEnoughReplicas,
    NotLeaderOrFollower,
    OffsetNotAvailable,
    OffsetOutOfRange,
    PolicyViolation,
    UnknownLeaderEpoch,
)
from millstream.log.append_check import AppendOrigin, CheckedBatches, checked_batches
from millstream.log.append_info import AppendInfo
from millstream.log.leader_epochs import EpochEnd
from millstream.log.log_reader import FetchData
from millstream.log.offset_order import check_order
from millstream.log.partition_log import PartitionLog
from millstream.log.timestamp_lookup import TimestampedOffset
from millstream.log.truncation import LogCut
from millstream.metadata.image import NO_LEADER, RECOVERED, PartitionImage
from millstream.model import NO_LEADER_EPOCH, BrokerId, LeaderEpoch, TopicPartition, Uuid
from millstream.protocol.generated.alter_partition import AlterPartitionResponsePartitionData
from millstream.records.control import TransactionMarker
from millstream.replication.divergence import (
    divergence_offset,
    diverging_end,
    drop_empty_epochs,
)
from millstream.replication.fetch_position import (
    NO_EPOCH,
    FetchingReplica,
    FetchPosition,
    FetchRead,
)
from millstream.replication.followers import Followers, ReplicationRules
from millstream.replication.isr import Alteration, AlterationOutcome, InSyncReplicas
from millstream.replication.replica_progress import FetchPulse, FollowerProgress
from millstream.runtime import Instant

ACKS_ALL: Final = -1

_ALONE: Final = ReplicationRules()
"""Those of a broker that knows no other."""


def _ignore_due(_partition: Partition) -> None:
    """Where nobody asks the controller."""


@final
class Partition:
    def __init__(
        self,
        log: PartitionLog,
        topic_id: Uuid,
        broker_id: BrokerId,
        saved_high_watermark: int = 0,
        on_progress: Callable[[TopicPartition], None] = lambda _partition: None,
        *,
        rules: ReplicationRules = _ALONE,
        on_alteration_due: Callable[[Partition], None] = _ignore_due,
    ) -> None:
        """`on_progress` is called after records became readable or left, and after leadership changed. `on_alteration_due` is called when
        `wanted_alteration` has one. Neither may raise.
        """
        self.topic_partition = log.partition
        self.topic_id = topic_id
        self.log = log
        self.leader: BrokerId = NO_LEADER
        self.leader_epoch: LeaderEpoch = NO_LEADER_EPOCH
        self.led_since: LeaderEpoch = NO_LEADER_EPOCH
        """The first of the leader epochs that this broker has led one after the other, up to the present one."""
        self.replicas: tuple[BrokerId, ...] = ()
        self.isr: tuple[BrokerId, ...] = ()
        """The committed one: what the controller has said."""
        self.adding_replicas: tuple[BrokerId, ...] = ()
        self.damaged_at: int | None = None
        """Where the first batch stands that is not what was written: nobody is sent it."""
        self._in_sync = InSyncReplicas()
        self._followers = Followers(broker_id, self._in_sync, rules)
        self._broker_id = broker_id
        self._on_progress = on_progress
        self.on_growth = on_progress
        """Called after an append of records that followers have to fetch first."""
        self._on_alteration_due = on_alteration_due
        self._high_watermark = max(
            log.log_start_offset, min(saved_high_watermark, log.log_end_offset)
        )
        self.check_offsets()

    # --- what it is

    @property
    def is_leader(self) -> bool:
        return self.leader == self._broker_id

    @property
    def is_being_added(self) -> bool:
        """Whether a reassignment adds this replica."""
        return self._broker_id in self.adding_replicas

    @property
    def high_watermark(self) -> int:
        """The offset below which records are committed: every in-sync replica has them. Consumers see nothing else."""
        return self._high_watermark

    @property
    def last_stable_offset(self) -> int:
        """The offset at and after which readers at read_committed see nothing."""
        return self.log.last_stable_offset(self._high_watermark)

    @property
    def log_start_offset(self) -> int:
        return self.log.log_start_offset

    @property
    def log_end_offset(self) -> int:
        return self.log.log_end_offset

    def check_offsets(self) -> None:
        """Asserts the order of the partition's offsets. Called after changes that are rare, and by tests after every one."""
        check_order(self.topic_partition, self.log.offsets(self._high_watermark))

    @property
    def is_short_of_replicas(self) -> bool:
        """Whether too few replicas are in sync for acks=all, which never asks for more than there are (KIP-966)."""
        return self._is_too_few(len(self.isr))

    @property
    def is_short_after_append(self) -> bool:
        """The same for records that are appended: those that are asked to join the ISR were waited for, so they count."""
        return self._is_too_few(len(self._in_sync.maximal))

    def _is_too_few(self, in_sync: int) -> bool:
        return in_sync < self.log.config.min_insync_replicas and in_sync < len(self.replicas)

    @property
    def partition_epoch(self) -> int:
        return self._in_sync.partition_epoch

    # --- leadership

    def apply(self, image: PartitionImage, now: Instant) -> None:
        """Follows the metadata: leader, epochs, replicas, in-sync replicas. An older image than the controller's last answer is ignored."""
        if not self._in_sync.adopt(image):
            return
        is_new_epoch = image.leader_epoch != self.leader_epoch
        leads_on = self.is_leader and image.leader_epoch == self.leader_epoch + 1
        self.leader, self.leader_epoch = image.leader, image.leader_epoch
        had_in_sync = self.isr
        self.replicas, self.isr = image.replicas, image.isr
        self.adding_replicas = image.adding_replicas
        if self.is_leader:
            if is_new_epoch:
                if not leads_on:
                    self.led_since = image.leader_epoch
                self._followers.begin_epoch(self.log.log_end_offset)
            self._followers.assign(image.replicas, now.monotonic_ms, had_in_sync)
            self._advance_high_watermark(now)
            if image.leader_recovery_state != RECOVERED:
                self._on_alteration_due(self)
        else:
            self._followers.clear()
        self.check_offsets()
        self._on_progress(self.topic_partition)

    def leave(self) -> None:
        """Ends this replica, which the broker has no more: whoever waits for it hears that."""
        self.leader = NO_LEADER
        self._followers.clear()
        self._on_progress(self.topic_partition)

    def has_led_since(self, leader_epoch: LeaderEpoch) -> bool:
        """Whether this broker leads, and has since `leader_epoch`: what it appended then is still in its log.

        Leader epochs have one leader each. So nobody can have led between two that follow each other.
        """
        return self.leader == self._broker_id and self.led_since <= leader_epoch

    def check_leader(self, current_leader_epoch: int = NO_EPOCH) -> None:
        """Checks that this broker leads.

        Raises NotLeaderOrFollower, and FencedLeaderEpoch or UnknownLeaderEpoch when the caller's epoch is not ours.
        """
        self._check_epoch(current_leader_epoch)
        if not self.is_leader:
            who = "no broker" if self.leader == NO_LEADER else f"broker {self.leader}"
            raise NotLeaderOrFollower(
                f"{who} leads {self.topic_partition}, as far as is known here"
            )

    def _check_epoch(self, current_leader_epoch: int) -> None:
        if current_leader_epoch not in (NO_EPOCH, self.leader_epoch):
            if current_leader_epoch < self.leader_epoch:
                raise FencedLeaderEpoch(
                    f"{self.topic_partition} is at leader epoch {self.leader_epoch}, not {current_leader_epoch}"
                )
            raise UnknownLeaderEpoch(
                f"{self.topic_partition} is at leader epoch {self.leader_epoch} here, {current_leader_epoch} is newer"
            )

    def check_reader(self, position: FetchPosition) -> None:
        """Checks that `position` may be read here. Raises as `check_leader`.

        Where nobody leads, a follower serves nobody. Kafka's does; but that is how a client of a partition of one replica hears at once that
        its broker is about to stop.
        """
        if position.may_follow and self.leader != NO_LEADER:
            self._check_epoch(position.current_leader_epoch)
        else:
            self.check_leader(position.current_leader_epoch)

    # --- append

    def append(
        self,
        records: memoryview,
        now: Instant,
        *,
        acks: int = ACKS_ALL,
        origin: AppendOrigin = AppendOrigin.CLIENT,
    ) -> AppendInfo:
        """Appends as leader; committed once `high_watermark` is beyond the last offset.

        Raises NotLeaderOrFollower, NotEnoughReplicas and what `PartitionLog.append_as_leader` raises.
        """
        self.check_leader()
        batches = checked_batches(records, self.log.config, now, origin)
        return self.append_checked(batches, now, acks=acks, origin=origin)

    def append_checked(
        self,
        batches: CheckedBatches,
        now: Instant,
        *,
        acks: int = ACKS_ALL,
        origin: AppendOrigin = AppendOrigin.CLIENT,
    ) -> AppendInfo:
        """Appends batches that `checked_batches` has checked, with this partition's configuration, here or elsewhere."""
        self.check_leader()
        if acks == ACKS_ALL and self.is_short_of_replicas:
            raise NotEnoughReplicas(
                f"{self.topic_partition} has {len(self.isr)} in-sync replicas, "
                f"min.insync.replicas is {self.log.config.min_insync_replicas}"
            )
        appended = self.log.append_checked(batches, self.leader_epoch, now, origin)
        if not appended.is_duplicate:
            has_followers = bool(self._followers.progress)
            if has_followers:
                self._followers.note_append()
            if not self._advance_high_watermark(now) and has_followers:
                self.on_growth(self.topic_partition)
        return appended

    def append_marker(self, marker: TransactionMarker, now: Instant) -> AppendInfo:
        """Ends a transaction here. Committed once `high_watermark` is beyond it.

        Raises InvalidProducerEpoch for a marker that comes too late, TransactionCoordinatorFenced for one of a coordinator
        that has been replaced, and what `append` raises.
        """
        self.check_leader()
        self.log.producers.check_marker(marker)
        batch = memoryview(marker.build(now.wall_ms))
        return self.append(batch, now, origin=AppendOrigin.COORDINATOR)

    def _advance_high_watermark(self, now: Instant) -> bool:
        """Returns whether it moved. It stands still while too few replicas are in sync for acks=all, whatever the producers' acks (KIP-966)."""
        end_offset = self.log.log_end_offset
        if self._followers.progress:
            if self.is_short_of_replicas:
                return False
            end_offset = self._followers.high_watermark(end_offset, now.monotonic_ms)
        if end_offset <= self._high_watermark:
            return False
        self._high_watermark = end_offset
        self.log.producers.on_high_watermark_updated(end_offset)
        self._on_progress(self.topic_partition)
        return True

    # --- followers

    def read_as_replica(
        self,
        position: FetchPosition,
        replica: FetchingReplica,
        now: Instant,
        *,
        min_one_batch: bool = True,
    ) -> FetchRead:
        """Reads for a follower, up to the log end. Its fetch says what it has, unless it has diverged.

        Raises what `read` raises; NotLeaderOrFollower for an incarnation that was replaced and, where it knows no leader epoch, for a
        replica that is not assigned here; UnknownLeaderEpoch for one that does, and that will ask again: it may have heard of its
        assignment first.
        """
        self.check_leader(position.current_leader_epoch)
        progress = self._followers.progress.get(replica.broker_id)
        if progress is None:
            told = f"broker {replica.broker_id} is no replica of {self.topic_partition} in leader epoch {self.leader_epoch}"
            is_blind = position.current_leader_epoch == NO_EPOCH
            raise NotLeaderOrFollower(told) if is_blind else UnknownLeaderEpoch(told)
        read = self.read(position, min_one_batch=min_one_batch)
        if read.diverging is not None:
            return read
        if self._followers.is_stale(replica.broker_id, replica.broker_epoch):
            raise NotLeaderOrFollower(
                f"broker {replica.broker_id} has registered anew since its epoch {replica.broker_epoch}"
            )
        had_end, had_start = progress.end_offset, progress.log_start_offset
        progress.note_fetch(
            position.offset,
            replica.log_start_offset,
            replica.broker_epoch,
            leader_end=self.log.log_end_offset,
            now_ms=now.monotonic_ms,
        )
        if self._followers.may_join(replica.broker_id, self._high_watermark):
            self._on_alteration_due(self)
        has_advanced = progress.end_offset != had_end and self._advance_high_watermark(now)
        if not has_advanced and progress.log_start_offset != had_start:
            self._on_progress(self.topic_partition)  # DeleteRecords waits for it
        return read._replace(high_watermark=self._high_watermark)

    def let_rest(self, broker_id: BrokerId, pulse: FetchPulse) -> bool:
        """Lets a follower's session leave the partition out until there is news, if it is in the ISR and has fetched all there is. Returns whether.

        Each fetch of the session, told by `pulse`, then says the same. Who is to join the ISR has to ask: whether it may is looked at
        when it fetches.
        """
        progress = self.follower(broker_id)
        if progress is None or broker_id not in self.isr:
            return False
        if progress.end_offset != self.log.log_end_offset:
            return False
        progress.begin_rest(pulse)
        return True

    @property
    def low_watermark(self) -> int:
        """The offset below which no replica that runs has records; -1 while that is not known of one."""
        return self._followers.low_watermark(self.log.log_start_offset)

    @property
    def stuck_offsets(self) -> list[int]:
        """The offsets at which followers do not get on."""
        return [each.end_offset for each in self._followers.progress.values() if each.is_stuck]

    def followers_with(self, offset: int) -> list[tuple[BrokerId, FollowerProgress]]:
        """Returns the in-sync followers that a consumer at `offset` may read from."""
        return [
            (broker_id, follower)
            for broker_id, follower in self._followers.progress.items()
            if broker_id in self.isr and follower.log_start_offset <= offset <= follower.end_offset
        ]

    def wanted_alteration(self, now: Instant) -> Alteration | None:
        """Returns the change of the ISR or of the recovery state that is due, which waits for its answer from now on.

        Also raises the high watermark where a follower outside of the ISR held it that lags or runs no more: nothing else tells.
        """
        if not self.is_leader:
            return None
        self._advance_high_watermark(now)
        return self._followers.wanted(
            self.topic_id,
            self.topic_partition.partition,
            self._high_watermark,
            self.log.log_end_offset,
            now.monotonic_ms,
        )

    def take_altered(
        self, asked: Alteration, answer: AlterPartitionResponsePartitionData, now: Instant
    ) -> AlterationOutcome:
        """Takes the controller's answer to `asked`, what `wanted_alteration` returned."""
        answered = self._in_sync.take(asked, answer)
        if answered is AlterationOutcome.ALTERED:
            self.isr = self._in_sync.committed
            if self.is_leader:
                self._advance_high_watermark(now)
        return answered

    def follower(self, broker_id: BrokerId) -> FollowerProgress | None:
        """Returns how far a follower is; None for a broker that is none."""
        return self._followers.progress.get(broker_id)

    def withdraw_alteration(self, asked: Alteration) -> None:
        """Ends `asked`, of which the controller has not been told."""
        if self._in_sync.pending == asked:
            self._in_sync.give_up()

    # --- following

    def append_fetched(
        self,
        records: memoryview,
        *,
        leader_epoch: LeaderEpoch,
        leader_high_watermark: int,
        leader_log_start_offset: int,
        now: Instant,
    ) -> AppendInfo:
        """Appends what the leader of `leader_epoch` has sent for the end of this log, and takes over its offsets.

        The high watermark is the leader's, as far as this log goes: a new leader's may be the lower one for a while, as in Kafka.
        Raises NotLeaderOrFollower where that leader is followed no more, and what `PartitionLog.append_as_follower` raises.
        """
        self._check_follows(leader_epoch)
        before = self._high_watermark, self.log.log_start_offset
        if leader_log_start_offset >= self.log.log_end_offset:
            # All records here are deleted there: the log may begin anew inside the leader's first batch, where Kafka's gives up.
            self.log.delete_records_before(self.log.log_end_offset)
        appended = self.log.append_as_follower(records, now, leader_epoch_max=leader_epoch)
        self._high_watermark = max(
            self.log.log_start_offset, min(leader_high_watermark, self.log.log_end_offset)
        )
        self.log.producers.on_high_watermark_updated(self._high_watermark)
        start_offset = min(leader_log_start_offset, self._high_watermark)
        if start_offset > self.log.log_start_offset:
            self.log.delete_records_before(start_offset)
        if (self._high_watermark, self.log.log_start_offset) != before:
            self._on_progress(self.topic_partition)
        return appended

    def plan_divergence_cut(self, diverging: EpochEnd, leader_epoch: LeaderEpoch) -> LogCut | None:
        """Plans to cut all that the leader of `leader_epoch` does not have, as far as its answer tells; another one may tell more."""
        self._check_follows(leader_epoch)
        return self.plan_cut(divergence_offset(self.log, diverging))

    def plan_cut(
        self, offset: int, *, is_whole: bool = False, is_of_damage: bool = False
    ) -> LogCut | None:
        """Returns what `LogCuts.plan` does; None: there is nothing to cut, and whoever follows goes on.

        Raises NotLeaderOrFollower, KafkaStorageError.
        """
        self._check_follows(self.leader_epoch)
        cut = self.log.cuts.plan(offset, is_whole=is_whole, is_of_damage=is_of_damage)
        if cut is None:
            drop_empty_epochs(self.log)
            self._finish_cut()
        return cut

    def make_cut(self, cut: LogCut, leader_epoch: LeaderEpoch) -> bool:
        """Makes a cut that was planned under this epoch, if it still follows. False: see `LogCut.make`. Raises NotLeaderOrFollower, KafkaStorageError."""
        self._check_follows(leader_epoch)
        if not cut.make():
            return False
        if cut.is_of_damage:
            self.damaged_at = None
        drop_empty_epochs(self.log)
        self._finish_cut()
        return True

    def _finish_cut(self) -> None:
        start, end = self.log.log_start_offset, self.log.log_end_offset
        self._high_watermark = max(start, min(self._high_watermark, end))
        self.check_offsets()
        self._on_progress(self.topic_partition)

    def _check_follows(self, leader_epoch: LeaderEpoch) -> None:
        if self.is_leader or leader_epoch != self.leader_epoch:
            raise NotLeaderOrFollower(
                f"{self.topic_partition} does not follow a leader of epoch {leader_epoch} here"
            )

    # --- read

    def read(self, position: FetchPosition, *, min_one_batch: bool = True) -> FetchRead:
        """Reads records from `position.offset` on, committed ones unless the reader is a replica.

        Raises NotLeaderOrFollower, FencedLeaderEpoch, UnknownLeaderEpoch, OffsetOutOfRange, KafkaStorageError.
        """
        self.check_reader(position)
        if self.damaged_at is not None:
            # Here, not above: a node whose disks are sound does without it.
            from millstream.replication.damage import check_readable

            check_readable(self.topic_partition, position.offset, self.damaged_at, len(self.isr))
        diverging = None
        if position.last_fetched_epoch != NO_EPOCH:
            end = self.epoch_end(position.last_fetched_epoch)
            diverging = diverging_end(self.topic_partition, end, position)
        upper_bound = self._upper_bound(position)
        data = FetchData(position.offset, b"")
        if diverging is None:
            data = self.log.read(
                position.offset, position.bytes_max, upper_bound, min_one_batch=min_one_batch
            )
        return FetchRead(
            data.records,
            self._high_watermark,
            self.last_stable_offset,
            self.log.log_start_offset,
            self.log.aborted_among(data) if position.is_read_committed else None,
            diverging,
        )

    def readable_bytes(self, position: FetchPosition) -> int:
        """Returns the bytes that `read` would give, at most; cheap, for waiting readers. Raises what `read` raises for the leader."""
        self.check_reader(position)
        readable = self.log.readable_bytes(position.offset, self._upper_bound(position))
        return min(position.bytes_max, readable)

    def _upper_bound(self, position: FetchPosition) -> int:
        end, damaged_at = self.log.log_end_offset, self.damaged_at
        if not position.reads_to_end:
            end = self.last_stable_offset if position.is_read_committed else self._high_watermark
        return end if damaged_at is None or position.offset > damaged_at else min(end, damaged_at)

    # --- offsets by name and by time

    def latest_offset(
        self, *, is_read_committed: bool, is_replica: bool = False
    ) -> TimestampedOffset:
        """Returns where a reader finds the next record. Raises OffsetNotAvailable."""
        if not is_replica:
            self.check_offsets_are_available()
        offset = self._last_visible(is_read_committed=is_read_committed, is_replica=is_replica)
        return TimestampedOffset(offset, -1, self.leader_epoch)

    def _last_visible(self, *, is_read_committed: bool, is_replica: bool) -> int:
        if is_replica:
            return self.log.log_end_offset
        return self.last_stable_offset if is_read_committed else self._high_watermark

    def check_offsets_are_available(self) -> None:
        """Raises OffsetNotAvailable while a new leader does not know how far its predecessor had committed: offsets would go back."""
        if self.is_leader and self._high_watermark < self._followers.epoch_start_offset:
            raise OffsetNotAvailable(
                f"the high watermark of {self.topic_partition}, {self._high_watermark}, has not reached "
                f"{self._followers.epoch_start_offset}, where leader epoch {self.leader_epoch} began"
            )

    def earliest_offset(self) -> TimestampedOffset:
        """Returns the log start offset and its leader epoch; for a log that was never written to, the leader's own epoch."""
        start = self.log.log_start_offset
        epoch = self.log.leader_epochs.epoch_for(start)
        return TimestampedOffset(start, -1, epoch if epoch != NO_EPOCH else self.leader_epoch)

    def is_visible(
        self, found: TimestampedOffset, *, is_read_committed: bool, is_replica: bool = False
    ) -> bool:
        """Whether a reader may see the record at this offset."""
        end = self._last_visible(is_read_committed=is_read_committed, is_replica=is_replica)
        return found.offset < end

    def epoch_end(self, epoch: int) -> EpochEnd:
        """Returns the end of leader epoch `epoch`, or of the one before it that wrote something; UNKNOWN_EPOCH beyond the leader's.

        The epochs of the log tell of those that wrote something; the leader's own begins where the log ends until it does.
        """
        end_offset = self.log.log_end_offset
        known = self.log.leader_epochs
        if self.is_leader and known.latest_epoch < epoch <= self.leader_epoch:
            wrote_nothing = epoch == self.leader_epoch or known.latest_epoch < 0
            return EpochEnd(epoch if wrote_nothing else known.latest_epoch, end_offset)
        return known.end_offset(epoch, end_offset)

    # --- upkeep

    def delete_records_before(self, offset: int) -> int:
        """Moves the log start offset; -1 means the high watermark. Returns the new start.

        Raises OffsetOutOfRange beyond the high watermark, PolicyViolation where records leave by compaction only,
        NotLeaderOrFollower.
        """
        self.check_leader()
        if self.log.config.is_compacted and not self.log.config.is_deleted:
            raise PolicyViolation(
                f"records of {self.topic_partition} cannot be deleted: cleanup.policy of its topic is compact"
            )
        target = self._high_watermark if offset == -1 else offset
        if not 0 <= target <= self._high_watermark:
            raise OffsetOutOfRange(
                f"records of {self.topic_partition} can be deleted up to its high watermark {self._high_watermark}, "
                f"not before {offset}"
            )
        self.log.delete_records_before(target)
        self.check_offsets()
        self._on_progress(self.topic_partition)
        return self.log.log_start_offset

    def maintain(self, now: Instant) -> int:
        """Retention up to the high watermark; returns the number of segments that left. Raises KafkaStorageError."""
        start_offset = self.log.log_start_offset
        removed = self.log.maintain(self._high_watermark, now)
        if self.log.log_start_offset != start_offset:
            self.check_offsets()
            self._on_progress(self.topic_partition)
        return removed
