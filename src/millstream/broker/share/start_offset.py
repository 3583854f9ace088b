"""Finds the first offset of a share group in a partition that it has not read before (`share.auto.offset.reset`)."""

from __future__ import annotations

from typing import Final

from millstream.broker.fetch.time_search import first_found
from millstream.broker.storage.disk_pool import DiskPool
from millstream.metadata.iso_duration import duration_ms
from millstream.replication.partition import Partition

_BY_DURATION: Final = "by_duration:"


async def first_offset(partition: Partition, reset: str, now_ms: int, pool: DiskPool) -> int:
    """Returns the first offset. `reset` was checked when it was set; `now_ms` is wall time.

    Unpacks batches for a duration.
    """
    if reset == "earliest":
        return partition.log_start_offset
    if reset.startswith(_BY_DURATION):
        since_ms = now_ms - duration_ms(reset.removeprefix(_BY_DURATION))
        found = await first_found(partition.log.timestamp_searches(since_ms), pool)
        if found is not None and partition.is_visible(found, is_read_committed=False):
            return found.offset
    return partition.latest_offset(is_read_committed=False).offset
