"""The segments of one log, in order. The last one is active: the only one that is written."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import final

from millstream.log.segments.segment import Segment


@final
class Segments:
    """The segments in the order of their offsets; never empty once a log is loaded."""

    def __init__(self, segments: Iterable[Segment]) -> None:
        self._segments = sorted(segments, key=lambda segment: segment.base_offset)
        self._base_offsets = [segment.base_offset for segment in self._segments]

    def __len__(self) -> int:
        return len(self._segments)

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._segments)

    @property
    def active(self) -> Segment:
        return self._segments[-1]

    @property
    def first(self) -> Segment:
        return self._segments[0]

    @property
    def size_bytes(self) -> int:
        return sum(segment.size_bytes for segment in self._segments)

    def add(self, segment: Segment) -> None:
        assert not self._segments or segment.base_offset > self.active.base_offset, (
            "segments are added at the end"
        )
        self._segments.append(segment)
        self._base_offsets.append(segment.base_offset)

    def from_offset(self, offset: int) -> list[Segment]:
        """Returns the segment that may hold `offset`, and all after it."""
        return self._segments[max(0, bisect_right(self._base_offsets, offset) - 1) :]

    def end_offset(self, segment: Segment, log_end_offset: int) -> int:
        """Returns the offset where the next segment begins, or the log ends."""
        slot = bisect_right(self._base_offsets, segment.base_offset)
        return self._base_offsets[slot] if slot < len(self._base_offsets) else log_end_offset

    def replace(self, replaced: Sequence[Segment], by: Segment) -> None:
        """Replaces neighbours by one segment, which has the base offset of the first of them."""
        slot = self._segments.index(replaced[0])
        assert self._segments[slot : slot + len(replaced)] == list(replaced), (
            "only neighbours are replaced together"
        )
        self._segments[slot : slot + len(replaced)] = [by]
        self._base_offsets[slot : slot + len(replaced)] = [by.base_offset]

    def remove(self, segments: Iterable[Segment]) -> None:
        gone = {segment.base_offset for segment in segments}
        self._segments = [segment for segment in self._segments if segment.base_offset not in gone]
        self._base_offsets = [segment.base_offset for segment in self._segments]
