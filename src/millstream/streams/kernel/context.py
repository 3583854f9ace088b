"""The context of a task: the records that its operators are processing, and counts of what they drop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Generic, TypeVar, overload

from millstream.streams.config import StreamsConfig
from millstream.streams.dropped_records import DroppedRecords, DropReason, Lateness
from millstream.streams.handlers import ErrorContext, OutgoingRecord
from millstream.streams.kernel.columns.batch import Batch, Headers, SinkBatch
from millstream.streams.kernel.dropped import DroppedTally, DropPlace
from millstream.streams.kernel.emit_interval import EmitInterval
from millstream.streams.kernel.punctuation import PunctuationQueue, Punctuations, Timer
from millstream.streams.metrics import StreamsMetrics
from millstream.streams.options import RecordContext
from millstream.streams.processor import PunctuationType
from millstream.streams.state.cache import NOWHERE, ProcessorRecordContext
from millstream.streams.topology.operators import AsyncCaller

if TYPE_CHECKING:
    from millstream.streams.kernel.columns.batch import Numbers

T = TypeVar("T")
NO_RAW: Sequence[bytes | None] = ()
Run = tuple[
    str | None, Sequence[int], Sequence[bytes | None], Sequence[bytes | None], "Numbers | None"
]
"""Topic, offsets, bytes of keys and values, and origin times of the records that are processed together."""


class _Everywhere(Sequence[T], Generic[T]):
    """One item, whatever the ordinal."""

    __slots__ = ("_item",)

    def __init__(self, item: T) -> None:
        self._item = item

    def __len__(self) -> int:
        return 1

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[T]: ...
    def __getitem__(self, at: int | slice) -> T | Sequence[T]:
        return self if isinstance(at, slice) else self._item


class TaskContext:
    """One per task.

    `counts`: by node and Kafka's name of the metric, without `-total`, what nodes have counted; `""` is the task.
    `produced` and `produced_bytes`: records by sink and topic.

    `offsets`, `raw_keys` and `raw_values` are those of the run being processed; a row's ordinal finds its own. In a
    punctuation there is no topic, and nothing has an offset. `origin_time` is the largest of the runs before.

    `timestamps` and `ordinals` are those of the run, and `time_before` is the stream time before
    it, where they are known.

    `ordinal` is that of the row being processed, `origin` where it comes from; kept where a cache may make room
    meanwhile. `failed_ordinal` is the row at which an operator stopped in the middle of a batch. `node` is the node
    whose operator is being made. `closers` are called when the task is closed.
    """

    __slots__ = (
        "async_caller",
        "closers",
        "commit_requested",
        "config",
        "counts",
        "dropped",
        "emit_intervals",
        "failed_ordinal",
        "give_up",
        "is_global",
        "metrics",
        "node",
        "offsets",
        "ordinal",
        "ordinals",
        "origin",
        "origin_time",
        "origin_times",
        "partition",
        "produced",
        "produced_bytes",
        "punctuations",
        "raw_keys",
        "raw_values",
        "record_headers",
        "record_timestamp",
        "send_on",
        "sole_sinks",
        "state_dir",
        "stream_time",
        "task_id",
        "time_before",
        "timers",
        "timestamps",
        "topic",
        "wall_clock_ms",
    )

    def __init__(
        self, config: StreamsConfig, partition: int, task_id: str, *, is_global: bool = False
    ) -> None:
        self.config = config
        self.partition = partition
        self.topic: str | None = None
        self.offsets: Sequence[int] = (-1,)
        self.raw_keys = NO_RAW
        self.raw_values = NO_RAW
        self.origin_times: Numbers | None = None
        self.origin_time = -1
        self.stream_time = -1
        self.wall_clock_ms = 0
        self.dropped = DroppedTally()
        self.timestamps: Sequence[int] = ()
        self.ordinals: Sequence[int] = ()
        self.time_before = -1
        self.counts = Counter[tuple[str, str]]()
        self.produced = Counter[tuple[str, str]]()
        self.produced_bytes = Counter[tuple[str, str]]()
        self.sole_sinks: Mapping[str, str] = {}
        """By topic, the sink of the task that alone writes to it."""
        self.failed_ordinal: int | None = None
        self.node = ""
        self.task_id = task_id
        self.is_global = is_global
        self.record_timestamp = 0
        self.record_headers: Headers = ()
        self.origin = NOWHERE
        self.ordinal = 0
        self.state_dir: Callable[[], str | None] = lambda: None
        self.metrics = StreamsMetrics(lambda: self.wall_clock_ms, {"task-id": task_id})
        self.commit_requested = False
        self.emit_intervals: dict[str, EmitInterval] = {}
        """Of joins, whose two sides share one, by the name of what they share."""
        self.async_caller: AsyncCaller | None = None
        self.closers: list[Callable[[], object]] = []
        self.timers: list[Timer] = []
        self.send_on: Callable[[str, Batch, Batch], None]
        self.give_up: Callable[[str, Batch, Exception, OutgoingRecord | None], None]
        self.punctuations: Punctuations = {kind: PunctuationQueue() for kind in PunctuationType}

    def begin(
        self,
        topic: str | None,
        offsets: Sequence[int],
        raw_keys: Sequence[bytes | None] = NO_RAW,
        raw_values: Sequence[bytes | None] = NO_RAW,
        origin_times: Numbers | None = None,
    ) -> None:
        """Notes the topic whose rows are processed from now on; None: a punctuation."""
        self.origin_times = origin_times
        self.origin = NOWHERE
        self.topic = topic
        self.offsets = offsets
        self.raw_keys = raw_keys
        self.raw_values = raw_values
        self.timestamps = self.ordinals = ()

    def note_times(self, timestamps: Sequence[int], ordinals: Sequence[int]) -> None:
        """Notes the timestamps of the rows of the run and their ordinals, before stream time goes on."""
        self.timestamps, self.ordinals = timestamps, ordinals
        self.time_before = self.stream_time

    def stream_time_at(self, ordinal: int) -> int:
        """Returns the stream time when this row came, whatever rows are processed with it."""
        if not 0 <= ordinal < len(self.timestamps):
            return self.stream_time
        return max(self.time_before, *self.timestamps[: ordinal + 1])

    def begin_record(
        self, topic: str | None, offset: int, raw_key: bytes | None, raw_value: bytes | None
    ) -> None:
        """Notes the record whose rows are processed from now on, whatever their ordinals.

        It is the one being processed, with whose ordinal they go on, that has brought them: its
        origin time stays theirs.
        """
        origin_times = self.origin_times
        self.begin(topic, _Everywhere(offset), _Everywhere(raw_key), _Everywhere(raw_value))
        self.origin_times = origin_times

    @property
    def next_due_ms(self) -> int | None:
        """The wall-clock time of the next punctuation or timer."""
        times = [self.punctuations[PunctuationType.WALL_CLOCK_TIME].next_ms]
        times += [timer.next_ms for timer in self.timers]
        return min((time for time in times if time is not None), default=None)

    @property
    def run(self) -> Run:
        """The arguments of the last `begin`."""
        return self.topic, self.offsets, self.raw_keys, self.raw_values, self.origin_times

    @contextmanager
    def elsewhere(self) -> Iterator[None]:
        """Lets rows of other records be processed inside; those of before go on after it."""
        run = self.run
        record = self.origin, self.record_timestamp, self.record_headers
        try:
            yield
        finally:
            self.begin(*run)
            self.origin, self.record_timestamp, self.record_headers = record

    def origin_times_of(self, ordinals: Sequence[int]) -> Numbers:
        """Returns the origin times of the rows with these ordinals; of those that no record has led
        to, how far the task has come.
        """
        import numpy as np

        if self.origin_times is None:
            return np.full(len(ordinals), self.origin_time, np.int64)
        if ordinals is self.ordinals:  # no operator has left rows out, or made more of them
            return self.origin_times
        times: Numbers = self.origin_times[np.asarray(ordinals, np.int64)]
        return times

    @property
    def dropped_records(self) -> int:
        """The number of records dropped so far, as dropped-records-total counts them."""
        return self.dropped.total

    def drop(
        self,
        node: str,
        reason: DropReason,
        row: tuple[int, int],
        *,
        records: int = 1,
        late: Lateness | None = None,
        error: str = "",
    ) -> None:
        """Counts records as dropped. `row` is the ordinal and the timestamp of the first of them."""
        ordinal, timestamp = row
        offsets = self.offsets
        offset = offsets[ordinal] if ordinal < len(offsets) else offsets[-1]
        time = self.stream_time_at(ordinal) if late is None else late.stream_time_ms
        place = DropPlace(self.topic, -1 if self.topic is None else self.partition, offset)
        self.drop_at(
            node, reason, place, (timestamp, time), records=records, late=late, error=error
        )

    def drop_at(
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

        `times`: that of the first record, and stream time.
        """
        updates = records if late is None else late.updates
        found = DroppedRecords(
            node,
            place.topic,
            place.partition,
            reason,
            records,
            updates,
            place.offset,
            *times,
            late,
            error,
        )
        self.dropped.add(found, place.offset if records == 1 else -1)

    def without(self, node: str, reason: DropReason, batch: Batch, kept: Sequence[bool]) -> Batch:
        """Returns the rows that are kept; the others are counted as dropped."""
        rows = batch.where(kept)
        gone = len(batch) - len(rows)
        if gone:
            first = next(row for row, keep in enumerate(kept) if not keep)
            self.drop(node, reason, (batch.ordinals[first], batch.timestamps[first]), records=gone)
        return rows

    def only_newest(self, node: str, batch: Batch) -> Batch:
        """Returns the rows that are the newest versions of theirs; the others are counted as dropped."""
        if batch.newest is None:
            return batch
        return self.without(node, DropReason.NOT_NEWEST, batch, batch.newest)

    def drop_expired(
        self, store: str, late: Lateness, origin: ProcessorRecordContext | None
    ) -> None:
        """Counts a row that a store has not taken. `origin`: its record, where that is not the one being processed."""
        reason, at = DropReason.EXPIRED_IN_STORE, self.ordinal
        if origin is not None:
            place = DropPlace(origin.topic, self.partition, origin.offset)
            self.drop_at(store, reason, place, (late.window[0], self.stream_time), late=late)
            return
        is_of_run = 0 <= at < len(self.timestamps)
        timestamp = self.timestamps[at] if is_of_run else late.window[0]
        late = late._replace(stream_time_ms=self.stream_time_at(at))
        self.drop(store, reason, (at, timestamp), late=late)

    def count_produced(self, sink: str, records: SinkBatch) -> None:
        """Counts records that a sink has written.

        Where it is the only one of its topic, their size is counted once they are written.
        """
        topic = records.topic
        self.produced[sink, topic] += len(records.keys)
        if topic not in self.sole_sinks:
            self.produced_bytes[sink, topic] += records.size_bytes

    def count_written(self, records: SinkBatch) -> None:
        """Counts the size of records that are written: their columns are Arrow then, which knows it."""
        sink = self.sole_sinks.get(records.topic)
        if sink is not None:
            self.produced_bytes[sink, records.topic] += records.size_bytes

    def record_context(self, ordinal: int, timestamp: int, headers: Headers) -> RecordContext:
        """Returns the origin of the row with this ordinal."""
        topic = self.topic
        partition = -1 if topic is None else self.partition
        raw_key = self.raw_keys[ordinal] if self.raw_keys else None
        raw_value = self.raw_values[ordinal] if self.raw_values else None
        offset = self.offsets[ordinal]
        return RecordContext(topic, partition, offset, timestamp, headers, raw_key, raw_value)

    def origin_of(self, rows: Batch) -> ProcessorRecordContext:
        """Returns the record that the last of the rows came from."""
        row = rows.ordinals[-1]
        raw_key = self.raw_keys[row] if self.raw_keys else None
        raw_value = self.raw_values[row] if self.raw_values else None
        return ProcessorRecordContext(
            self.topic, self.offsets[row], rows.headers[-1], raw_key, raw_value
        )

    def place_of(self, rows: Batch) -> str:
        """Returns the source of rows, for the text of an error."""
        if self.topic is None:
            return "a record of a punctuation"
        first, last = self.offsets[rows.ordinals[0]], self.offsets[rows.ordinals[-1]]
        offsets = f"offset {first}" if first == last else f"offsets {first} to {last}"
        return f"{self.topic}-{self.partition} {offsets}"

    def error_context(
        self, node: str, ordinal: int, timestamp: int, headers: Headers
    ) -> ErrorContext:
        """Returns the place of the row with this ordinal, for a handler of errors."""
        place = self.record_context(ordinal, timestamp, headers)
        return ErrorContext(
            place.topic,
            place.partition,
            place.offset,
            headers,
            node,
            self.task_id,
            timestamp,
            place.source_raw_key,
            place.source_raw_value,
        )
