"""Opens the files of a partition directory and brings them into a state that can be read and appended to."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from millstream.errors import KafkaError
from millstream.log.cut_notes import CutNotes
from millstream.log.directory.interrupted_changes import finish_interrupted_changes
from millstream.log.directory.log_environment import LogEnvironment, SavedState
from millstream.log.directory.recovery import (
    Recovery,
    agrees_with_batches,
    rebuild_epochs,
    recover_segments,
)
from millstream.log.directory.segment_check import (
    check_log_files,
    check_log_is_there,
    check_something_is_left,
    damaged_log,
    distrusted_indexes,
    is_snapshot_of,
)
from millstream.log.leader_epochs import LeaderEpochs
from millstream.log.log_state import LogState, Repairs
from millstream.log.producers.producer_state import ProducerStates
from millstream.log.producers.replay import deepen_producers, restore_producers
from millstream.log.producers.snapshots import ProducerSnapshots, SnapshotCheck
from millstream.log.segments.files import LOG_SUFFIX, offset_of
from millstream.log.segments.segment import Segment, SegmentLimits
from millstream.log.segments.segments import Segments
from millstream.log.truncation import discard_segments, start_over
from millstream.metadata.topic_config import LogConfig


def new_log(directory: str, environment: LogEnvironment, config: LogConfig) -> LogState:
    """Returns the state of a log that has nothing on the disk yet."""
    file_system = environment.file_system
    segment = Segment(file_system, directory, 0, SegmentLimits.of(config), exists=False)
    return LogState(
        segments=Segments([segment]),
        producers=ProducerStates(environment.producers),
        leader_epochs=LeaderEpochs(file_system, directory),
        snapshots=ProducerSnapshots(file_system, directory, ()),
        cut_notes=CutNotes(file_system, directory, ()),
        log_start_offset=0,
        log_end_offset=0,
        recovery_point=0,
        may_lack_names=True,
    )


def load_log(
    directory: str, environment: LogEnvironment, config: LogConfig, saved: SavedState
) -> LogState:
    """Loads a partition's log. Raises OSError when the disk refuses, DamagedFile when records are missing."""
    file_system = environment.file_system
    file_system.make_directory(directory)
    names = finish_interrupted_changes(file_system, directory)
    cut_notes = CutNotes(file_system, directory, names)
    saved = cut_notes.limited(saved)
    limits = SegmentLimits.of(config)

    def new_segment(base_offset: int) -> Segment:
        return Segment(file_system, directory, base_offset, limits)

    bases = [o for name in names if (o := offset_of(name, LOG_SUFFIX)) is not None]
    check_log_is_there(directory, bases, saved)
    marks = {mark.base_offset: mark for mark in saved.marks}
    segments = Segments(
        Segment(file_system, directory, base, limits, mark=marks.get(base))
        for base in bases or [saved.log_start_offset]
    )
    may_have_gaps = _may_have_gaps(config, saved)
    check_log_files(directory, segments, saved, may_have_gaps=may_have_gaps)
    epochs = LeaderEpochs(file_system, directory)
    epochs_in_file = epochs.entries
    recovery = _recover(segments, epochs, saved, may_have_gaps=may_have_gaps)
    check_something_is_left(directory, segments.first.base_offset, recovery.end_offset, saved)
    discard_segments(segments, recovery.dropped)
    log_start_offset = max(saved.log_start_offset, segments.first.base_offset)
    loaded = LogState(
        segments=segments,
        producers=ProducerStates(environment.producers),
        leader_epochs=epochs,
        snapshots=ProducerSnapshots(file_system, directory, names),
        cut_notes=cut_notes,
        log_start_offset=log_start_offset,
        log_end_offset=recovery.end_offset,
        recovery_point=min(saved.recovery_point, recovery.end_offset),
        cleaner_checkpoint=_within(saved.cleaner_checkpoint, recovery.end_offset),
        may_lack_names=not saved.was_clean or recovery.end_offset == segments.first.base_offset,
        repairs=Repairs(
            recovery.removed_bytes,
            max(0, max(saved.recovery_point, saved.synced_to) - recovery.end_offset),
        ),
    )
    if log_start_offset > recovery.end_offset:
        for segment in start_over(loaded, log_start_offset, new_segment):
            segment.remove()
    epochs.truncate_from_end(loaded.log_end_offset)
    was_read_whole = segments.first in recovery.recovered
    is_known = (was_read_whole or bool(epochs_in_file)) and not epochs.is_contradicted
    if not (is_known and agrees_with_batches(epochs, loaded.segments.active)):
        rebuild_epochs(epochs, loaded.segments, file_system)
    epochs.truncate_from_start(loaded.log_start_offset)
    epochs.note_durable_start(loaded.log_start_offset)
    _load_producers(loaded, names, recovery, may_have_gaps=may_have_gaps)
    _sync_what_no_flush_has(loaded, recovery, saved)
    for segment in loaded.segments:
        segment.release()
    return loaded


