"""Bugs of replication, put in by a patch, with the scenario that finds each: those of Kafka's history, and those that its rules are there for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from millstream.broker.coordination.coordinator_partition import CoordinatorPartition
from millstream.broker.replication.replica_fetcher import FetcherServices, ReplicaFetcher
from millstream.broker.storage import replica_moves
from millstream.broker.storage.durability import Durability
from millstream.broker.storage.replica_moves import ReplicaMoves
from millstream.broker.transactions.markers import TransactionMarkers
from millstream.controller.brokers import registration
from millstream.controller.partitions import leadership
from millstream.controller.partitions.partition_change import PartitionTarget, _Change
from millstream.coordinator.runtime import CoordinatorRuntime
from millstream.log import partition_log
from millstream.log.append_check import whole_batches as true_batches
from millstream.log.directory import log_loader
from millstream.log.directory.log_directory import LogDirectory
from millstream.log.directory.text_checkpoints import encode_epochs
from millstream.log.leader_epochs import EpochsWrite
from millstream.log.partition_log import PartitionLog
from millstream.log.producers.producer_state import ProducerStates
from millstream.log.segments.unsynced_file import write_unsynced
from millstream.replication.followers import Followers
from millstream.replication.isr import InSyncReplicas
from millstream.replication.partition import Partition

Patch = pytest.MonkeyPatch


def an_unclean_stop_is_not_told(patch: Patch) -> None:
    def restarted(changes: Any, broker_id: Any, *, is_clean: bool) -> Any:
        del is_clean
        return true_restarted(changes, broker_id, is_clean=True)

    true_restarted = leadership.plan_broker_restarted
    patch.setattr(registration, "plan_broker_restarted", restarted)


def an_unclean_replica_stays_eligible(patch: Patch) -> None:
    def begin(change: Any, before: Any, target: PartitionTarget, rules: Any) -> None:
        true_begin(change, before, replace(target, unclean_replicas=()), rules)

    true_begin = _Change.__init__
    patch.setattr(_Change, "__init__", begin)


def ends_are_kept_over_epochs(patch: Patch) -> None:
    def begin_epoch(followers: Followers, end_offset: int) -> None:
        followers.epoch_start_offset = end_offset

    patch.setattr(Followers, "begin_epoch", begin_epoch)
    patch.setattr(Followers, "clear", lambda followers: None)


def acknowledged_without_the_epoch(patch: Patch) -> None:
    patch.setattr(Partition, "has_led_since", lambda partition, epoch: True)


def the_mark_counts_the_committed_isr(patch: Patch) -> None:
    def high_watermark(followers: Followers, end_offset: int, now_ms: int) -> int:
        maximal, followers.isr.maximal = followers.isr.maximal, followers.isr.committed
        try:
            return true_mark(followers, end_offset, now_ms)
        finally:
            followers.isr.maximal = maximal

    true_mark = Followers.high_watermark
    patch.setattr(Followers, "high_watermark", high_watermark)


def the_mark_rises_with_too_few_in_sync(patch: Patch) -> None:
    def advance(partition: Partition, now: Any) -> bool:
        with pytest.MonkeyPatch.context() as inside:
            inside.setattr(Partition, "is_short_of_replicas", False)
            return true_advance(partition, now)

    true_advance = Partition._advance_high_watermark
    patch.setattr(Partition, "_advance_high_watermark", advance)


def the_isr_changes_before_the_controller_knows(patch: Patch) -> None:
    def set_maximal(isr: InSyncReplicas) -> None:
        pending = isr.pending
        isr.maximal = isr.committed if pending is None else tuple(each for each, _ in pending.isr)

    patch.setattr(InSyncReplicas, "_set_maximal", set_maximal)


def an_older_image_counts_after_an_answer(patch: Patch) -> None:
    def adopt(isr: InSyncReplicas, image: Any) -> bool:
        if image.leader_epoch == isr.leader_epoch:
            isr.partition_epoch = min(isr.partition_epoch, image.partition_epoch)
        return true_adopt(isr, image)

    true_adopt = InSyncReplicas.adopt
    patch.setattr(InSyncReplicas, "adopt", adopt)


def old_epochs_are_answered(patch: Patch) -> None:
    """A leader reads for whoever asks, in whatever epoch: as files that are sent after the check, and were cut and written to meanwhile."""

    def read_as_replica(partition: Partition, position: Any, *more: Any, **named: Any) -> Any:
        if partition.is_leader and -1 < position.current_leader_epoch < partition.leader_epoch:
            blind = replace(position, current_leader_epoch=-1, last_fetched_epoch=-1)
            return true_read(partition, blind, *more, **named)
        return true_read(partition, position, *more, **named)

    true_read = Partition.read_as_replica
    patch.setattr(Partition, "read_as_replica", read_as_replica)


def batches_of_newer_epochs_are_appended(patch: Patch) -> None:
    def whole_batches(records: Any, log_end_offset: Any, newest: Any = None, **named: Any) -> Any:
        del newest
        return true_batches(records, log_end_offset, None, **named)

    old_epochs_are_answered(patch)
    patch.setattr(partition_log, "whole_batches", whole_batches)


def an_ineligible_follower_holds_the_mark(patch: Patch) -> None:
    """And whoever has left the ISR is not forgotten, which would end it, too."""

    def assign(followers: Followers, replicas: Any, now_ms: int, had_in_sync: Any = ()) -> None:
        del had_in_sync
        true_assign(followers, replicas, now_ms)

    def high_watermark(followers: Followers, end_offset: int, now_ms: int) -> int:
        lag_max_ms = followers._rules.lag_max_ms
        ends = [
            each.end_offset
            for broker_id, each in followers.progress.items()
            if broker_id in followers.isr.maximal
            or each.is_caught_up(end_offset, now_ms, lag_max_ms)
        ]
        return min(ends, default=end_offset)

    true_assign = Followers.assign
    patch.setattr(Followers, "assign", assign)
    patch.setattr(Followers, "high_watermark", high_watermark)


def ends_are_told_by_a_leader_that_does_not_know(patch: Patch) -> None:
    patch.setattr(Partition, "check_offsets_are_available", lambda partition: None)


def what_was_loaded_counts_as_committed(patch: Patch) -> None:
    def finish(self: Any, end_offset: Any, now: Any, committed: Any) -> None:
        del committed
        true_finish(self, end_offset, now, end_offset)

    true_finish = CoordinatorRuntime.finish_loading
    patch.setattr(CoordinatorRuntime, "finish_loading", finish)


def late_markers_count(patch: Patch) -> None:
    patch.setattr(ProducerStates, "check_marker", lambda states, marker: None)


def markers_are_told_before_they_are_replicated(patch: Patch) -> None:
    class Told:
        is_safe = True

    def append(self: TransactionMarkers, name: Any, marker: Any) -> Any:
        with pytest.MonkeyPatch.context() as inside:
            inside.setattr(Durability, "written", lambda *_: Told())
            return true_append(self, name, marker)

    true_append = TransactionMarkers._append
    patch.setattr(TransactionMarkers, "_append", append)


def coordinators_answer_before_their_records_are_replicated(patch: Patch) -> None:
    async def at_once(self: CoordinatorPartition[Any], end_offset: int) -> None:
        del end_offset

    patch.setattr(CoordinatorPartition, "_wait_until_safe", at_once)


def directories_are_closed_without_a_flush(patch: Patch) -> None:
    """They are marked as closed in order all the same."""
    patch.setattr(PartitionLog, "flush", lambda log, now: None)


def epochs_are_written_without_a_sync(patch: Patch) -> None:
    """KAFKA-16541, with a loader that trusts the file."""

    def write(self: EpochsWrite, file_system: Any) -> None:
        write_unsynced(file_system, self.path, encode_epochs(self.entries))

    patch.setattr(EpochsWrite, "write", write)
    patch.setattr(log_loader, "rebuild_epochs", lambda *_: None)


def a_divergence_is_never_cut(patch: Patch) -> None:
    patch.setattr(Partition, "plan_divergence_cut", lambda *_: None)


def followers_say_what_is_on_no_disk(patch: Patch) -> None:
    """`millstream.flush.on.ack=always` is the leader's alone."""
    true_init = ReplicaFetcher.__init__

    def init(
        self: ReplicaFetcher, leader: Any, services: FetcherServices, *more: Any, **named: Any
    ) -> None:
        true_init(self, leader, replace(services, syncs_first=lambda: False), *more, **named)

    patch.setattr(ReplicaFetcher, "__init__", init)


