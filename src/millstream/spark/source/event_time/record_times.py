"""Times that a record says and no column holds: which they are, and what becomes of them (`badTimestamps`). Pure.

A topic takes any 64-bit number for a timestamp unless it is configured otherwise. Spark's timestamps are of the years 1
to 9999, and one of them in the wrong unit, nanoseconds for instance, would carry a watermark ahead for good: it counts
for no watermark, whatever the option is.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from millstream.errors import MillstreamError
from millstream.model import TopicPartition

if TYPE_CHECKING:
    import pyarrow as pa

OPTION: Final = "badTimestamps"
TIME_MS_MIN: Final = -62_135_596_800_000
"""The first millisecond of the year 1."""
TIME_MS_MAX: Final = 253_402_300_799_999
"""The last millisecond of the year 9999."""
_UNITS: Final = {"microseconds": 1_000, "nanoseconds": 1_000_000}
_LIKELY_MS: Final = (946_684_800_000, 4_102_444_800_000)  # the years 2000 to 2100
WAY_ON: Final = (
    f"{OPTION}=null goes on: the column is null there, and the record counts for no watermark"
)


class BadTimestamps(Enum):
    """The treatment of records whose time no column holds."""

    FAIL = "fail"
    NULL = "null"
    """The column is null."""


class BadTimestamp(MillstreamError):
    """A record's timestamp is outside the years that Spark's timestamps have."""


def is_time(time_ms: int) -> bool:
    return TIME_MS_MIN <= time_ms <= TIME_MS_MAX


def timestamps_of(
    partition: TopicPartition, rows: pa.RecordBatch, bad_timestamps: BadTimestamps
) -> pa.Array:
    """Returns the milliseconds of `timestamp` as Spark's timestamps.

    Raises BadTimestamp for the first that is none, where those fail.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    times = rows.column("timestamp")
    bounds = pc.min_max(times).as_py()
    if bounds["min"] is not None and not (is_time(bounds["min"]) and is_time(bounds["max"])):
        is_held = pc.and_(pc.greater_equal(times, TIME_MS_MIN), pc.less_equal(times, TIME_MS_MAX))
        if bad_timestamps is BadTimestamps.FAIL:
            row = pc.index(is_held, value=False).as_py()
            offset = rows.column("offset")[row].as_py()
            raise BadTimestamp(
                f"{partition} offset {offset} has {_told(times[row].as_py())}. {WAY_ON}"
            )
        times = pc.if_else(is_held, times, pa.scalar(None, pa.int64()))
    return pc.multiply(times, 1000).cast(pa.timestamp("us", tz="UTC"))


def _told(time_ms: int) -> str:
    when = "before the year 1" if time_ms < 0 else "after the year 9999"
    earliest, latest = _LIKELY_MS
    units = [unit for unit, each in _UNITS.items() if earliest <= time_ms / each <= latest]
    guess = f", and looks like {units[0]}" if units else ""
    return f"the timestamp {time_ms}, which in milliseconds since 1970 is {when}{guess}"
