"""The times of partitions that only their records tell: the largest in a header, or the largest that a
function of the user returns.

Pure but for the call of that function. The driver asks for the records of a micro-batch before its offsets are written
down, so the watermark behind it follows from those offsets and the log alone, whoever plans it and however often.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from millstream.clients import ConsumerRecord
from millstream.errors import MillstreamError
from millstream.model import TopicPartition
from millstream.spark.format_options import function_named
from millstream.spark.source.event_time.header_times import times_of_rows
from millstream.spark.source.event_time.options import (
    WATERMARK_FUNCTION,
    EventTimeOptions,
    WatermarkMode,
)
from millstream.spark.source.event_time.record_times import BadTimestamps, is_time
from millstream.spark.source.whole_records import COLUMNS, reason_of, records_of

if TYPE_CHECKING:
    import pyarrow as pa

WatermarkFunction = Callable[[ConsumerRecord], object]
"""A watermark in milliseconds since 1970, or None for a record that brings none; what users return is checked."""


class WatermarkFailed(MillstreamError):
    """The function of `watermarkFunction` has raised, or has returned neither a time nor None."""


class TimeAssigner(Protocol):
    """Of all partitions of a query.

    It keeps nothing between records: a micro-batch that is planned again has the same times.
    """

    @property
    def columns(self) -> Collection[str]:
        """The columns that are read beside key, value, offset and timestamp."""
        ...

    def latest(self, partition: TopicPartition, rows: pa.RecordBatch) -> int | None:
        """The largest time of these rows, None where there is none."""
        ...


def assigner_of(options: EventTimeOptions) -> TimeAssigner | None:
    """None where the heads of batches have the times, and where there is no watermark."""
    if not options.reads_records:
        return None
    if options.mode is WatermarkMode.PUNCTUATED:
        assert options.function is not None, "a punctuated watermark has a function"
        return PunctuatedWatermarks(
            options.function, function_named(WATERMARK_FUNCTION, options.function)
        )
    assert options.header is not None, "records are read for a function or for a header"
    return HeaderTimes(options.header, options.bad_timestamps)


@dataclass(frozen=True)
class HeaderTimes:
    header: str
    bad_timestamps: BadTimestamps = BadTimestamps.FAIL
    columns = frozenset({"headers"})

    def latest(self, partition: TopicPartition, rows: pa.RecordBatch) -> int | None:
        times = times_of_rows(self.header, partition, rows, self.bad_timestamps)
        return max((time_ms for time_ms in times if time_ms is not None), default=None)


@dataclass(frozen=True)
class PunctuatedWatermarks:
    name: str
    function: WatermarkFunction
    columns = COLUMNS

    def latest(self, partition: TopicPartition, rows: pa.RecordBatch) -> int | None:
        found = (self._watermark(record) for record in records_of(partition, rows))
        return max((time_ms for time_ms in found if time_ms is not None), default=None)

    def _watermark(self, record: ConsumerRecord) -> int | None:
        try:
            found = self.function(record)
        except Exception as error:
            raise self._failed(record, f"raised {reason_of(error)}") from error
        if found is None:
            return None
        # bool is one of its kinds
        if type(found) is not int or not is_time(found):
            raise self._failed(record, f"returned {found!r}")
        return found

    def _failed(self, record: ConsumerRecord, what: str) -> WatermarkFailed:
        place = f"{record.topic}-{record.partition} offset {record.offset}"
        return WatermarkFailed(
            f"{WATERMARK_FUNCTION} {self.name} does not say which watermark {place} brings: it {what}, and must return milliseconds since 1970 "
            "as a whole number, of the years 1 to 9999, or None"
        )
