"""Decides which segments retention lets go: by age, by size, and below the log start offset; and keeps those that have
left a log for `file.delete.delay.ms`: ranges of their files may be on their way to clients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, final

from millstream.log.segments.segment import Segment
from millstream.log.segments.segments import Segments
from millstream.metadata.topic_config import LogConfig


class LogOffsets(NamedTuple):
    """Nothing at or after `upper_bound`, the high watermark, may be deleted."""

    log_start_offset: int
    log_end_offset: int
    upper_bound: int


def plan_retention(
    segments: Segments, config: LogConfig, offsets: LogOffsets, now_ms: int
) -> list[Segment]:
    """Returns the longest run of segments from the start that may go.

    The active segment is included when all its data is too old; the owner rolls first. A segment without timestamps
    is as old as its file.
    """
    excess_bytes = segments.size_bytes - config.retention_bytes
    planned: list[Segment] = []

    def is_too_old(segment: Segment) -> bool:
        latest_ms = segment.largest_timestamp_ms
        return (latest_ms if latest_ms >= 0 else segment.modified_ms) < now_ms - config.retention_ms

    def is_excess(segment: Segment) -> bool:
        return excess_bytes >= segment.size_bytes

    rules: list[Callable[[Segment], bool]] = []
    if config.is_deleted and config.retention_ms >= 0:
        rules.append(is_too_old)
    if config.is_deleted and config.retention_bytes >= 0:
        rules.append(is_excess)
    for segment in segments:
        end_offset = segments.end_offset(segment, offsets.log_end_offset)
        below_start = end_offset <= offsets.log_start_offset and segment is not segments.active
        # Kafka's cleaner leaves segments without any record; only the active one waits for some.
        is_new = segment is segments.active and segment.size_bytes == 0
        may_go = not is_new and end_offset <= offsets.upper_bound
        if not may_go or not (below_start or any(rule(segment) for rule in rules)):
            break
        planned.append(segment)
        excess_bytes -= segment.size_bytes
    return planned


@final
class DeletedSegments:
    """Segments that left the log, whose files stay until they are due."""

    def __init__(self) -> None:
        self._segments: list[tuple[int, Segment]] = []

    def add(self, segments: Sequence[Segment], due_ms: int) -> None:
        """Renames their files; `due_ms` is a time of the monotonic clock. Raises OSError."""
        for segment in segments:
            segment.mark_deleted()
        self.take(segments, due_ms)

    def take(self, segments: Sequence[Segment], due_ms: int) -> None:
        """Adds segments whose files are renamed already."""
        self._segments += [(due_ms, segment) for segment in segments]

    def update_directory(self, directory: str) -> None:
        """Follows a renamed directory."""
        for _, segment in self._segments:
            segment.update_directory(directory)

    def take_due(self, now_ms: int) -> list[Callable[[], None]]:
        """Removals whose time has come; each touches the files of one segment and nothing else, and raises OSError."""
        due = [segment for due_ms, segment in self._segments if due_ms <= now_ms]
        self._segments = [each for each in self._segments if each[0] > now_ms]
        return [segment.remove for segment in due]

    def remove_all(self) -> None:
        """Removes the files of all segments now. Raises OSError."""
        while self._segments:
            self._segments.pop()[1].remove()

    def close(self) -> None:
        """Keeps the files; the next start removes them."""
        for _, segment in self._segments:
            segment.close()
