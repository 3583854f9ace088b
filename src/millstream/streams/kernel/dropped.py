"""The count of the records that a task drops.

Dropping is told once for a batch, so records that are kept cost nothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import NamedTuple

from millstream.streams.dropped_records import DroppedRecords, DropReason
from millstream.streams.metrics import Sensor


class DropPlace(NamedTuple):
    """The place of a record that is dropped; no topic: it came from a punctuation."""

    topic: str | None
    partition: int
    offset: int


class DroppedTally:
    """Owned by the context of a task.

    `total` is Kafka Streams' dropped-records-total; `by_topic` has the records of each input topic. Both
    count from the start of the task.
    """

    def __init__(self) -> None:
        self.total = 0
        self.rate: Sensor | None = None
        """Takes what is dropped, too."""
        self.by_topic = Counter[str]()
        self._untold: dict[tuple[str, str | None, int, DropReason], DroppedRecords] = {}
        self._latest: dict[tuple[str, str | None, int, DropReason], int] = {}

    def add(self, dropped: DroppedRecords, last_offset: int) -> None:
        """Takes records of one place and reason.

        One that was late for several windows, one after the other, is one record.
        """
        place = (dropped.node, dropped.topic, dropped.partition, dropped.reason)
        is_again = (
            dropped.late is not None and last_offset >= 0 and self._latest.get(place) == last_offset
        )
        if is_again:
            dropped = replace(dropped, records=dropped.records - 1)
        self._latest[place] = last_offset
        self.total += dropped.updates
        if self.rate is not None:
            self.rate.record(dropped.updates)
        if dropped.topic is not None:
            self.by_topic[dropped.topic] += dropped.records
        before = self._untold.get(place)
        self._untold[place] = dropped if before is None else before.plus(dropped)

    def take(self) -> tuple[DroppedRecords, ...]:
        """Returns what was dropped since this was last asked, by topic and offset: as single
        records or batches, it is the same.
        """
        untold, self._untold = self._untold, {}
        return tuple(sorted(untold.values(), key=_order))


def _order(dropped: DroppedRecords) -> tuple[str, int, str, str]:
    return dropped.topic or "", dropped.offset, dropped.node, dropped.reason
