"""Segments that left a log and wait for `file.delete.delay.ms`: ranges of their files may be on
their way to clients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import final

from millstream.log.segments.segment import Segment


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
