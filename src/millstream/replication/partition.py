"""One partition as this broker holds it: a log, who leads it, who is in sync, and up to where it is committed.

The only way for handlers to append and read. One task owns it, nothing here waits: progress is told through one callback,
by which the purgatory wakes what waits. Followers do not fetch yet; what they will report has its place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from millstream.errors import (
    FencedLeaderEpoch,
    NotEnoughReplicas,
    NotLeaderOrFollower,
    OffsetOutOfRange,
    PolicyViolation,
    UnknownLeaderEpoch,
)
from millstream.log.append_check import AppendOrigin, CheckedBatches, checked_batches
from millstream.log.append_info import AppendInfo
from millstream.log.leader_epochs import UNKNOWN_EPOCH, EpochEnd
from millstream.log.log_reader import FetchData
from millstream.log.offset_order import check_order
from millstream.log.partition_log import PartitionLog
from millstream.log.timestamp_lookup import TimestampedOffset
from millstream.metadata.image import NO_LEADER, PartitionImage
from millstream.model import NO_LEADER_EPOCH, BrokerId, LeaderEpoch, TopicPartition, Uuid
from millstream.records.control import TransactionMarker
from millstream.replication.fetch_position import NO_EPOCH, FetchPosition, FetchRead
from millstream.replication.high_watermark import advanced_high_watermark
from millstream.runtime import Instant

ACKS_ALL: Final = -1


@final
class Partition:
    def __init__(
        self,
        log: PartitionLog,
        topic_id: Uuid,
        broker_id: BrokerId,
        saved_high_watermark: int = 0,
        on_progress: Callable[[TopicPartition], None] = lambda _partition: None,
    ) -> None:
        """`on_progress` is called after records became readable or left, and after leadership changed; it must not raise."""
        self.topic_partition = log.partition
        self.topic_id = topic_id
        self.log = log
        self.leader: BrokerId = NO_LEADER
        self.leader_epoch: LeaderEpoch = NO_LEADER_EPOCH
        self.replicas: tuple[BrokerId, ...] = ()
        self.isr: tuple[BrokerId, ...] = ()
        self._broker_id = broker_id
        self._on_progress = on_progress
        self._high_watermark = max(
            log.log_start_offset, min(saved_high_watermark, log.log_end_offset)
        )
        self._follower_end_offsets: dict[BrokerId, int] = {}
        self.check_offsets()

    # --- what it is

    @property
    def is_leader(self) -> bool:
        return self.leader == self._broker_id

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
        in_sync = len(self.isr)
        return in_sync < self.log.config.min_insync_replicas and in_sync < len(self.replicas)

    # --- leadership

    def apply(self, image: PartitionImage) -> None:
        """Follows the metadata: leader, epoch, replicas, in-sync replicas."""
        self.leader, self.leader_epoch = image.leader, image.leader_epoch
        self.replicas, self.isr = image.replicas, image.isr
        if self.is_leader:
            known = self._follower_end_offsets
            self._follower_end_offsets = {r: known[r] for r in self.replicas if r in known}
            self._advance_high_watermark()
        self.check_offsets()
        self._on_progress(self.topic_partition)

    def check_leader(self, current_leader_epoch: int = NO_EPOCH) -> None:
        """Checks that this broker leads.

        Raises NotLeaderOrFollower, and FencedLeaderEpoch or UnknownLeaderEpoch when the caller's epoch is not ours.
        """
        if current_leader_epoch not in (NO_EPOCH, self.leader_epoch):
            if current_leader_epoch < self.leader_epoch:
                raise FencedLeaderEpoch(
                    f"{self.topic_partition} is at leader epoch {self.leader_epoch}, not {current_leader_epoch}"
                )
            raise UnknownLeaderEpoch(
                f"{self.topic_partition} is at leader epoch {self.leader_epoch} here, {current_leader_epoch} is newer"
            )
        if not self.is_leader:
            raise NotLeaderOrFollower(f"broker {self.leader} leads {self.topic_partition}")

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
            self._advance_high_watermark()
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

    def _advance_high_watermark(self) -> None:
        followers = (replica for replica in self.isr if replica != self._broker_id)
        advanced = advanced_high_watermark(
            self._high_watermark, self.log.log_end_offset, followers, self._follower_end_offsets
        )
        if advanced > self._high_watermark:
            self._high_watermark = advanced
            self.log.producers.markers_committed(advanced)
            self._on_progress(self.topic_partition)

    # --- read

    def read(self, position: FetchPosition, *, min_one_batch: bool = True) -> FetchRead:
        """Reads committed records from `position.offset` on.

        Raises NotLeaderOrFollower, FencedLeaderEpoch, UnknownLeaderEpoch, OffsetOutOfRange, KafkaStorageError.
        """
        self.check_leader(position.current_leader_epoch)
        diverging = self._divergence(position)
        upper_bound = (
            self.last_stable_offset if position.is_read_committed else self._high_watermark
        )
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

    def _divergence(self, position: FetchPosition) -> EpochEnd | None:
        if position.last_fetched_epoch == NO_EPOCH:
            return None
        end = self.epoch_end(position.last_fetched_epoch)
        if end == UNKNOWN_EPOCH:
            raise OffsetOutOfRange(
                f"{self.topic_partition} knows no leader epoch up to {position.last_fetched_epoch}"
            )
        if end.epoch < position.last_fetched_epoch or end.end_offset < position.offset:
            return end
        return None

    def readable_bytes(self, position: FetchPosition) -> int:
        """Returns the bytes that `read` would give, at most; cheap, for waiting readers. Raises what `read` raises for the leader."""
        self.check_leader(position.current_leader_epoch)
        upper_bound = (
            self.last_stable_offset if position.is_read_committed else self._high_watermark
        )
        return min(position.bytes_max, self.log.readable_bytes(position.offset, upper_bound))

    # --- offsets by name and by time

    def latest_offset(self, *, is_read_committed: bool) -> TimestampedOffset:
        offset = self.last_stable_offset if is_read_committed else self._high_watermark
        return TimestampedOffset(offset, -1, self.leader_epoch)

    def earliest_offset(self) -> TimestampedOffset:
        """Returns the log start offset and its leader epoch; for a log that was never written to, the leader's own epoch."""
        start = self.log.log_start_offset
        epoch = self.log.leader_epochs.epoch_for(start)
        return TimestampedOffset(start, -1, epoch if epoch != NO_EPOCH else self.leader_epoch)

    def is_visible(self, found: TimestampedOffset, *, is_read_committed: bool) -> bool:
        """Whether consumers may see the record at this offset."""
        upper_bound = self.last_stable_offset if is_read_committed else self._high_watermark
        return found.offset < upper_bound

    def epoch_end(self, epoch: int) -> EpochEnd:
        """Returns the end of leader epoch `epoch`, or of the one before it that wrote something; UNKNOWN_EPOCH beyond the leader's.

        The epochs of the log tell of those that wrote something; the leader's own begins where the log ends until it does.
        """
        end_offset = self.log.log_end_offset
        known = self.log.leader_epochs
        if known.latest_epoch < epoch <= self.leader_epoch:
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
