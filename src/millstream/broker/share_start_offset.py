"""Where a share group begins in a partition that it has not read before (`share.auto.offset.reset`)."""

from __future__ import annotations

import re
from typing import Final

from millstream.replication.partition import Partition

_BY_DURATION: Final = "by_duration:"
_DURATION: Final = re.compile(
    r"(?i)P(?:(?P<days>\d+)D)?(?:T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?"
)
_UNIT_MS: Final = {"days": 86_400_000, "hours": 3_600_000, "minutes": 60_000, "seconds": 1_000}


def first_offset(partition: Partition, reset: str, now_ms: int) -> int:
    """`reset` has been checked when it was set; `now_ms` is wall time. Reads batches for a duration."""
    if reset == "earliest":
        return partition.log_start_offset
    if reset.startswith(_BY_DURATION):
        since_ms = now_ms - duration_ms(reset.removeprefix(_BY_DURATION))
        found = partition.offset_for_timestamp(since_ms, is_read_committed=False)
        if found is not None:
            return found.offset
    return partition.latest_offset(is_read_committed=False).offset


def duration_ms(text: str) -> int:
    """ISO 8601, days and smaller: `P1DT2H3M4.5S`."""
    match = _DURATION.fullmatch(text)
    assert match is not None, f"{text} was checked when it was set"
    return round(
        sum(float(number) * _UNIT_MS[unit] for unit, number in match.groupdict().items() if number)
    )
