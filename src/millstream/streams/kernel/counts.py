"""The counts of a running task: what its nodes have done, what its sinks have written, and what was dropped.

Dropping is told once for a batch, so records that are kept cost nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from millstream.streams.dropped_records import DroppedRecords, DropReason, Lateness
from millstream.streams.kernel.columns.batch import SinkBatch
from millstream.streams.kernel.current_run import CurrentRun
from millstream.streams.metrics import Sensor
from millstream.streams.state.cache import ProcessorRecordContext


class DropPlace(NamedTuple):
    """The place of a record that is dropped; no topic: it came from a punctuation."""

    topic: str | None
    partition: int
    offset: int


class DroppedTally:
    """The records that a task has dropped.

    `total` is Kafka Streams' dropped-records-total; `by_topic` has the records of each input topic. Both
    count from the start of the task.
    """

    def __init__(self, current: CurrentRun) -> None:
        self.total = 0
        self.rate: Sensor | None = None
        """Takes what is dropped, too."""
        self.by_topic = Counter[str]()
        self._current = current
        self._untold: dict[tuple[str, str | None, int, DropReason], DroppedRecords] = {}
        self._latest: dict[tuple[str, str | None, int, DropReason], int] = {}

    def add(
        self,
        node: str,
        reason: DropReason,
        row: tuple[int, int],
        *,
        records: int = 1,
        late: Lateness | None = None,
        error: str = "",
    ) -> None:
        """Counts records of the run being processed. `row` is the ordinal and the timestamp of the first of them."""
        (ordinal, timestamp), current = row, self._current
        topic, offsets = current.run.topic, current.run.offsets
        offset = offsets[ordinal] if ordinal < len(offsets) else offsets[-1]
        time = current.stream_time_at(ordinal) if late is None else late.stream_time_ms
        place = DropPlace(topic, -1 if topic is None else current.partition, offset)
        times = timestamp, time
        self.add_at(node, reason, place, times, records=records, late=late, error=error)

    def add_at(
        self,
        node: str,
        reason: DropReason,
        place: DropPlace,
        times: tuple[int, int],
        *,
        records: int = 1,
        late: Lateness | None = None,
        error: str = "",
    ) -> None:
        """Counts records of another place than the run being processed.

        `times`: that of the first record, and stream time. One that was late for several windows, one after the other,
        is one record.
        """
        topic, partition, offset = place
        updates = records if late is None else late.updates
        last_offset = offset if records == 1 else -1
        key = (node, topic, partition, reason)
        if late is not None and last_offset >= 0 and self._latest.get(key) == last_offset:
            records -= 1
        self._latest[key] = last_offset
        self.total += updates
        if self.rate is not None:
            self.rate.record(updates)
        if topic is not None:
            self.by_topic[topic] += records
        found = DroppedRecords(
            node, topic, partition, reason, records, updates, offset, *times, late, error
        )
        before = self._untold.get(key)
        self._untold[key] = found if before is None else before.plus(found)

    def add_expired(
        self, store: str, late: Lateness, origin: ProcessorRecordContext | None
    ) -> None:
        """Counts a row that a store has not taken. `origin`: its record, where that is not the one being processed."""
        reason, current = DropReason.EXPIRED_IN_STORE, self._current
        if origin is not None:
            place = DropPlace(origin.topic, current.partition, origin.offset)
            self.add_at(store, reason, place, (late.window[0], current.stream_time), late=late)
            return
        at, timestamps = current.record.ordinal, current.run.timestamps
        timestamp = timestamps[at] if 0 <= at < len(timestamps) else late.window[0]
        late = late._replace(stream_time_ms=current.stream_time_at(at))
        self.add(store, reason, (at, timestamp), late=late)

    def take(self) -> tuple[DroppedRecords, ...]:
        """Returns what was dropped since this was last asked, by topic and offset: as single
        records or batches, it is the same.
        """
        untold, self._untold = self._untold, {}
        return tuple(sorted(untold.values(), key=_order))


def _order(dropped: DroppedRecords) -> tuple[str, int, str, str]:
    return dropped.topic or "", dropped.offset, dropped.node, dropped.reason


class TaskCounts:
    """One per task.

    `by_node`: by node and Kafka's name of the metric, without `-total`, what nodes have counted; `""` is the task.
    `produced` and `produced_bytes`: records by sink and topic.
    """

    def __init__(self, current: CurrentRun) -> None:
        self.dropped = DroppedTally(current)
        self.by_node = Counter[tuple[str, str]]()
        self.produced = Counter[tuple[str, str]]()
        self.produced_bytes = Counter[tuple[str, str]]()
        self.sole_sinks: Mapping[str, str] = {}
        """By topic, the sink of the task that alone writes to it."""

    def count_produced(self, sink: str, records: SinkBatch) -> None:
        """Counts records that a sink has given out.

        Where it is the only one of its topic, their size is counted once they are written.
        """
        topic = records.topic
        self.produced[sink, topic] += len(records.keys)
        if topic not in self.sole_sinks:
            self.produced_bytes[sink, topic] += records.size_bytes

    def count_written(self, sinks: Mapping[str, SinkBatch]) -> None:
        """Counts the size of records that are written: their columns are Arrow then, which knows it."""
        for topic, records in sinks.items():
            sink = self.sole_sinks.get(topic)
            if sink is not None:
                self.produced_bytes[sink, topic] += records.size_bytes
