"""The reports of a task for its runner, of one run and of one call.

Pure data; those of runs travel between processes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from millstream.streams.dropped_records import DroppedRecords
from millstream.streams.metrics import MetricName, metric_name


@dataclass(frozen=True, slots=True)
class TaskReport:
    """One run of a task. `position`: by input topic, the next offset after it.

    `next_punctuation_ms`: when to run it without records.
    """

    task: str
    position: Mapping[str, int]
    read: int = 0
    processed: int = 0
    written: int = 0
    logged: int = 0
    dropped: int = 0
    restored: int = 0
    next_punctuation_ms: int | None = None
    held_to: Mapping[str, int] = field(default_factory=dict)
    """By input topic with records that wait for those of other topics, the offset after the last of them."""
    idles_until_ms: int | None = None
    """When to run it although the other topics still have none (max.task.idle.ms)."""
    metrics: Mapping[MetricName, float] = field(default_factory=dict)
    """The metrics of the task since it was started, and of its processors, each with the task's id among its tags."""
    dropped_records: tuple[DroppedRecords, ...] = ()
    """What the task has dropped in this run: `dropped` in all, as dropped-records-total counts."""
    is_committed: bool = False
    """Something was committed: outputs, offsets, or the same offsets again."""


class ProcessedWork(NamedTuple):
    """Records and punctuations, and how long the punctuations took.

    `records_ms`: how long the records took, without waits for a processor or for brokers.
    """

    records: int = 0
    punctuations: int = 0
    punctuation_ms: int = 0
    records_ms: int = 0

    def plus(self, other: ProcessedWork) -> ProcessedWork:
        """Returns both together."""
        return ProcessedWork(
            self.records + other.records,
            self.punctuations + other.punctuations,
            self.punctuation_ms + other.punctuation_ms,
            self.records_ms + other.records_ms,
        )


def with_tags(
    metrics: Mapping[MetricName, float], tags: Mapping[str, str]
) -> dict[MetricName, float]:
    """Returns metrics that several tasks have under one name under names of their own, by these tags."""
    pairs = tuple(tags.items())
    return {
        each
        if all(pair in each.tags for pair in pairs)
        else metric_name(each.group, each.name, {**tags, **dict(each.tags)}): value
        for each, value in metrics.items()
    }
