"""Reads the records of a micro-batch in the driver, before its offsets are written down: for the end of a
stream, and for event times.

So a micro-batch that is run again ends where it was cut and has the watermark that it had, and asks no function. The
price is that each record is read twice: here, and by the task that emits it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from millstream.clients import TopicDeleted
from millstream.errors import OffsetOutOfRange
from millstream.model import Offset, TopicPartition, Uuid
from millstream.spark.connections import close_reading
from millstream.spark.format_options import function_named
from millstream.spark.offsets import Offsets
from millstream.spark.source.end_of_stream import (
    OPTION,
    EndOfStreamOptions,
    Predicate,
    first_end,
)
from millstream.spark.source.event_time.assigners import TimeAssigner, assigner_of
from millstream.spark.source.options import SourceOptions
from millstream.spark.source.planning import link_of, readable_starts
from millstream.spark.source.whole_records import COLUMNS, records_of

if TYPE_CHECKING:
    import pyarrow as pa

_AT_ONCE: Final = 8
"""So many partitions are read at a time: each holds a fetch or two in memory."""


class Answers(NamedTuple):
    """The answers of rows: the offset of the one that ends its partition, and the largest time of those before it."""

    end: Offset | None
    time: int | None


@dataclass(frozen=True)
class RecordQuestions:
    """The questions that are asked about each record of a micro-batch: whether it ends its partition, and its time.

    None: nobody asks.
    """

    end: tuple[EndOfStreamOptions, Predicate] | None
    time: TimeAssigner | None

    def __bool__(self) -> bool:
        return self.end is not None or self.time is not None

    @property
    def columns(self) -> Collection[str]:
        """The columns that are read beside key, value, offset and timestamp."""
        if self.end is not None or self.time is None:
            return COLUMNS
        return self.time.columns

    def asked(self, partition: TopicPartition, rows: pa.RecordBatch) -> Answers:
        """Raises EndOfStreamFailed, WatermarkFailed and EventTimeMissing, which name the record."""
        import pyarrow.compute as pc

        end = None if self.end is None else first_end(*self.end, records_of(partition, rows))
        if end is not None:
            rows = rows.slice(0, pc.index(rows.column("offset"), end).as_py())
        return Answers(end, None if self.time is None else self.time.latest(partition, rows))


def questions_of(options: SourceOptions) -> RecordQuestions:
    wanted = options.end_of_stream
    end = None if wanted is None else (wanted, function_named(OPTION, wanted.function))
    return RecordQuestions(end, assigner_of(options.event_time))


class ScannedRanges(NamedTuple):
    """`starts`: where the ranges begin, behind what was lost meanwhile; `ends`: the end of each partition
    that has one in its range.

    `times`: the largest of each partition before that; those that no record tells are left out.
    """

    starts: Offsets
    ends: Offsets
    times: Mapping[TopicPartition, int]


def scan_records(
    options: SourceOptions,
    questions: RecordQuestions,
    starts: Offsets,
    ends: Offsets,
    topic_ids: Mapping[str, Uuid],
) -> ScannedRanges:
    """Reads each range, up to where its partition ends.

    Raises what the questions raise, and DataLoss where records are gone, if the policy is to fail.
    """
    link, scan = link_of(options), _Scan(options, questions.columns, starts, ends, topic_ids)
    try:
        while scan.is_under_way():
            for partition, rows in link.run(scan.next_rows()).items():
                scan.take(partition, rows, questions.asked(partition, rows))
            scan.go_on_behind_losses()
            link.run(scan.close_those_done())
    finally:
        link.run(scan.close())
    return ScannedRanges(scan.starts, scan.found, scan.times)


class _Scan:
    """The reads that are under way, one batch of each partition at a time."""

    def __init__(
        self,
        options: SourceOptions,
        columns: Collection[str],
        starts: Offsets,
        ends: Offsets,
        topic_ids: Mapping[str, Uuid],
    ) -> None:
        self.starts = dict(starts)
        self.found: dict[TopicPartition, Offset] = {}
        self.times: dict[TopicPartition, int] = {}
        self._options = options
        self._reader = link_of(options).reader()  # made before the event loop runs
        self._columns = columns
        self._ends = ends
        self._ids = topic_ids
        self._at = {tp: start for tp, start in starts.items() if ends.get(tp, start) > start}
        """The next offsets to look at."""
        self._reads: dict[TopicPartition, AsyncIterator[pa.RecordBatch]] = {}
        self._lost: set[TopicPartition] = set()

    def is_under_way(self) -> bool:
        return bool(self._at)

    async def next_rows(self) -> dict[TopicPartition, pa.RecordBatch]:
        """The next rows of some partitions."""
        partitions = sorted(self._at)[:_AT_ONCE]
        reads = [self._read(tp) for tp in partitions]
        answers = await asyncio.gather(*(_next(read) for read in reads), return_exceptions=True)
        rows = {}
        for tp, answer in zip(partitions, answers, strict=True):
            if isinstance(answer, OffsetOutOfRange):
                self._lost.add(tp)
            elif answer is None or isinstance(answer, TopicDeleted):  # the task says what was lost
                del self._at[tp]
            elif isinstance(answer, BaseException):
                raise answer
            else:
                rows[tp] = answer
        return rows

    def take(self, partition: TopicPartition, rows: pa.RecordBatch, found: Answers) -> None:
        """Takes what rows tell: behind its end a partition is not read."""
        end, time = found
        if time is not None:
            self.times[partition] = max(time, self.times.get(partition, time))
        if end is None:
            self._at[partition] = Offset(rows.column("offset")[-1].as_py() + 1)
        else:
            self.found[partition] = end
            del self._at[partition]

    def go_on_behind_losses(self) -> None:
        """What is no longer there for the driver is not there for the task either, so the range is shorter for both."""
        if not self._lost:
            return
        starts = {tp: self.starts[tp] for tp in self._lost}
        moved = readable_starts(self._options, starts, {tp: self._ends[tp] for tp in starts})
        self.starts |= moved
        for tp, start in moved.items():
            if start < self._ends[tp]:
                self._at[tp] = start
            else:
                del self._at[tp]

    async def close_those_done(self) -> None:
        """Those that have met a loss are begun anew."""
        for tp in [tp for tp in self._reads if tp in self._lost or tp not in self._at]:
            await close_reading(self._reads.pop(tp))
        self._lost.clear()

    async def close(self) -> None:
        while self._reads:
            await close_reading(self._reads.popitem()[1])

    def _read(self, partition: TopicPartition) -> AsyncIterator[pa.RecordBatch]:
        if partition not in self._reads:
            self._reads[partition] = self._reader.read(
                partition.topic,
                partition.partition,
                self._at[partition],
                self._ends[partition],
                columns=self._columns,
                topic_id=self._ids.get(partition.topic),
            )
        return self._reads[partition]


async def _next(read: AsyncIterator[pa.RecordBatch]) -> pa.RecordBatch | None:
    """None behind the last one."""
    return await anext(read, None)
