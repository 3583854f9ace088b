"""Finds the first record of a partition that is not older than a time. Large batches are unpacked in a thread."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.broker.storage.disk_pool import DiskPool
from millstream.errors import KafkaStorageError
from millstream.log.timestamp_lookup import TimeSearch, TimestampedOffset


async def first_found(searches: Iterator[TimeSearch], pool: DiskPool) -> TimestampedOffset | None:
    """Returns the result of the first search that finds a record.

    Raises KafkaStorageError, and KafkaError for a damaged batch.
    """
    for search in searches:
        try:
            found = search.run() if search.is_small else await pool.unpack(search.run)
        except OSError as error:
            raise KafkaStorageError(f"cannot read the log: {error.strerror or error}") from error
        if found is not None:
            return found
    return None
