"""Deletes records of repartition topics that the tasks which read them have committed.

Repartition topics keep records for ever, so that none is lost while its task is away (S12,
repartition.purge.interval.ms).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Mapping
from typing import Final

from millstream.clients import Admin
from millstream.errors import MillstreamError
from millstream.model import TopicPartition
from millstream.net.client.tasks import TaskScope

_LOGGER = logging.getLogger(__name__)


class RepartitionPurge:
    """Says which records may go. `topics` are the repartition topics that are read. Times are monotonic. Pure."""

    def __init__(self, topics: Collection[str], interval_ms: int, now_ms: int) -> None:
        self._topics: Final = frozenset(topics)
        self._interval_ms = interval_ms
        self._purged_ms = now_ms
        self._purged: dict[TopicPartition, int] = {}

    def is_due(self, now_ms: int) -> bool:
        """Whether the interval has passed since the last `take`."""
        return bool(self._topics) and now_ms - self._purged_ms >= self._interval_ms

    def take(
        self, committed: Mapping[TopicPartition, int], now_ms: int
    ) -> dict[TopicPartition, int]:
        """Returns the offsets before which records are to be deleted, where they have moved since the last call."""
        self._purged_ms = now_ms
        due = {
            partition: offset
            for partition, offset in committed.items()
            if partition.topic in self._topics and offset > self._purged.get(partition, 0)
        }
        # Before it is done: what fails goes with the next records, which end further on.
        self._purged |= due
        return due


class Purging:
    """Deletes what the tasks of a stream thread have read, beside their work: one request at a time.

    What fails is tried again with the next interval that finds something new.
    """

    def __init__(self, admin: Admin, purge: RepartitionPurge, log_prefix: str) -> None:
        self._admin = admin
        self._purge: Final = purge
        self._log_prefix = log_prefix
        self._scope = TaskScope("purging")
        self._deleting: asyncio.Task[None] | None = None

    def maybe_begin(self, committed: Mapping[TopicPartition, int], now_ms: int) -> None:
        """Begins to delete what lies before committed offsets, once in each interval."""
        is_deleting = self._deleting is not None and not self._deleting.done()
        if is_deleting or not self._purge.is_due(now_ms):
            return
        due = self._purge.take(committed, now_ms)
        if due:
            self._deleting = self._scope.start(self._delete(due), "delete records", awaited=True)

    async def close(self) -> None:
        await self._scope.close()

    async def _delete(self, before: Mapping[TopicPartition, int]) -> None:
        try:
            errors = (await self._admin.delete_records(before)).errors()
        except MillstreamError as failure:
            _LOGGER.warning("%s repartition topics are not purged: %s", self._log_prefix, failure)
            return
        for partition, error in errors.items():
            _LOGGER.warning(
                "%s %s keeps what has been read of it: %s", self._log_prefix, partition, error
            )
