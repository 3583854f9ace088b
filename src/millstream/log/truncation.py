"""Cutting a log: at an offset (a follower that diverged from its leader), or wholly.

A cut is not atomic on disk; when it fails half way the owner refuses everything until recovery has run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from millstream.log.log_state import LogState
from millstream.log.producers.replay import restore_producers
from millstream.log.segments.segment import Segment
from millstream.log.segments.segments import Segments


def discard_segments(segments: Segments, unwanted: Iterable[Segment]) -> None:
    """Removes segments and their files at once; only for segments that no reader can be using.

    The last one goes first: a crash half way leaves no hole. They are gone from the disk when this returns: a crash could else bring
    them back behind, or in place of, what was written since.
    """
    gone = list(unwanted)
    segments.remove(gone)
    for segment in reversed(gone):
        segment.remove()
    if gone:
        gone[0].sync_directory()


def cut_log(state: LogState, offset: int) -> None:
    """Removes the records at and after `offset`, which lies behind the first segment's base offset.

    A batch that holds `offset` goes as a whole, and the log then ends where it began.
    """
    discard_segments(state.segments, [s for s in state.segments if s.base_offset >= offset])
    active = state.segments.active
    found = active.find_batch(offset)
    end_offset = offset
    if found is not None:
        end_offset = min(offset, found.header.base_offset)
        active.truncate_at(found.position)
    state.log_end_offset = end_offset
    state.recovery_point = min(state.recovery_point, end_offset)
    state.log_start_offset = min(state.log_start_offset, end_offset)
    if state.cleaner_checkpoint is not None:
        state.cleaner_checkpoint = min(state.cleaner_checkpoint, end_offset)
    state.leader_epochs.truncate_from_end(end_offset)
    reload_producers(state)


def start_over(state: LogState, offset: int, new_segment: Callable[[int], Segment]) -> None:
    """Removes everything; the log is empty and begins at `offset`."""
    discard_segments(state.segments, list(state.segments))
    state.segments.add(new_segment(offset))
    state.log_start_offset = state.log_end_offset = state.recovery_point = offset
    state.cleaner_checkpoint = None
    state.leader_epochs.clear()
    state.producers.clear()
    state.snapshots.remove_after(-1)


def reload_producers(state: LogState) -> None:
    """Producer state as of the end of the log: the newest snapshot before the active segment, and what follows it.

    The active segment was perhaps a sealed one before, so its transaction index is in memory from here on.
    """
    active = state.segments.active
    state.snapshots.remove_after(state.log_end_offset)
    restore_producers(
        state.producers, state.snapshots, state.segments, active.base_offset, rebuilt=[active]
    )
