"""Opens the files of a partition directory and brings them into a state that can be read and appended to."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.log.leader_epochs import LeaderEpochs
from millstream.log.log_environment import LogEnvironment, SavedState
from millstream.log.log_state import LogState
from millstream.log.producer_replay import deepen_producers, replay_producers
from millstream.log.producer_snapshots import ProducerSnapshots
from millstream.log.producer_state import ProducerState
from millstream.log.recovery import Recovery, rebuild_epochs, recover_segments
from millstream.log.segment import Segment, SegmentLimits
from millstream.log.segment_files import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SWAP_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    offset_of,
)
from millstream.log.segments import Segments
from millstream.log.truncation import discard_segments, start_over
from millstream.metadata.topic_config import LogConfig
from millstream.runtime import FileSystem


def segment_limits(config: LogConfig) -> SegmentLimits:
    return SegmentLimits(
        config.segment_bytes, config.segment_index_bytes, config.index_interval_bytes
    )


def load_log(
    directory: str, environment: LogEnvironment, config: LogConfig, saved: SavedState
) -> LogState:
    """Raises OSError when the disk refuses."""
    file_system = environment.file_system
    file_system.make_directory(directory)
    swapped = _finish_interrupted_changes(file_system, directory)
    limits = segment_limits(config)

    def new_segment(base_offset: int) -> Segment:
        return Segment(file_system, directory, base_offset, limits)

    bases = [
        o for name in file_system.list(directory) if (o := offset_of(name, LOG_SUFFIX)) is not None
    ]
    segments = Segments(
        Segment(file_system, directory, base, limits) for base in bases or [saved.log_start_offset]
    )
    _remove_replaced(segments, swapped)
    epochs = LeaderEpochs(file_system, directory)
    recovery = _recover(segments, epochs, config, saved)
    discard_segments(segments, recovery.dropped)
    log_start_offset = max(saved.log_start_offset, segments.first.base_offset)
    loaded = LogState(
        segments=segments,
        producers=ProducerState(),
        leader_epochs=epochs,
        snapshots=ProducerSnapshots(file_system, directory),
        log_start_offset=log_start_offset,
        log_end_offset=recovery.end_offset,
        recovery_point=min(saved.recovery_point, recovery.end_offset),
        removed_bytes=recovery.removed_bytes,
    )
    if log_start_offset > recovery.end_offset:
        start_over(loaded, log_start_offset, new_segment)
    epochs.truncate_from_end(loaded.log_end_offset)
    if not epochs.entries:
        rebuild_epochs(epochs, loaded.segments)
    _load_producers(loaded, recovery)
    return loaded


def _recover(
    segments: Segments, epochs: LeaderEpochs, config: LogConfig, saved: SavedState
) -> Recovery:
    active = segments.active
    if saved.was_clean:
        end_offset, end = active.scan_end()
        if end == active.size_bytes:
            return Recovery(end_offset, (), (), removed_bytes=0)
    recovery_point = (
        min(saved.recovery_point, active.base_offset) if saved.was_clean else saved.recovery_point
    )
    return recover_segments(segments, epochs, recovery_point, may_have_gaps=config.is_compacted)


def _load_producers(loaded: LogState, recovery: Recovery) -> None:
    """The newest snapshot, and the log after it. Recovered segments are replayed whole: their markers count anew."""
    recovered = [segment for segment in recovery.recovered if segment in list(loaded.segments)]
    newest = recovered[0].base_offset if recovered else loaded.log_end_offset
    loaded.snapshots.remove_after(loaded.log_end_offset)
    found = loaded.snapshots.load_latest(newest)
    start_offset = loaded.segments.first.base_offset
    if found is not None:
        start_offset = found[0]
        loaded.producers.restore(found[1])
    replay_producers(loaded.producers, loaded.segments, start_offset, recovered)
    if found is not None:
        deepen_producers(loaded.producers, loaded.segments.active)
    loaded.snapshots.remove_strays(segment.base_offset for segment in loaded.segments)


def _remove_replaced(segments: Segments, swapped: Iterable[int]) -> None:
    """A cleaned segment takes the place of every segment that begins within it."""
    for base_offset in swapped:
        cleaned = segments.from_offset(base_offset)[0]
        end_offset, _ = cleaned.scan_end()
        discard_segments(
            segments, [s for s in segments if base_offset < s.base_offset < end_offset]
        )


def _finish_interrupted_changes(file_system: FileSystem, directory: str) -> list[int]:
    """Deletions that were begun are completed, cleaned segments not yet swapped in are dropped, swaps are completed.

    Returns the base offsets of segments that were swapped in.
    """
    swapped: list[int] = []
    for name in file_system.list(directory):
        if name.endswith((DELETED_SUFFIX, CLEANED_SUFFIX, ".tmp")):
            file_system.remove(f"{directory}/{name}")
        elif name.endswith(SWAP_SUFFIX):
            target = name.removesuffix(SWAP_SUFFIX)
            file_system.rename(f"{directory}/{name}", f"{directory}/{target}")
            base_offset = offset_of(target, LOG_SUFFIX)
            if base_offset is not None:
                swapped.append(base_offset)
    names = set(file_system.list(directory))
    for suffix in (INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX):
        for name in names:
            orphan = offset_of(name, suffix)
            if orphan is not None and f"{orphan:020d}{LOG_SUFFIX}" not in names:
                file_system.remove(f"{directory}/{name}")
    return swapped
