"""Finds which offsets of which partitions are to be copied."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from millstream.cli.records.offset_choice import Bounds, Lookups, Start, offsets_at, start_offsets
from millstream.model import TopicPartition


@dataclass(frozen=True, slots=True)
class Range:
    """A part of a partition, from `start` to before `stop`; on and on where that is None."""

    start: int
    stop: int | None

    @property
    def count(self) -> int:
        """The offsets that lie in it; there may be fewer records."""
        return 0 if self.stop is None else max(0, self.stop - self.start)


def plan_ranges(
    partitions: list[TopicPartition],
    bounds: Bounds,
    noted: Mapping[int, int],
    ask: Lookups,
    tell: Callable[[str], object],
    *,
    follows: bool,
) -> dict[TopicPartition, Range]:
    """Returns the range of each partition.

    What is `noted` by an earlier copy beats the start that is asked for. Where a range begins
    before the log does, it begins with the log, which is told: those records are gone.
    """
    first, end = ask.beginning(partitions), ask.end(partitions)
    starts = start_offsets(bounds.start or Start("beginning"), partitions, ask)
    stops: Mapping[TopicPartition, int | None] = dict.fromkeys(partitions) if follows else end
    if bounds.stop_ms is not None:
        stops = offsets_at(bounds.stop_ms, partitions, ask)
    elif bounds.stop_offset is not None:
        stops = {each: min(bounds.stop_offset, end[each]) for each in partitions}
    ranges: dict[TopicPartition, Range] = {}
    for each in partitions:
        start = noted.get(each.partition, starts[each])
        if start < first[each]:
            if each.partition in noted or bounds.start is not None:
                tell(f"{each} begins at {first[each]}: what lay at {start} to {first[each] - 1} is gone, and is not copied")  # fmt: skip
            start = first[each]
        elif start > end[each]:
            tell(f"{each} ends at {end[each]}: there is no offset {start} yet, nor was it copied")
            start = end[each]
        ranges[each] = Range(start, stops[each])
    return ranges
