"""Compares the files of a log with what was noted of them, so that what was lost or changed while
nobody looked is not served.

Log files that lack records are an error of their partition: nothing can make them anew. Transaction indexes can be made
anew from the log, so those that are not as they were are only named here.

What was noted at a clean shutdown is exact. After a crash files may have changed for good reasons: the oldest have left
by retention, the newest have grown and are recovered, and where a log is compacted all of them are rewritten.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from millstream.errors import KafkaError
from millstream.log.directory.log_environment import SavedState
from millstream.log.directory.segment_checkpoint import SEGMENT_FILE
from millstream.log.directory.text_checkpoints import DamagedFile
from millstream.log.producers.snapshot import ProducerSnapshotEntry
from millstream.log.segments.files import LOG_SUFFIX, TRANSACTION_INDEX_SUFFIX, segment_path
from millstream.log.segments.index_file import NOTHING_ABORTED, SegmentMark
from millstream.log.segments.segment import Segment
from millstream.log.segments.segments import Segments
from millstream.log.segments.transaction_index import AbortedTransaction
from millstream.records.batch import NO_SEQUENCE


def check_log_is_there(directory: str, bases: Collection[int], saved: SavedState) -> None:
    """Raises DamagedFile where records were on the disk and no log file is left at all."""
    if not bases and saved.marks and saved.synced_to > saved.marks[0].base_offset:
        raise _lost(directory, saved.marks[0].base_offset, "is missing")


def check_something_is_left(
    directory: str, first_offset: int, end_offset: int, saved: SavedState
) -> None:
    """A log that lost all it had is not begun anew. Raises DamagedFile."""
    if end_offset == first_offset < saved.synced_to and saved.marks:
        raise _lost(directory, first_offset, "holds no record any more")


def check_log_files(
    directory: str, segments: Segments, saved: SavedState, *, may_have_gaps: bool
) -> None:
    """Raises OSError, DamagedFile."""
    if saved.marks_are_exact:
        _check_same(directory, segments, saved.marks)
    elif not may_have_gaps:
        _check_sealed(directory, segments, saved)


def _check_same(directory: str, segments: Segments, marks: Collection[SegmentMark]) -> None:
    sizes = {segment.base_offset: segment.size_bytes for segment in segments}
    noted = {mark.base_offset: mark.log_bytes for mark in marks}
    for base_offset in sorted(noted):
        size = sizes.get(base_offset)
        if size is None:
            raise _lost(directory, base_offset, "is missing")
        if size != noted[base_offset]:
            raise _lost(directory, base_offset, f"has {size} bytes of {noted[base_offset]}")
    for base_offset in sizes:
        if noted and base_offset not in noted:
            raise _lost(directory, base_offset, "was not there before")


def _check_sealed(directory: str, segments: Segments, saved: SavedState) -> None:
    """Segments from the recovery point on are left to recovery; those before the first one have left by retention."""
    sizes = {segment.base_offset: segment.size_bytes for segment in segments}
    recovered_from = segments.from_offset(saved.recovery_point)[0].base_offset
    for mark in saved.marks:
        if not segments.first.base_offset <= mark.base_offset < recovered_from:
            continue
        size = sizes.get(mark.base_offset)
        if size is None:
            raise _lost(directory, mark.base_offset, "is missing")
        was_active = mark is saved.marks[-1]
        if size < mark.log_bytes or (size > mark.log_bytes and not was_active):
            raise _lost(directory, mark.base_offset, f"has {size} bytes of {mark.log_bytes}")


def damaged_log(directory: str, base_offset: int, error: KafkaError) -> DamagedFile:
    """Returns what to tell of a log file that is no list of batches."""
    return _lost(directory, base_offset, f"is no list of batches ({error})")


def _lost(directory: str, base_offset: int, reason: str) -> DamagedFile:
    path = segment_path(directory, base_offset, LOG_SUFFIX)
    return DamagedFile(
        f"{path} {reason}. Restore the files of {directory} from a copy, or let replicas fill a new one. "
        f"To go on without the records that are lost, stop the broker, remove .kafka_cleanshutdown and {SEGMENT_FILE} from the data "
        "directory, and start it again"
    )


def distrusted_indexes(
    segments: Segments, names: Collection[str], recovered: Collection[Segment]
) -> list[Segment]:
    """Returns the segments whose transaction index is not as it was noted, or, if nobody noted it,
    does not agree with the log.

    The entries of the active segment are in memory then, unless it is among them, or recovered.
    """
    present = {name for name in names if name.endswith(TRANSACTION_INDEX_SUFFIX)}
    distrusted: list[Segment] = []
    for segment in segments:
        name = segment_path("", segment.base_offset, TRANSACTION_INDEX_SUFFIX)[1:]
        is_expected = segment.transaction_index.mark != NOTHING_ABORTED
        is_needed = is_expected or name in present or segment is segments.active
        if segment in recovered or not is_needed:
            continue
        if not _is_trusted(segment, segments):
            distrusted.append(segment)
    return distrusted


def _is_trusted(segment: Segment, segments: Segments) -> bool:
    index = segment.transaction_index
    was_noted = index.is_noted
    try:
        entries = index.read_whole(is_kept=segment is segments.active)
    except OSError:
        return False  # a new file takes the place of one that cannot be read
    if entries is None or was_noted:
        return entries is not None
    return _agree_with_log(entries, segment, segments)


def _agree_with_log(
    entries: Iterable[AbortedTransaction], segment: Segment, segments: Segments
) -> bool:
    """Whether every entry names a marker in `segment` and a transaction of the same producer that began where it says.

    An index of Kafka's, noted by nobody: an entry that is missing is not noticed, as little as by Kafka.
    """
    for entry in entries:
        marker = segment.find_batch(entry.last_offset)
        if (
            entry.last_offset < segment.base_offset
            or marker is None
            or not marker.header.is_control
            or (marker.header.producer_id, marker.header.last_offset)
            != (entry.producer_id, entry.last_offset)
        ):
            return False
        if not _wrote(segments, entry.first_offset, entry.producer_id, may_have_gaps=True):
            return False
    return True


def is_snapshot_of(
    segments: Segments,
    offset: int,
    entries: Sequence[ProducerSnapshotEntry],
    *,
    may_have_gaps: bool,
) -> bool:
    """Whether the log agrees with the newest batch and with the oldest open transaction of a
    snapshot taken at `offset`.

    Looking for every producer's would read half of the log at every start; a snapshot of another log has neither.
    """
    began = [e for e in entries if e.transaction_first_offset >= 0]
    wrote = [e for e in entries if e.last_sequence != NO_SEQUENCE]
    expected = [
        (each.producer_id, place)
        for each, place in (
            *((e, e.last_offset) for e in sorted(wrote, key=lambda e: e.last_offset)[-1:]),
            *((e, e.transaction_first_offset) for e in began[:1]),
        )
    ]
    return all(
        place < offset and _wrote(segments, place, producer_id, may_have_gaps=may_have_gaps)
        for producer_id, place in expected
    )


def _wrote(segments: Segments, offset: int, producer_id: int, *, may_have_gaps: bool) -> bool:
    """Whether the batch at `offset` is of this producer, as far as it is still there."""
    segment = segments.from_offset(offset)[0]
    if offset < segment.base_offset:
        return True
    try:
        found = segment.find_batch(offset)
    except KafkaError:
        return True  # the log is damaged, and will say so
    if found is None or found.header.base_offset > offset:
        return may_have_gaps
    return found.header.producer_id == producer_id
