"""The queues of a task's input, one per topic. Which of them goes next is the affair of `partition_group.py`.

Records are decoded when they come to the head of their queue. A record that cannot be read is left out, or kept
as an error that is raised once, when its turn comes, as the handler says.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from operator import index
from typing import TYPE_CHECKING, Any, Final

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
from millstream.streams.kernel.columns.origins import OriginBatch, never_back
from millstream.streams.kernel.current_run import CurrentRun, Run
from millstream.streams.kernel.task.failures import Failures
from millstream.streams.kernel.task.upstreams import AT_ITS_END, UpstreamMerge
from millstream.streams.serdes.serde import Serde
from millstream.streams.timestamps import OWN_TIMESTAMP, ConsumedRecord, TimestampExtractor

if TYPE_CHECKING:
    from millstream.streams.kernel.columns.batch import Numbers

_JOINED_ROWS_MAX: Final = 65_536
_JOINED_BYTES_MAX: Final = 16 * 1024 * 1024
"""So much of a backlog goes on together: seven fetches of small records, or sixteen of large ones. With that a host on
Spark took 0.79 times the processor time for windows, and 0.75 for counts.
"""


@dataclass(frozen=True, slots=True)
class SourceReader:
    """Makes rows of the records of a source; serdes and extractor are resolved."""

    node: str
    topic: str
    key: Serde[Any]  # Any: a source of any type
    value: Serde[Any]  # Any: a source of any type
    timestamps: TimestampExtractor


@dataclass(slots=True)
class TakenRows:
    """Rows of one topic that are processed together, and the source that they belong to.

    `newest`: the largest timestamp of the rows.
    """

    node: str
    batch: Batch
    newest: int
    run: Run


class RecordQueue:
    """Records of one topic in offset order; with `upstreams` in the order of origin time."""

    def __init__(
        self,
        reader: SourceReader,
        current: CurrentRun,
        failures: Failures,
        *,
        upstreams: UpstreamMerge | None = None,
        knows_origins: bool = False,
        tells_newest: bool = False,
    ) -> None:
        """`knows_origins`: runs have origin times. `tells_newest`: it is asked for the newest origin time."""
        self.reader = reader
        self._failures = failures
        self.upstreams: Final = upstreams
        self._knows_origins = knows_origins
        self._tells_newest = tells_newest and reader.timestamps in OWN_TIMESTAMP
        self._origin_times: Numbers | None = None
        self._done_to: int | None = None
        self._newest_added = -1
        self.partition_time = -1
        """The largest timestamp that was read; rows are read before they are taken."""
        self.taken = 0
        self.taken_bytes = 0
        """The size of the batches that records have been taken of."""
        self.taken_time = -1
        """The largest timestamp that was taken."""
        self._committed_time = -1
        self.is_waiting = False
        """Whether it has a place in the order of its group, or is about to take it."""
        self._current = current
        self._raw: deque[RawBatch] = deque()
        self._rows = Batch([], [], [], [], [])
        self._newest_row: int | None = None
        """The largest timestamp of the decoded rows, where it is known."""
        self._offsets: Sequence[int] = ()
        self._raw_keys: Sequence[bytes | None] = []
        self._raw_values: Sequence[bytes | None] = []
        self._at = 0
        self._end_offset: int | None = None
        self._error: StreamsError | None = None
        self._raw_rows = self._raw_done = 0
        """Of the batch that was decoded last: how many records it had, and how many are taken or left out."""
        self._kept: Sequence[int] | None = None
        """The places of the rows in that batch; None where no record was left out."""

    @property
    def next_offset(self) -> int | None:
        """The offset after everything that has been taken or skipped; with `upstreams` that of the
        first record that has not.
        """
        if self.upstreams is None:
            return self._done_to
        found = self.upstreams.position()
        return None if found is None else found[0]

    @property
    def waits_for_upstreams(self) -> bool:
        """Whether an upstream task has more to write: others wait for what that is, not for the topic."""
        return self.upstreams is not None and self.upstreams.bound[0] != AT_ITS_END

    def add(self, records: RawBatch | OriginBatch) -> None:
        if self.upstreams is not None:
            self.upstreams.add(records)
        elif len(records):
            raw = records if isinstance(records, RawBatch) else records.raw()
            self._raw.append(raw)
            if self._tells_newest:
                newest = max(raw.timestamps)
                self._newest_added = max(self._newest_added, newest)

    @property
    def newest_origin_time(self) -> int:
        """The largest origin time that was added since the start, as far as it is known.

        What an extractor says is known once the record is decoded.
        """
        if self.upstreams is not None:
            return self.upstreams.newest
        return max(self._newest_added, self.partition_time)

    @property
    def first_origin_time(self) -> int:
        """A time before which no record of a source topic is that waits or is still to come.

        Nothing is decoded for it.
        """
        if self._at < len(self._rows):
            assert self._origin_times is not None, "the queues of such a task know them"
            return int(self._origin_times[self._at])
        if not self._raw or self.reader.timestamps not in OWN_TIMESTAMP:
            return self.partition_time
        return max(self.partition_time, self._raw[0].timestamps[0])

    def head_timestamp(self) -> int | None:
        """The timestamp of the next row, or None if there is none; raises what keeps it from being read."""
        while self._at >= len(self._rows):
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            raw = self._next_raw()
            if raw is None:
                return None
            self._decode(raw)
        return self._rows.timestamps[self._at]

    def head_origin_time(self) -> int | None:
        """Returns the origin time of the next row, as `head_timestamp` does its timestamp."""
        if self.head_timestamp() is None:
            return None
        assert self._origin_times is not None, "the queues of such a task know them"
        return int(self._origin_times[self._at])

    def take(self, rows_max: int, before: int | None) -> TakenRows:
        """The head row, and following ones whose timestamps are smaller than `before`."""
        first, timestamps = self._at, self._rows.timestamps
        end = min(len(timestamps), first + rows_max)
        if before is not None and end > first + 1:
            end = next((i for i in range(first + 1, end) if timestamps[i] >= before), end)
        return self._take(end)

    def take_by_origin(self, rows_max: int, before: int | None) -> TakenRows:
        """The head row, and following ones whose origin times are smaller than `before`."""
        first = self._at
        end = min(len(self._rows), first + rows_max)
        assert self._origin_times is not None, "the queues of such a task know them"
        if before is not None and before <= AT_ITS_END:  # else none is as late
            end = first + 1 + int(self._origin_times[first + 1 : end].searchsorted(before))
        return self._take(end)

    def _take(self, end: int) -> TakenRows:
        first, timestamps = self._at, self._rows.timestamps
        self._at = end
        self.taken += end - first
        batch = self._rows.part(first, end)
        batch.ordinals = ordinals = list(range(end - first))
        newest = self._newest_from(first, end)
        self.taken_time = max(self.taken_time, newest)
        run = Run(
            self.reader.topic,
            rows_of(self._offsets, first, end),
            rows_of(self._raw_keys, first, end),
            rows_of(self._raw_values, first, end),
            None if self._origin_times is None else self._origin_times[first:end],
            batch.timestamps,
            ordinals,
        )
        if end == len(timestamps) and self._error is None:
            self._note_done(self._raw_rows, self._end_offset)
        else:
            row = end - 1 if self._kept is None else self._kept[end - 1]
            self._note_done(row + 1, run.offsets[-1] + 1)
        return TakenRows(self.reader.node, batch, newest, run)

    def _newest_from(self, first: int, end: int) -> int:
        """Returns the largest timestamp of rows first to end."""
        timestamps = self._rows.timestamps
        if end == first + 1:
            return timestamps[first]
        if end - first == len(timestamps) and self._newest_row is not None:
            return self._newest_row
        return max(timestamps[first:end])

    def _note_done(self, raw_rows: int, next_offset: int | None) -> None:
        """Notes that so many records of the decoded batch are taken or left out, and in the order
        of offsets all before this one.
        """
        if self.upstreams is None:
            self._done_to = next_offset
        else:
            self.upstreams.take(raw_rows - self._raw_done)
            self._raw_done = raw_rows

    def commit(self) -> None:
        """Makes what was taken final: it will not come again."""
        self._committed_time = self.taken_time
        if self.upstreams is not None:
            self.upstreams.commit()

    def resume(self, partition_time: int) -> None:
        """Go on behind records of which this was the largest timestamp."""
        self.partition_time = self.taken_time = self._committed_time = partition_time

    def __len__(self) -> int:
        """Records that wait."""
        held = 0 if self.upstreams is None else self.upstreams.waiting
        return len(self._rows) - self._at + sum(map(len, self._raw)) + held

    def clear(self) -> None:
        """Forget everything that was added, and how far it was taken since the last commit."""
        self._done_to = None
        self._newest_added = -1
        if self.upstreams is not None:
            self.upstreams.clear()
        self.partition_time = self.taken_time = self._committed_time
        self._raw.clear()
        self._rows = Batch([], [], [], [], [])
        self._offsets = ()
        self._at = 0
        self._error = None

    def _next_raw(self) -> RawBatch | None:
        """Takes what may be decoded next; None where there is nothing."""
        if self._raw:
            return self._joined_raw()
        return None if self.upstreams is None else self.upstreams.release()

    def _joined_raw(self) -> RawBatch:
        """Takes the batch that waits first, with those that came as Arrow behind it: what operators do once
        for a batch costs less then.

        A fetch is a megabyte at most, about 10,000 small records.
        """
        taken = [self._raw.popleft()]
        size_bytes = taken[0].arrow_bytes
        if size_bytes is None:
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
        self._at = self._raw_done = 0
        self._raw_rows, self._kept = len(raw), None
        self._end_offset = raw.offsets[-1] + 1
        partition_time = self.partition_time
        self.taken_bytes += raw.size_bytes(self.reader.topic)
        rows = self._decode_columns(raw)
        if rows is not None:
            self._rows, self._offsets = rows, raw.offsets
            self._raw_keys, self._raw_values = raw.keys, raw.values
            self._newest_row = max(raw.timestamps)
            self.partition_time = max(self.partition_time, self._newest_row)
        else:
            self._newest_row = None
            self._decode_one_by_one(raw)
            if not len(self._rows) and self._error is None:
                self._note_done(self._raw_rows, self._end_offset)
        if self._knows_origins:
            self._origin_times = self._find_origin_times(raw, partition_time)

    def _find_origin_times(self, raw: RawBatch, partition_time: int) -> Numbers:
        """Returns those of the rows: what upstream tasks say, or else the largest timestamp up to each."""
        if raw.origin_times is None:
            return never_back(self._rows.timestamps, partition_time)
        return raw.origin_times if self._kept is None else raw.origin_times[self._kept]

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
        self._kept = kept
        self._rows, self._offsets = rows, [raw.offsets[row] for row in kept]
        self._raw_keys = [raw.keys[row] for row in kept]
        self._raw_values = [raw.values[row] for row in kept]

    def _decode_row(self, raw: RawBatch, row: int) -> ConsumedRecord | None:
        """The record, or None if it is to be dropped."""
        reader, key, value = self.reader, raw.keys[row], raw.values[row]
        try:
            record = ConsumedRecord(
                reader.topic,
                self._current.partition,
                raw.offsets[row],
                raw.timestamps[row],
                None if key is None else reader.key.decode(key),
                None if value is None else reader.value.decode(value),
                NO_HEADERS if raw.headers is None else raw.headers[row],
                self._current.wall_clock_ms,
            )
        except Exception as error:  # noqa: BLE001  # the handler raises it again with the place
            serdes = f"{reader.key.name} for the key and {reader.value.name} for the value"
            self._failures.handle_deserialization_failure(
                reader.node, reader.topic, raw, row, error, serdes=serdes
            )
            return None
        record.timestamp = self._timestamp_of(record)
        if record.timestamp < 0:
            self._failures.handle_negative_timestamp(reader.node, record)
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
        self._raw_rows = first
        if first < len(raw):
            self._raw.appendleft(raw.part(first, len(raw)))


def _headers_of(raw: RawBatch) -> list[Headers]:
    return raw.headers if raw.headers is not None else [NO_HEADERS] * len(raw)
