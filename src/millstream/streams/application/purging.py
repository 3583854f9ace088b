"""Deletes what the tasks of a stream thread have read of repartition topics, beside their work."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Final

from millstream.clients import Admin
from millstream.errors import MillstreamError
from millstream.model import TopicPartition
from millstream.net.client.tasks import TaskScope
from millstream.streams.runtime.repartition_purge import RepartitionPurge

_LOGGER = logging.getLogger(__name__)


class Purging:
    """Sends one request at a time. What fails is tried again with the next interval that finds something new."""

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