def _may_have_gaps(config: LogConfig, saved: SavedState) -> bool:
    """Whether segments may lack their last records: the topic is compacted, or was so in Kafka, whose cleaner leaves
    gaps between segments, and ours does not.
    """
    was_cleaned_by_kafka = saved.cleaner_checkpoint is not None and not saved.marks
    return config.is_compacted or was_cleaned_by_kafka


def _within(cleaner_checkpoint: int | None, end_offset: int) -> int | None:
    """What is written at offsets that recovery has cut off was never cleaned."""
    return None if cleaner_checkpoint is None else min(cleaner_checkpoint, end_offset)


def _recover(
    segments: Segments, epochs: LeaderEpochs, saved: SavedState, *, may_have_gaps: bool
) -> Recovery:
    active = segments.active
    if saved.was_clean:
        try:
            end_offset, end = active.scan_end()
        except KafkaError as error:
            raise damaged_log(active.directory, active.base_offset, error) from error
        if end == active.size_bytes:
            return Recovery(end_offset, (), (), removed_bytes=0)
    recovery_point = saved.recovery_point
    if saved.was_clean:
        recovery_point = min(recovery_point, active.base_offset)
    elif not saved.marks:
        # A roll writes the transaction index of the segment that ends there; the flush after it was perhaps not reached, and no mark tells.
        recovery_point = max(0, recovery_point - 1)
    return recover_segments(segments, epochs, recovery_point, may_have_gaps=may_have_gaps)


def _load_producers(
    loaded: LogState, names: Collection[str], recovery: Recovery, *, may_have_gaps: bool
) -> None:
    """The newest snapshot, and the log after it, which no cleaning has touched: a marker that was cleaned away would
    leave its transaction open.
    """
    recovered = [segment for segment in recovery.recovered if segment in list(loaded.segments)]
    is_of_log = partial(is_snapshot_of, loaded.segments, may_have_gaps=may_have_gaps)
    loaded.snapshots.remove_after(loaded.log_end_offset)
    distrusted = distrusted_indexes(loaded.segments, names, recovered)
    _rebuild_transaction_indexes(loaded, [*recovered, *distrusted], is_of_log)
    for segment in distrusted:
        segment.transaction_index.create(segment.transaction_index.entries())
    loaded.repairs = loaded.repairs._replace(
        rebuilt_indexes=tuple(segment.base_offset for segment in distrusted)
    )
    if restore_producers(
        loaded.producers,
        loaded.snapshots,
        loaded.segments,
        loaded.log_end_offset,
        is_of_log=is_of_log,
    ):
        deepen_producers(loaded.producers, recovered or [loaded.segments.active])
    loaded.snapshots.remove_strays(segment.base_offset for segment in loaded.segments)


def _rebuild_transaction_indexes(
    loaded: LogState, rebuilt: Collection[Segment], is_of_log: SnapshotCheck
) -> None:
    """Segments that were recovered or whose index cannot be trusted are replayed whole, from a snapshot before them:
    their markers count anew.
    """
    if not rebuilt:
        return
    bases = [segment.base_offset for segment in rebuilt]
    up_to_last = Segments(s for s in loaded.segments if s.base_offset <= max(bases))
    restore_producers(
        ProducerStates(),
        loaded.snapshots,
        up_to_last,
        min(bases),
        rebuilt=rebuilt,
        is_of_log=is_of_log,
    )


def _sync_what_no_flush_has(loaded: LogState, recovery: Recovery, saved: SavedState) -> None:
    """Puts the indexes that recovery has built on the disk, but for the active segment's, which are
    written when it is sealed, and the newest snapshot that a killed process has left.

    The next flush moves the recovery point beyond these segments: a later crash would find their old indexes,
    or torn ones, and trust them.
    """
    if not saved.was_clean:
        loaded.snapshots.sync_newest_after(saved.recovery_point)
    for segment in loaded.segments:
        if segment in recovery.recovered and segment is not loaded.segments.active:
            for file in segment.seal():
                file.sync()
                file.close()
