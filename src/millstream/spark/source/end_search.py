"""Looks for the end of a stream in the records of a micro-batch, in the driver, before its offsets are written down.

So a micro-batch that is run again ends where it was cut, and asks no function. The price is that each record is read twice: here,
and by the task that emits it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from millstream.clients import TopicDeleted
from millstream.errors import OffsetOutOfRange
from millstream.model import Offset, TopicPartition, Uuid
from millstream.spark.connections import closed
from millstream.spark.named_functions import function_named
from millstream.spark.offsets import Offsets
from millstream.spark.source.end_of_stream import (
    COLUMNS,
    OPTION,
    EndOfStreamOptions,
    first_end,
    records_of,
)
from millstream.spark.source.options import SourceOptions
from millstream.spark.source.planning import link_of, readable_starts

if TYPE_CHECKING:
    import pyarrow as pa

_AT_ONCE: Final = 8
"""So many partitions are read at a time: each holds a fetch or two in memory."""


class SearchedRanges(NamedTuple):
    """`starts`: where the ranges begin, behind what was lost meanwhile; `ends`: the end of each partition that has one in its range."""

    starts: Offsets
    ends: Offsets


def search_ends(
    options: SourceOptions,
    wanted: EndOfStreamOptions,
    starts: Offsets,
    ends: Offsets,
    topic_ids: Mapping[str, Uuid],
) -> SearchedRanges:
    """Reads each range until the function of the options is true of a record.

    Raises EndOfStreamFailed where the function does not say, and DataLoss where records are gone, if the policy is to fail.
    """
    link, is_end = link_of(options), function_named(OPTION, wanted.function)
    search = _Search(options, starts, ends, topic_ids)
    try:
        while search.is_under_way():
            for partition, rows in link.run(search.next_rows()).items():
                found = first_end(wanted, is_end, records_of(partition, rows))
                search.take(partition, rows, found)
            search.go_on_behind_losses()
            link.run(search.close_those_done())
    finally:
        link.run(search.close())
    return SearchedRanges(search.starts, search.found)


class _Search:
    """The reads that are under way, one batch of each partition at a time."""

    def __init__(
        self,
        options: SourceOptions,
        starts: Offsets,
        ends: Offsets,
        topic_ids: Mapping[str, Uuid],
    ) -> None:
        self.starts = dict(starts)
        self.found: dict[TopicPartition, Offset] = {}
        self._options = options
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

    def take(self, partition: TopicPartition, rows: pa.RecordBatch, end: Offset | None) -> None:
        """Takes what was found in rows: behind its end a partition is not read."""
        if end is None:
            self._at[partition] = Offset(rows.column("offset")[-1].as_py() + 1)
        else:
            self.found[partition] = end
            del self._at[partition]

    def go_on_behind_losses(self) -> None:
        """What is no longer there for the search is not there for the task either, so the range is shorter for both."""
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
            await closed(self._reads.pop(tp))
        self._lost.clear()

    async def close(self) -> None:
        while self._reads:
            await closed(self._reads.popitem()[1])

    def _read(self, partition: TopicPartition) -> AsyncIterator[pa.RecordBatch]:
        if partition not in self._reads:
            self._reads[partition] = (
                link_of(self._options)
                .reader()
                .read(
                    partition.topic,
                    partition.partition,
                    self._at[partition],
                    self._ends[partition],
                    columns=COLUMNS,
                    topic_id=self._ids.get(partition.topic),
                )
            )
        return self._reads[partition]


async def _next(read: AsyncIterator[pa.RecordBatch]) -> pa.RecordBatch | None:
    """None behind the last one."""
    return await anext(read, None)
