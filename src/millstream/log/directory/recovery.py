"""Recovery after an unclean stop: the longest valid prefix of a log, beginning at the recovery point.

From the segment that holds the recovery point on, every batch is read and its checksum compared; the first byte that is
not part of a valid batch, and everything after it, is removed. Indexes of those segments are built again. Running it
twice gives the same files.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from millstream.errors import KafkaError
from millstream.log.header_scan import read_batch, scan_headers
from millstream.log.leader_epochs import LeaderEpochs
from millstream.log.segments.segment import Segment
from millstream.log.segments.segments import Segments
from millstream.records.batch import validate_batch
from millstream.runtime import FileSystem


@dataclass(frozen=True, slots=True)
class Recovery:
    end_offset: int
    recovered: tuple[Segment, ...]
    dropped: tuple[Segment, ...]
    removed_bytes: int
    """0 when every byte was part of a valid batch."""


def recover_segments(
    segments: Segments, epochs: LeaderEpochs, recovery_point: int, *, may_have_gaps: bool
) -> Recovery:
    """Recovers the segments.

    `may_have_gaps`: the log is compacted, so a segment need not begin where the last one ends.
    """
    recovered: list[Segment] = []
    ends: list[int] = []
    """Where each of `recovered` ends."""
    dropped: list[Segment] = []
    removed_bytes = 0
    end_offset = segments.first.base_offset
    pending = segments.from_offset(recovery_point)
    for segment in pending:
        follows = not recovered or segment.base_offset == end_offset
        if (
            dropped
            or removed_bytes
            or not (follows or (may_have_gaps and segment.base_offset > end_offset))
        ):
            dropped.append(segment)
            continue
        end_offset, lost = _recover_segment(segment, epochs)
        removed_bytes += lost
        recovered.append(segment)
        ends.append(end_offset)
    while len(recovered) > 1 and recovered[-1].size_bytes == 0 and ends[-2] < ends[-1]:
        # The end of the segment before it was lost: nothing would ever be found between the two, and readers would wait for it.
        dropped.insert(0, recovered.pop())
        ends.pop()
        end_offset = ends[-1]
    removed_bytes += sum(segment.size_bytes for segment in dropped)
    return Recovery(end_offset, tuple(recovered), tuple(dropped), removed_bytes)


def _recover_segment(segment: Segment, epochs: LeaderEpochs) -> tuple[int, int]:
    """(next offset, bytes removed)."""
    segment.start_rebuild()
    valid_bytes, next_offset = 0, segment.base_offset
    try:
        for position, header in scan_headers(segment.file, 0, segment.size_bytes):
            validate_batch(header, read_batch(segment.file, position, header))
            if header.base_offset < next_offset:
                break
            segment.index_batch(position, header)
            epochs.follow(header.partition_leader_epoch, header.base_offset, next_offset)
            valid_bytes, next_offset = position + header.size_bytes, header.next_offset
    except KafkaError:
        # The batch is torn or damaged. What was acknowledged with a sync lies before the recovery point or is whole.
        pass
    removed_bytes = segment.size_bytes - valid_bytes
    if removed_bytes:
        segment.cut_back(valid_bytes)
    return next_offset, removed_bytes


def rebuild_epochs(
    epochs: LeaderEpochs, segments: Iterable[Segment], file_system: FileSystem
) -> None:
    """Leader epochs from the batches, where the checkpoint is missing, damaged, or not of this log. Writes it anew.

    Raises OSError.
    """
    epochs.clear()
    for segment in segments:
        for start in segment.headers():
            epochs.assign(start.header.partition_leader_epoch, start.header.base_offset)
    write = epochs.plan_write()
    if write is not None:
        write.write(file_system)
        epochs.note_written(write)


def agrees_with_batches(epochs: LeaderEpochs, active: Segment) -> bool:
    """Whether the latest epoch is that of the last batch, and begins with a batch where that is in the active segment.

    A checkpoint of another partition is a sound file; a look into older segments would make every start slow.
    """
    last_epoch = active.last_leader_epoch()
    if last_epoch is None or not epochs.entries:
        return last_epoch is None
    epoch, start_offset = epochs.entries[-1]
    if start_offset <= active.base_offset:
        return epoch == last_epoch
    first = active.find_batch(start_offset)
    return (
        epoch == last_epoch
        and first is not None
        and first.header.base_offset == start_offset
        and first.header.partition_leader_epoch == epoch
    )