def a_copy_takes_over_before_it_has_caught_up(patch: Patch) -> None:
    def take_over(moves: ReplicaMoves, hosted: Partition, future: Any, target: Any) -> bool:
        source, now = moves._directories.of(hosted.log), moves._clock.now()
        target.adopt_future_log(future)
        hosted.log = future
        moves._on_moved(hosted, target)
        source.delete_log(hosted.topic_partition, now, is_synced=True)
        return True

    patch.setattr(ReplicaMoves, "_take_over", take_over)


def a_log_leaves_before_its_copy_has_the_name(patch: Patch) -> None:
    """Whoever is killed in between finds neither at the next start."""

    def take_over(moves: ReplicaMoves, *more: Any) -> bool:
        adopted = []
        with pytest.MonkeyPatch.context() as inside:
            inside.setattr(LogDirectory, "adopt_future_log", lambda *each: adopted.append(each))
            has_taken_over = true_take_over(moves, *more)
        for each in adopted:
            true_adopt(*each)
        return has_taken_over

    true_adopt, true_take_over = LogDirectory.adopt_future_log, ReplicaMoves._take_over
    patch.setattr(ReplicaMoves, "_take_over", take_over)


def a_copy_does_not_hear_of_cuts(patch: Patch) -> None:
    patch.setattr(replica_moves, "follow_truncation", lambda *_: None)
