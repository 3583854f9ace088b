"""The log of one partition: append, read, roll, flush, truncate, delete. Everything of it on disk is Kafka's format.

One task owns a log; nothing here locks. Produced batches are appended as the bytes they came as, with offset and leader
epoch patched in place; reads give ranges of files. Does not know the high watermark: callers that read or delete pass the
offset that must not be crossed.

After a failed write the log is as it was before it. After a failed sync, or when a failed write could not be taken back,
the log refuses everything: what the disk holds is no longer known.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NoReturn, Self, final

from millstream.errors import CorruptMessage, KafkaStorageError, OffsetOutOfRange
from millstream.log.append_check import AppendOrigin, CheckedBatches, checked_batches, whole_batches
from millstream.log.append_info import NO_OFFSET, AppendInfo
from millstream.log.compaction.compaction import CleanedSegment, swap_in
from millstream.log.compaction.plan import CompactionBounds, CompactionPlan, plan_compaction
from millstream.log.directory.log_environment import LogEnvironment, SavedState, is_beyond_one_log
from millstream.log.directory.log_loader import load_log
from millstream.log.flush_plan import FlushPlan
from millstream.log.log_health import LogHealth
from millstream.log.log_reader import (
    FetchData,
    aborted_among,
    aborted_transactions,
    read_batches,
    readable_bytes,
)
from millstream.log.log_state import LogState, Repairs
from millstream.log.offset_order import OrderedOffsets, offsets_of
from millstream.log.producers.replay import aborted_entry, read_transaction_end
from millstream.log.retention import DeletedSegments, LogOffsets, plan_retention
from millstream.log.roll_policy import RollPolicy
from millstream.log.segments.segment import Segment, SegmentLimits
from millstream.log.segments.transaction_index import AbortedTransaction
from millstream.log.timestamp_lookup import TimeSearch, max_timestamp_searches, timestamp_searches
from millstream.log.truncation import CutGround, CutUnderWay, LogCuts, drop_segments
from millstream.log.unflushed import Unflushed
from millstream.metadata.topic_config import LogConfig
from millstream.model import TopicPartition
from millstream.records.batch import BatchHeader, patch_offset_and_epoch
from millstream.runtime import Instant

if TYPE_CHECKING:
    from millstream.log.verification import Damage, VerificationPlan


@final
class PartitionLog:
    """Public offsets are plain ints. Errors: KafkaError classes; a disk that fails is KafkaStorageError."""

    def __init__(
        self,
        partition: TopicPartition,
        directory: str,
        environment: LogEnvironment,
        config: LogConfig,
        *,
        state: LogState,
        now: Instant,
        make_directory: Callable[[], None] | None = None,
    ) -> None:
        """Use `open`. `make_directory`: nothing is on the disk yet, and `materialize` calls it first; it may raise OSError."""
        self.partition = partition
        self.directory = directory
        self.leader_epochs = state.leader_epochs
        self.cut_notes = state.cut_notes
        self.producers = state.producers
        self._config = config
        self._environment = environment
        self._state = state
        created_in = (directory, posixpath.dirname(directory)) if state.may_lack_names else ()
        self._unflushed = Unflushed(created_in, now)
        self._deleted = DeletedSegments()
        self._rolling = RollPolicy(environment.random)
        self._health = LogHealth(partition, directory, environment)
        self._make_directory = make_directory
        self._cut_under_way = CutUnderWay()
        self.is_closed = False
        """Cleanly: everything of it is on the disk."""
        self._begin_active(now)

    @classmethod
    def open(
        cls,
        partition: TopicPartition,
        directory: str,
        environment: LogEnvironment,
        config: LogConfig,
        *,
        saved: SavedState,
        now: Instant,
    ) -> Self:
        """Creates the directory or loads it; recovers it when `saved.was_clean` is false.

        Raises OSError when the disk refuses.
        """
        state = load_log(directory, environment, config, saved)
        return cls(partition, directory, environment, config, state=state, now=now)

    # --- what it is

    @property
    def config(self) -> LogConfig:
        return self._config

    @property
    def log_start_offset(self) -> int:
        return self._state.log_start_offset

    @property
    def log_end_offset(self) -> int:
        """The offset the next record gets."""
        return self._state.log_end_offset

    @property
    def recovery_point(self) -> int:
        """The offset below which every record is on the disk."""
        return self._state.recovery_point

    @property
    def first_segment_offset(self) -> int:
        return self._state.segments.first.base_offset

    @property
    def size_bytes(self) -> int:
        return self._state.segments.size_bytes

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The segments, for tools and tests."""
        return tuple(self._state.segments)

    @property
    def repairs(self) -> Repairs:
        return self._state.repairs

    @property
    def health(self) -> LogHealth:
        """The health of the log, which says why it refuses everything, if it does."""
        return self._health

    def last_stable_offset(self, high_watermark: int) -> int:
        """Returns the offset where a reader at read_committed must stop: the first record of an open transaction, or the high watermark.

        Never before the log start: an open transaction may have lost its first records to retention or DeleteRecords.
        """
        self.producers.on_high_watermark_updated(high_watermark)
        unstable = self.producers.first_unstable_offset
        if unstable is None or unstable >= high_watermark:
            return high_watermark
        return max(unstable, self._state.log_start_offset)

    def offsets(self, high_watermark: int) -> OrderedOffsets:
        """Returns all offsets of the partition, for `check_order`."""
        return offsets_of(self._state, self.last_stable_offset(high_watermark), high_watermark)

    @property
    def is_on_disk(self) -> bool:
        """Whether the log has its directory and files; a new log has none."""
        return self._make_directory is None

    def materialize(self) -> None:
        """Makes directory and files of a new log, once. The first append does it too. Raises KafkaStorageError."""
        if self._make_directory is None:
            return
        self._health.check()
        try:
            self._make_directory()
            self._state.segments.active.create_file()
            self.leader_epochs.create_file()
        except OSError as error:
            raise self._health.error("begin", error) from error
        self._make_directory = None

    def update_config(self, config: LogConfig) -> None:
        self._config = config
        self._state.segments.active.limits = SegmentLimits.of(config)

    # --- append

    def append_as_leader(
        self,
        records: memoryview,
        leader_epoch: int,
        now: Instant,
        origin: AppendOrigin = AppendOrigin.CLIENT,
    ) -> AppendInfo:
        """Gives the batches in `records` their offsets and appends them, all or none.

        `records` must be writable and belongs to the log from now on. Raises CorruptMessage, InvalidRecord,
        InvalidTimestamp, MessageTooLarge, RecordListTooLarge, UnsupportedCompressionType, OutOfOrderSequenceNumber,
        InvalidProducerEpoch, KafkaStorageError.
        """
        batches = checked_batches(records, self._config, now, origin)
        return self.append_checked(batches, leader_epoch, now, origin)

    def append_checked(
        self,
        batches: CheckedBatches,
        leader_epoch: int,
        now: Instant,
        origin: AppendOrigin = AppendOrigin.CLIENT,
    ) -> AppendInfo:
        """Appends batches that were checked, all or none.

        Raises OutOfOrderSequenceNumber, InvalidProducerEpoch, KafkaStorageError.
        """
        self._health.check_appendable()
        if origin is AppendOrigin.CLIENT:
            duplicate = self.producers.find_duplicate(batches.headers)
            if duplicate is not None:
                first, last = duplicate.first_offset, duplicate.last_offset
                return AppendInfo(first, last, duplicate.timestamp_ms, is_duplicate=True)
            self.producers.check_append(batches.headers, now.wall_ms)
        first_offset = offset = self._state.log_end_offset
        for header, view in zip(batches.headers, batches.views, strict=True):
            patch_offset_and_epoch(view, offset, leader_epoch)
            header.base_offset, header.partition_leader_epoch = offset, leader_epoch
            offset = header.next_offset
        self._write(batches, now)
        return AppendInfo(first_offset, offset - 1, batches.append_time_ms)

    def append_as_follower(
        self, records: memoryview, now: Instant, *, leader_epoch_max: int | None = None
    ) -> AppendInfo:
        """Appends batches that a leader has numbered, as they are, up to the first one of an epoch above `leader_epoch_max`.

        An answer of a leader is cut at a number of bytes, so a last batch that is not whole is left out. Without a whole batch
        nothing is written, and both offsets are NO_OFFSET. A log without records starts over where a first batch begins that
        holds its end: the leader's log begins inside of that batch. Raises CorruptMessage, OffsetOutOfRange, KafkaStorageError.
        """
        self._health.check_appendable()
        start, end = self._state.log_start_offset, self._state.log_end_offset
        batches = whole_batches(records, end, leader_epoch_max, is_empty=start == end)
        if not batches.headers:
            return AppendInfo(NO_OFFSET, NO_OFFSET)
        if batches.headers[0].base_offset < end:
            self.truncate_fully_and_start_at(batches.headers[0].base_offset, now)
            self._write(batches, now)
            self.delete_records_before(start)  # what was deleted stays deleted
        else:
            self._write(batches, now)
        return AppendInfo(batches.headers[0].base_offset, batches.headers[-1].last_offset)

    def _write(self, batches: CheckedBatches, now: Instant) -> None:
        headers = batches.headers
        self.materialize()
        try:
            self._maybe_roll(batches, now)
            self._append_to_active(batches)
        except OSError as error:
            raise self._health.error("append to", error) from error
        except CorruptMessage as corrupt:
            # Not of the producer's batch: of what the active segment holds.
            raise KafkaStorageError(str(corrupt)) from corrupt
        for header in headers:  # what a full disk has refused began no epoch
            if header.partition_leader_epoch > self.leader_epochs.latest_epoch:
                self.leader_epochs.assign(header.partition_leader_epoch, header.base_offset)
        first_offset = self._state.log_end_offset
        self._state.log_end_offset = headers[-1].next_offset
        self._unflushed.note_append(first_offset, self._state, self._config)
        for header, view in zip(headers, batches.views, strict=True):
            if header.producer_id >= 0:
                self._follow_producer(header, view)

    def _append_to_active(self, batches: CheckedBatches) -> None:
        active = self._state.segments.active
        size = active.size_bytes
        try:
            active.append(batches.buffers, batches.headers)
        except OSError as error:
            try:
                active.cut_back(size)
            except OSError as second:
                self._health.fail(
                    f"a failed append could not be taken back ({second}) after: {error}"
                )
            raise

    def _follow_producer(self, header: BatchHeader, view: memoryview) -> None:
        aborted = aborted_entry(self.producers.apply(header, read_transaction_end(header, view)))
        if aborted is not None:
            self._state.segments.active.transaction_index.append(aborted)

    # --- roll

    def _maybe_roll(self, batches: CheckedBatches, now: Instant) -> None:
        headers = batches.headers
        timestamp_ms = headers[0].max_timestamp
        for header in headers:
            timestamp_ms = max(timestamp_ms, header.max_timestamp)
        active = self._state.segments.active
        active.prepare_indexes()
        if active.is_full_for(
            batches.size_bytes, headers[-1].last_offset
        ) or self._rolling.is_too_old(
            self._config, active.load_first_timestamp(), timestamp_ms, now
        ):
            self.roll(now)

    def roll(self, now: Instant) -> None:
        """Seals the active segment and begins one at the end of the log; does nothing while the active one is empty."""
        if self._state.segments.active.size_bytes == 0:
            return
        self._seal_active()
        self._state.segments.add(self._new_segment(self._state.log_end_offset))
        self._unflushed.add_directory(self.directory)
        self._begin_active(now)

    def _begin_active(self, now: Instant) -> None:
        self._rolling.begin(self._config, now)

    def _seal_active(self) -> None:
        """Completes the indexes of the active segment and writes the snapshot of producers at its end; the next flush syncs them."""
        self._unflushed.add_sealed(self._state.segments.active.seal())
        snapshot = self._state.snapshots.write(self.log_end_offset, self.producers.snapshot())
        self._unflushed.add_sealed(snapshot)

    # --- read

    def read(
        self, offset: int, bytes_max: int, upper_bound: int, *, min_one_batch: bool = True
    ) -> FetchData:
        """Reads whole batches from the one that holds `offset`, none of which reaches `upper_bound`.

        At most `bytes_max` bytes, unless `min_one_batch` and the first batch is larger. Raises OffsetOutOfRange, CorruptMessage, KafkaStorageError.
        """
        self._health.check()
        if not self._state.log_start_offset <= offset <= self._state.log_end_offset:
            raise OffsetOutOfRange(
                f"offset {offset} of {self.partition} is not between {self._state.log_start_offset} and {self._state.log_end_offset}"
            )
        try:
            return read_batches(
                self._state, offset, bytes_max, upper_bound, min_one_batch=min_one_batch
            )
        except OSError as error:
            raise self._health.error("read", error) from error

    def readable_bytes(self, offset: int, upper_bound: int) -> int:
        """Returns the bytes that a reader at `offset` could get, at least up to the end of its segment. For fetch.min.bytes."""
        try:
            return readable_bytes(self._state, offset, upper_bound)
        except OSError as error:
            raise self._health.error("read", error) from error

    def timestamp_searches(self, timestamp_ms: int) -> Iterator[TimeSearch]:
        """Searches for the first record whose timestamp is `timestamp_ms` or later. Raises KafkaStorageError, also later."""
        return self._health.guarded("read", timestamp_searches(self._state, timestamp_ms))

    def max_timestamp_searches(self) -> Iterator[TimeSearch]:
        """Searches for the record with the largest timestamp. Raises KafkaStorageError, also later."""
        return self._health.guarded("read", max_timestamp_searches(self._state))

    def aborted_transactions(self, first_offset: int, end_offset: int) -> list[AbortedTransaction]:
        """Returns the aborted transactions with records in [first_offset, end_offset). Raises KafkaStorageError."""
        return self._health.guard(
            "read", lambda: aborted_transactions(self._state, first_offset, end_offset)
        )

    def aborted_among(self, read: FetchData) -> list[AbortedTransaction]:
        """Returns the aborted transactions that may have records in what was read, and none that begin beyond it. Raises KafkaStorageError."""
        return self._health.guard("read", lambda: aborted_among(self._state, read))

    # --- flush

    def must_flush(self, end_offset: int) -> bool:
        """Whether the records before `end_offset` must be on the disk before they are acknowledged (flush.messages)."""
        return self._state.recovery_point < end_offset <= self._unflushed.wanted_to

    def flush_is_overdue(self, now: Instant) -> bool:
        """Whether flush.ms of the topic has passed since the last flush."""
        return self._unflushed.is_overdue(self._state, self._config, now)

    @property
    def has_unflushed_segments(self) -> bool:
        """Whether a segment was rolled since the last flush."""
        return self._unflushed.lacks_segments(self._state)

    def plan_flush(self) -> FlushPlan | None:
        """Returns a plan that syncs all that is written now; None when it is on the disk already. Raises KafkaStorageError."""
        self._health.check()
        return self._unflushed.take_plan(self._state, self._environment.file_system)

    def complete_flush(self, plan: FlushPlan, now: Instant) -> None:
        """Moves the recovery point after `plan.sync()` returned (not beyond a truncation that came in between)."""
        plan.close()
        self._unflushed.complete(plan, self._state, now)

    def fail_flush(self, plan: FlushPlan, error: OSError) -> NoReturn:
        """Makes the log refuse everything after `plan.sync()` raised. Raises KafkaStorageError.

        Of a log that is out of use by now, as one whose topic was deleted, it says nothing about the disk: the files have moved.
        """
        plan.close()
        self._health.check()
        self._health.fail(
            f"the disk failed to sync it ({error.strerror or error}); restart the broker to recover the log"
        )
        self._environment.on_broken_disk(error)
        raise KafkaStorageError(self._health.failure) from error

    def flush(self, now: Instant) -> None:
        """Plan, sync and complete in one blocking call, for shutdown and for callers that own their thread."""
        plan = self.plan_flush()
        if plan is not None:
            try:
                plan.sync()
            except OSError as error:
                self.fail_flush(plan, error)
            self.complete_flush(plan, now)

    # --- truncate and delete

    @property
    def cuts(self) -> LogCuts:
        """The cuts of this log. Made for each use: kept, the two would hold each other until the garbage collector comes."""
        files = self._environment.file_system
        ground = CutGround(self._state, self._health, files, self._new_segment_without_file)
        prepare, on_complete = self.materialize, self._begin_active
        return LogCuts(
            ground, self._deleted, self._cut_under_way, prepare=prepare, on_complete=on_complete
        )

    def truncate_to(self, offset: int, now: Instant) -> None:
        """Removes the records at and after `offset`, and the whole batch when `offset` lies inside one. Raises KafkaStorageError.

        Waits for the disk: a loop goes the way of `cuts`, in steps.
        """
        self.cuts.make(self.cuts.plan(offset), now)

    def truncate_fully_and_start_at(self, offset: int, now: Instant) -> None:
        """Removes everything; the log is empty and begins at `offset`. Raises KafkaStorageError. Waits for the disk."""
        self.cuts.make(self.cuts.plan(offset, is_whole=True), now)

    # --- damage

    def plan_verification(
        self, first_offset: int = 0, end_offset: int | None = None
    ) -> VerificationPlan:
        """Returns a plan to read the batches from `first_offset` to `end_offset` and compare their checksums. Raises KafkaStorageError."""
        # Here, not above: a log that is empty is not read, so a new node starts without it.
        from millstream.log.verification import VerificationPlan

        disk, offsets = self._environment.file_system, (first_offset, end_offset)
        return self._health.guard("read", lambda: VerificationPlan.of(self._state, disk, *offsets))

    def first_damage(self, plan: VerificationPlan) -> Damage | None:
        """Returns the damage that `plan` has found, if it is there still. Raises KafkaStorageError."""
        return self._health.guard("read", lambda: plan.damage_in(self._state))

    @property
    def lacks_records(self) -> bool:
        """Whether records were cut away as damaged that have not come back from a leader: the log has not reached its former end.

        Then the replica is not clean: a leader must leave the in-sync replicas, a follower fetches anew.
        """
        return self._state.log_end_offset < self._state.lost_to

    def delete_records_before(self, offset: int) -> None:
        """Moves the log start offset; the files follow with the next `maintain`. The caller knows the high watermark.

        Raises OffsetOutOfRange beyond the end of the log.
        """
        self._health.check()
        if offset > self._state.log_end_offset:
            raise OffsetOutOfRange(
                f"records before {offset} cannot be deleted, {self.partition} ends at {self._state.log_end_offset}"
            )
        if offset > self._state.log_start_offset:
            self._state.log_start_offset = offset
            self.leader_epochs.truncate_from_start(offset)

    def maintain(self, upper_bound: int, now: Instant) -> int:
        """Applies retention. Nothing from `upper_bound` on is deleted.

        Returns the number of segments that left the log; none, until the next time, while it is being cut. Raises KafkaStorageError.
        """
        self._health.check()
        if self._health.is_being_cut:
            return 0
        try:
            state = self._state
            offsets = LogOffsets(state.log_start_offset, state.log_end_offset, upper_bound)
            planned = plan_retention(state.segments, self._config, offsets, now.wall_ms)
            if planned and planned[-1] is state.segments.active:
                self.roll(now)
            due_ms = now.monotonic_ms + self._config.file_delete_delay_ms
            drop_segments(state, planned, self._deleted, due_ms)
            return len(planned)
        except OSError as error:
            raise self._health.error("clean up", error) from error

    def remove_expired_producers(self, now: Instant) -> None:
        """Forgets producers that wrote nothing for producer.id.expiration.ms."""
        self.producers.remove_expired(now.wall_ms, self._environment.producer_id_expiration_ms)

    def take_due_removals(self, now: Instant) -> list[Callable[[], None]]:
        """Files whose time has come, as functions that remove them; they touch nothing else and raise OSError."""
        return self._deleted.take_due(now.monotonic_ms)

    # --- compaction

    @property
    def cleaner_checkpoint(self) -> int | None:
        """The offset where the last cleaning ended; None when there was none."""
        return self._state.cleaner_checkpoint

    def plan_compaction(self, high_watermark: int, now: Instant) -> CompactionPlan | None:
        """Returns the plan of a cleaning that begins now; None when there is nothing to clean."""
        state = self._state
        upper_bound = self._unflushed.cleanable_to(state, self.last_stable_offset(high_watermark))
        bounds = CompactionBounds.of(state, upper_bound)
        return plan_compaction(state.segments, self._config, self.producers, bounds, now.wall_ms)

    def replace_segments(self, finished: CleanedSegment, now: Instant) -> bool:
        """Swaps a cleaned segment in. False, and it is removed, when a segment it was made of left the log or was cut meanwhile.

        Raises KafkaStorageError; the log then refuses everything until recovery has completed the swap.
        """
        self._health.check()
        try:
            was_cut = finished.cut_count != self._state.cut_count
            if was_cut or not set(finished.replaced) <= set(self._state.segments):
                finished.cleaned.remove()
                return False
            due_ms = now.monotonic_ms + self._config.file_delete_delay_ms
            swap_in(self._state, self._deleted, finished, due_ms)
        except OSError as error:
            self._health.fail(
                f"a cleaned segment could not be swapped in ({error.strerror or error})"
            )
            raise self._health.error("compact", error) from error
        return True

    def fail_compaction(self, error: OSError) -> None:
        """Handles an error of the disk in a cleaning, which changed nothing. A broken disk takes its directory offline."""
        if self._health.failure is None and is_beyond_one_log(error):
            self._environment.on_broken_disk(error)

    def complete_compaction(self, end_offset: int, cut_count: int | None = None) -> None:
        """Notes that a cleaning is done: the log is clean before `end_offset`, unless it was cut since its plan, which tells `cut_count`."""
        if cut_count in (None, self._state.cut_count):
            self._state.cleaner_checkpoint = min(end_offset, self._state.log_end_offset)

    # --- end

    def close(self, now: Instant) -> None:
        """Clean shutdown: indexes complete, producer snapshot at the end, everything synced. Raises KafkaStorageError."""
        self._health.check()
        try:
            self.cuts.settle(now)
            if self.is_on_disk:  # else nothing was written: the next start begins it again
                self._seal_active()
                self.flush(now)
                self._deleted.remove_all()
        except OSError as error:
            raise self._health.error("close", error) from error
        self.is_closed = True
        self.abandon()

    def update_directory(self, directory: str) -> None:
        """Follows a renamed directory; open files stay open."""
        self._unflushed.rename_directory(self.directory, directory)
        self.directory = self._health.directory = directory
        self._state.update_directory(directory)
        self._deleted.update_directory(directory)

    def retire(self, reason: str, *, is_gone: bool = False) -> None:
        """The log refuses everything from now on, but its files stay open for ranges that are being sent.

        `is_gone`: by the metadata, and no disk is at fault.
        """
        self._health.fail(reason, is_gone=is_gone)

    def abandon(self) -> None:
        """Closes the files as they are, for a log that failed or is deleted; the next start recovers it."""
        self._unflushed.close()
        self._deleted.close()
        for segment in self._state.segments:
            segment.close()
        self._health.failure = self._health.failure or f"the log of {self.partition} is closed"

    def _new_segment(self, base_offset: int) -> Segment:
        segment = self._new_segment_without_file(base_offset)
        segment.create_file()
        return segment

    def _new_segment_without_file(self, base_offset: int) -> Segment:
        limits, file_system = SegmentLimits.of(self._config), self._environment.file_system
        return Segment(file_system, self.directory, base_offset, limits, exists=False)
