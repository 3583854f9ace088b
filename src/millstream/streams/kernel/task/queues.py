"""Input of a task: one queue per topic, and the choice which of them goes next.

Records are decoded when they come to the head of their queue. A record that cannot be read is left out, or kept
as an error that is raised once, when its turn comes, as the handler says.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from operator import index
from typing import Any, Final

from millstream.streams.errors import StreamsError
from millstream.streams.kernel.columns.batch import (
    NO_HEADERS,
    Batch,
    Headers,
    RawBatch,
    joined,
    rows_of,
)
from millstream.streams.kernel.columns.column import source_column
from millstream.streams.kernel.context import TaskContext
from millstream.streams.kernel.priority_queue import PriorityQueue
from millstream.streams.kernel.task.failures import Failures
from millstream.streams.serdes.serde import Serde
from millstream.streams.timestamps import OWN_TIMESTAMP, ConsumedRecord, TimestampExtractor

_JOINED_ROWS_MAX: Final = 65_536
_JOINED_BYTES_MAX: Final = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class SourceReader:
    """Makes rows of the records of a source; serdes and extractor are resolved."""

    node: str
    topic: str
    key: Serde[Any]  # Any: a source of any type
    value: Serde[Any]  # Any: a source of any type
    timestamps: TimestampExtractor


@dataclass(slots=True)
class Run:
    """Rows of one topic that are processed together, and the offset of each."""

    node: str
    topic: str
    batch: Batch
    offsets: Sequence[int]
    raw_keys: Sequence[bytes | None]
    raw_values: Sequence[bytes | None]
    newest: int
    """The largest timestamp of the rows."""


class RecordQueue:
    """Records of one topic in offset order."""

    def __init__(
        self,
        reader: SourceReader,
        context: TaskContext,
        failures: Failures,
        *,
        as_lists: bool = False,
    ) -> None:
        """`as_lists`: rows go on one by one, so that it is cheaper to read all of them first."""
        self.reader = reader
        self._as_lists = as_lists
        self._failures = failures
        self.next_offset: int | None = None
        """The offset after everything that has been taken or skipped."""
        self.partition_time = -1
        """The largest timestamp that was read; rows are read before they are taken."""
        self.taken = 0
        self.taken_time = -1
        """The largest timestamp that was taken."""
        self._committed_time = -1
        self.is_waiting = False
        """Whether it has a place in the order of its group, or is about to take it."""
        self._context = context
        self._raw: deque[RawBatch] = deque()
        self._rows = Batch([], [], [], [], [])
        self._offsets: Sequence[int] = ()
        self._raw_keys: Sequence[bytes | None] = []
        self._raw_values: Sequence[bytes | None] = []
        self._at = 0
        self._end_offset: int | None = None
        self._error: StreamsError | None = None

    def add(self, raw: RawBatch) -> None:
        if len(raw):
            self._raw.append(raw)

    def head_timestamp(self) -> int | None:
        """The timestamp of the next row, or None if there is none; raises what keeps it from being read."""
        while self._at >= len(self._rows):
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            if not self._raw:
                return None
            self._decode(self._next_raw())
        return self._rows.timestamps[self._at]

    def take(self, rows_max: int, before: int | None) -> Run:
        """The head row, and following ones whose timestamps are smaller than `before`."""
        first, timestamps = self._at, self._rows.timestamps
        end = min(len(timestamps), first + rows_max)
        if before is not None and end > first + 1:
            end = next((i for i in range(first + 1, end) if timestamps[i] >= before), end)
        self._at = end
        self.taken += end - first
        batch = self._rows.part(first, end)
        batch.ordinals = list(range(end - first))
        newest = timestamps[first] if end == first + 1 else max(batch.timestamps)
        self.taken_time = max(self.taken_time, newest)
        run = Run(
            self.reader.node,
            self.reader.topic,
            batch,
            rows_of(self._offsets, first, end),
            rows_of(self._raw_keys, first, end),
            rows_of(self._raw_values, first, end),
            newest,
        )
        if end == len(timestamps) and self._error is None:
            self.next_offset = self._end_offset
        else:
            self.next_offset = run.offsets[-1] + 1
        return run

    def commit(self) -> None:
        """Makes what was taken final: it will not come again."""
        self._committed_time = self.taken_time

    def resume(self, partition_time: int) -> None:
        """Go on behind records of which this was the largest timestamp."""
        self.partition_time = self.taken_time = self._committed_time = partition_time

    def __len__(self) -> int:
        """Records that wait."""
        return len(self._rows) - self._at + sum(map(len, self._raw))

    def clear(self) -> None:
        """Forget everything that was added, and how far it was taken since the last commit."""
        self.next_offset = None
        self.partition_time = self.taken_time = self._committed_time
        self._raw.clear()
        self._rows = Batch([], [], [], [], [])
        self._offsets = ()
        self._at = 0
        self._error = None

    def _next_raw(self) -> RawBatch:
        """Takes the batch that waits first, with those that came as Arrow behind it: what operators do once for a batch costs less then.

        A fetch is a megabyte at most, about 10,000 small records.
        """
        taken = [self._raw.popleft()]
        size_bytes = taken[0].arrow_bytes
        if size_bytes is None or self._as_lists:
            return taken[0]
        rows = len(taken[0])
        while self._raw:
            more = self._raw[0]
            more_bytes = more.arrow_bytes
            if more_bytes is None:
                break
            rows, size_bytes = rows + len(more), size_bytes + more_bytes
            if rows > _JOINED_ROWS_MAX or size_bytes > _JOINED_BYTES_MAX:
                break
            taken.append(self._raw.popleft())
        return joined(taken)

    def _decode(self, raw: RawBatch) -> None:
        self._at = 0
        self._end_offset = raw.offsets[-1] + 1
        rows = self._decode_columns(raw)
        if rows is not None:
            self._rows, self._offsets = rows.as_lists() if self._as_lists else rows, raw.offsets
            self._raw_keys, self._raw_values = raw.keys, raw.values
            newest = max(raw.timestamps)
            self.partition_time = max(self.partition_time, newest)
            return
        self._decode_one_by_one(raw)
        if not len(self._rows) and self._error is None:
            self.next_offset = self._end_offset

    def _decode_columns(self, raw: RawBatch) -> Batch | None:
        """All rows at once, or None where they must be looked at one by one."""
        reader = self.reader
        if reader.timestamps not in OWN_TIMESTAMP or min(raw.timestamps) < 0:
            return None
        try:
            keys = source_column(reader.key, raw.keys)
            values = source_column(reader.value, raw.values)
        except Exception:  # noqa: BLE001  # some record cannot be read; the caller finds out which
            return None
        return Batch(keys, values, raw.timestamps, _headers_of(raw), [])

    def _decode_one_by_one(self, raw: RawBatch) -> None:
        headers = _headers_of(raw)
        rows = Batch([], [], [], [], [])
        kept: list[int] = []
        for row in range(len(raw)):
            try:
                decoded = self._decode_row(raw, row)
            except StreamsError as error:
                self._error = error
                self._put_back(raw, row + 1)
                break
            if decoded is None:
                continue
            self.partition_time = max(self.partition_time, decoded.timestamp)
            rows.keys.append(decoded.key)
            rows.values.append(decoded.value)
            rows.timestamps.append(decoded.timestamp)
            rows.headers.append(headers[row])
            kept.append(row)
        self._rows, self._offsets = rows, [raw.offsets[row] for row in kept]
        self._raw_keys = [raw.keys[row] for row in kept]
        self._raw_values = [raw.values[row] for row in kept]

    def _decode_row(self, raw: RawBatch, row: int) -> ConsumedRecord | None:
        """The record, or None if it is to be dropped."""
        reader, key, value = self.reader, raw.keys[row], raw.values[row]
        try:
            record = ConsumedRecord(
                reader.topic,
                self._context.partition,
                raw.offsets[row],
                raw.timestamps[row],
                None if key is None else reader.key.decode(key),
                None if value is None else reader.value.decode(value),
                NO_HEADERS if raw.headers is None else raw.headers[row],
                self._context.wall_clock_ms,
            )
        except Exception as error:  # noqa: BLE001  # the handler raises it again with the place
            serdes = f"{reader.key.name} for the key and {reader.value.name} for the value"
            self._failures.unreadable(reader.node, reader.topic, raw, row, error, serdes=serdes)
            return None
        record.timestamp = self._timestamp_of(record)
        if record.timestamp < 0:
            self._context.dropped_records += 1
            return None
        return record

    def _timestamp_of(self, record: ConsumedRecord) -> int:
        """What the extractor says; StreamsError names it and the place where it fails or gives no integer."""
        extract = self.reader.timestamps
        try:
            return index(extract(record, self.partition_time))
        except StreamsError:
            raise
        except Exception as error:
            name = getattr(extract, "__name__", type(extract).__name__)
            place = f"{record.topic}-{record.partition} offset {record.offset}"
            raise StreamsError(
                f"timestamp extractor {name} of source {self.reader.node} failed on {place}: {error!r}; "
                "it gives milliseconds as an int, a negative one to drop the record"
            ) from error

    def _put_back(self, raw: RawBatch, first: int) -> None:
        """What is behind a record that stops the task."""
        if first < len(raw):
            self._raw.appendleft(
                RawBatch(
                    raw.keys[first:],
                    raw.values[first:],
                    raw.timestamps[first:],
                    raw.offsets[first:],
                    None if raw.headers is None else raw.headers[first:],
                )
            )


class PartitionGroup:
    """The queues of a task, in the order of their heads' timestamps."""

    def __init__(self, queues: dict[str, RecordQueue]) -> None:
        self.queues = queues
        self._order = PriorityQueue[RecordQueue]()
        self._unplaced: list[RecordQueue] = []
        """Queues that take their places in this order when the next run is wanted; nothing is decoded before."""

    def add(self, topic: str, raw: RawBatch) -> None:
        queue = self.queues[topic]
        queue.add(raw)
        if not queue.is_waiting:
            queue.is_waiting = True
            self._unplaced.append(queue)

    def take(self, rows_max: int) -> Run | None:
        """The next run: rows of one topic that no other topic's head comes before."""
        while self._unplaced:
            self._place(self._unplaced[0])
            del self._unplaced[0]
        order = self._order
        if not order:
            return None
        queue = order.poll()
        run = queue.take(rows_max, order.smallest)
        if len(order) > _ORDERED_ALONE_MAX:  # as if the rows had been taken one by one
            for timestamp in run.batch.timestamps[1:]:
                order.offer(timestamp, queue)
                order.poll()
        self._unplaced.append(queue)
        return run

    @property
    def stream_time(self) -> int:
        """The largest timestamp taken of any topic, -1 at first."""
        return max((queue.taken_time for queue in self.queues.values()), default=-1)

    def commit(self) -> None:
        for queue in self.queues.values():
            queue.commit()

    def clear(self) -> None:
        self._order.clear()
        self._unplaced.clear()
        for queue in self.queues.values():
            queue.is_waiting = False
            queue.clear()

    def _place(self, queue: RecordQueue) -> None:
        timestamp = queue.head_timestamp()
        queue.is_waiting = timestamp is not None
        if timestamp is not None:
            self._order.offer(timestamp, queue)


_ORDERED_ALONE_MAX = 2
"""Among so few others, taking and offering a queue again leaves them in their order."""


def _headers_of(raw: RawBatch) -> list[Headers]:
    return raw.headers if raw.headers is not None else [NO_HEADERS] * len(raw)
