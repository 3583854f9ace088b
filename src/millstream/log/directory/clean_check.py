"""Looks at the logs of a data directory that was closed in order, before its broker tells the
controller that it has what it had.

A clean stop means that every record a replica had is on its disk; the controller may make such a replica leader without
asking others (KIP-966). Whether a disk that was left alone gave back what it was given is looked at as far as that is
cheap: sizes of files, every index as a list, the last batch with its checksum, the epochs. What lies further back is
found by `log.verification`, later.

Reads only, and touches nothing that another thread may write, so it may run in any thread before the logs are opened.
"""

from __future__ import annotations

from millstream.errors import MillstreamError
from millstream.log.directory.log_environment import SavedState
from millstream.log.directory.recovery import agrees_with_batches
from millstream.log.directory.segment_check import check_log_files, check_log_is_there
from millstream.log.directory.text_checkpoints import LEADER_EPOCH_FILE
from millstream.log.header_scan import read_batch
from millstream.log.leader_epochs import LeaderEpochs
from millstream.log.segments.files import LOG_SUFFIX, offset_of
from millstream.log.segments.segment import Segment, SegmentLimits
from millstream.log.segments.segments import Segments
from millstream.metadata.topic_config import LogConfig
from millstream.records.batch import validate_batch
from millstream.runtime import FileSystem


def damage_of_closed_log(file_system: FileSystem, directory: str, saved: SavedState) -> str | None:
    """Returns what is wrong with the files of a log that was closed in order; None when nothing is seen."""
    try:
        names = file_system.list(directory)
        bases = [base for name in names if (base := offset_of(name, LOG_SUFFIX)) is not None]
        check_log_is_there(directory, bases, saved)
        if not bases:
            return None  # it was never written to
        segments = _segments(file_system, directory, bases, saved)
        try:
            check_log_files(directory, segments, saved, may_have_gaps=True)
            for segment in segments:
                segment.check_index_files()
            _check_end(segments, saved)
            epochs = LeaderEpochs(file_system, directory)
            if epochs.is_damaged or not agrees_with_batches(epochs, segments.active):
                return f"{directory}/{LEADER_EPOCH_FILE} does not agree with the log"
        finally:
            for segment in segments:
                segment.close()
    except (MillstreamError, OSError) as error:
        return str(error)
    return None


def _segments(
    file_system: FileSystem, directory: str, bases: list[int], saved: SavedState
) -> Segments:
    # Nothing is appended. How far apart entries are the topic says, which is not known yet: an empty index is believed.
    limits = SegmentLimits.of(LogConfig(index_interval_bytes=2**31 - 1))
    marks = {mark.base_offset: mark for mark in saved.marks}
    return Segments(
        Segment(file_system, directory, base, limits, exists=False, mark=marks.get(base))
        for base in bases
    )


def _check_end(segments: Segments, saved: SavedState) -> None:
    """Raises MillstreamError where the last batch is damaged, or the log ends before the recovery
    point that its clean stop wrote.
    """
    active = segments.active
    end_offset = active.base_offset
    last = None
    for last in active.headers(active.batch_before(active.size_bytes)):
        end_offset = last.header.next_offset
    if last is not None:
        validate_batch(last.header, read_batch(active.file, last.position, last.header))
    if end_offset < saved.recovery_point:
        raise MillstreamError(
            f"the log in {active.directory} ends at offset {end_offset}, {saved.recovery_point} were on the disk"
        )
