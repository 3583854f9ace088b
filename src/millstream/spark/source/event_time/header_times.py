"""`eventTimeHeader`: the event time of each record out of one of its headers. Pure.

The value is milliseconds since 1970: a decimal number, or 8 big-endian bytes. The two are not taken for each other,
since 8 digits read as a number of 8 bytes are a time that no timestamp can hold. Where a record has the header several
times, the last one counts, as in Kafka.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from millstream.errors import MillstreamError
from millstream.model import TopicPartition
from millstream.spark.source.event_time.record_times import WAY_ON, BadTimestamps, is_time

if TYPE_CHECKING:
    import pyarrow as pa

OPTION: Final = "eventTimeHeader"
EVENT_TIME_COLUMN: Final = "eventTime"
_DECIMAL: Final = re.compile(rb"-?[0-9]{1,16}")
_BINARY_BYTES: Final = 8
_SHOWN_BYTES: Final = 40


class EventTimeMissing(MillstreamError):
    """A record does not have the header of `eventTimeHeader`, or no time in it."""


def time_in(value: bytes | None) -> int | None:
    """Returns the time that the value of a header is, None where it is none."""
    if value is None:
        return None
    if _DECIMAL.fullmatch(value):
        time_ms = int(value)
    elif len(value) == _BINARY_BYTES:
        time_ms = int.from_bytes(value, "big", signed=True)
    else:
        return None
    return time_ms if is_time(time_ms) else None


def times_of_rows(
    name: str,
    partition: TopicPartition,
    rows: pa.RecordBatch,
    bad_timestamps: BadTimestamps = BadTimestamps.FAIL,
) -> list[int | None]:
    """Returns the time of each row. Raises EventTimeMissing for the first one that has none, where those fail."""
    values, having = _last_values(name, rows)
    times = [time_in(value) for value in values]
    if bad_timestamps is BadTimestamps.NULL or None not in times:
        return times
    row = times.index(None)
    place = f"{partition} offset {rows.column('offset')[row].as_py()}"
    shown = "has no such header" if row not in having else f"has {_shown(values[row])} there"
    raise EventTimeMissing(
        f"{OPTION} {name} gives {place} no event time: the record {shown}, and every record must have milliseconds since 1970 there, as a "
        f"decimal number or as 8 big-endian bytes. {WAY_ON}"
    )


def _last_values(name: str, rows: pa.RecordBatch) -> tuple[list[bytes | None], set[int]]:
    """The value of the last such header of each row, and the rows that have one: a header may be null."""
    import pyarrow.compute as pc

    headers = rows.column("headers")
    each = headers.flatten()
    is_wanted = pc.equal(each.field("key"), name)
    having = pc.list_parent_indices(headers).filter(is_wanted).to_pylist()
    values: list[bytes | None] = [None] * rows.num_rows
    for row, value in zip(having, each.field("value").filter(is_wanted).to_pylist(), strict=True):
        values[row] = value
    return values, set(having)


def _shown(value: bytes | None) -> str:
    if value is None:
        return "null"
    return repr(value) if len(value) <= _SHOWN_BYTES else f"{value[:_SHOWN_BYTES]!r}…"


def with_event_time(
    name: str,
    partition: TopicPartition,
    rows: pa.RecordBatch,
    bad_timestamps: BadTimestamps = BadTimestamps.FAIL,
) -> pa.RecordBatch:
    """Adds the column of event times."""
    import pyarrow as pa
    import pyarrow.compute as pc

    times = times_of_rows(name, partition, rows, bad_timestamps)
    times_us = pc.multiply(pa.array(times, pa.int64()), 1000)
    return rows.append_column(EVENT_TIME_COLUMN, times_us.cast(pa.timestamp("us", tz="UTC")))
