"""The watermark of a query: the least over its partitions of how far their records' times are.

Pure. It is reckoned when a micro-batch is planned and kept in the checkpoint beside the offsets, so that a micro-batch
that is run again has the same:

    "watermarks": {"watermark": 1700000000000, "latest": {"orders": {"0": 1700000005000, "1": 1700000000000}}}

`latest` is the largest timestamp of each partition so far. The watermark never goes back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any, Final

from millstream.errors import ConfigError
from millstream.model import Offset, TopicPartition
from millstream.spark.offsets import Offsets
from millstream.spark.source.event_time.record_times import TIME_MS_MIN, is_time

KEY: Final = "watermarks"


@dataclass(frozen=True, slots=True)
class EventTime:
    """The state after a micro-batch. `watermark` is None until every partition that takes part has had a record."""

    watermark: int | None = None
    latest: Mapping[TopicPartition, int] = field(default_factory=dict)

    def without(self, topics: Collection[str]) -> EventTime:
        """The same, with nothing known of the partitions of these topics."""
        return replace(
            self, latest={tp: time for tp, time in self.latest.items() if tp.topic not in topics}
        )


def event_time_of(document: Mapping[str, Any]) -> EventTime:  # JSON, as above
    """Returns the state in a checkpoint; nothing is known where it has no such key, nor of
    a time that no timestamp holds.

    Such a time stands in checkpoints from before those were left out of the watermark.
    """
    found = document.get(KEY)
    if found is None:
        return EventTime()
    try:
        watermark = found["watermark"]
        latest = {
            TopicPartition(topic, int(number)): int(time)
            for topic, partitions in found["latest"].items()
            for number, time in partitions.items()
            if is_time(int(time))
        }
        is_known = watermark is not None and is_time(int(watermark))
        return EventTime(int(watermark) if is_known else None, latest)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"the checkpoint holds watermarks that are none: {found!r}") from error


def to_document(event_time: EventTime) -> dict[str, Any]:  # JSON, as above
    topics: dict[str, dict[str, int]] = {}
    for (topic, number), time in sorted(event_time.latest.items()):
        topics.setdefault(topic, {})[str(number)] = time
    return {"watermark": event_time.watermark, "latest": topics}


def advanced_time(
    before: EventTime,
    times: Mapping[TopicPartition, int],
    partitions: AbstractSet[TopicPartition],
    idle: AbstractSet[TopicPartition],
    disorder_max_ms: int,
) -> EventTime:
    """`times`: the largest timestamp that the micro-batch reads of each partition.

    An `idle` partition is left out of the least.

    One that had no record yet holds the watermark back, unless it is idle.
    """
    latest = {tp: time for tp, time in before.latest.items() if tp in partitions}
    for tp, time in times.items():
        latest[tp] = max(time, latest.get(tp, time))
    taking_part = partitions - idle
    if not taking_part or not taking_part <= latest.keys():
        return EventTime(before.watermark, latest)
    least = max(TIME_MS_MIN, min(latest[tp] for tp in taking_part) - disorder_max_ms)
    watermark = least if before.watermark is None else max(least, before.watermark)
    return EventTime(watermark, latest)


@dataclass(slots=True)
class Idleness:
    """Knows since when each partition is at the end of its log. The times are the caller's."""

    timeout_ms: int
    _since: dict[TopicPartition, tuple[Offset, int]] = field(default_factory=dict)
    _told: frozenset[TopicPartition] = frozenset()

    def idle(self, start: Offsets, available: Offsets, now_ms: int) -> frozenset[TopicPartition]:
        """Returns the partitions that have had nothing to read for the time-out."""
        since: dict[TopicPartition, tuple[Offset, int]] = {}
        for tp, end in available.items():
            if end > start.get(tp, Offset(0)):
                continue
            seen = self._since.get(tp)
            since[tp] = seen if seen is not None and seen[0] == end else (end, now_ms)
        self._since = since
        return frozenset(tp for tp, (_, at) in since.items() if now_ms - at >= self.timeout_ms)

    def newly(self, idle: frozenset[TopicPartition]) -> frozenset[TopicPartition]:
        """Returns those of them that were not idle when it was asked last."""
        new, self._told = idle - self._told, idle
        return new
