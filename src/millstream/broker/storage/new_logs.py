"""Puts new logs on the disk, one after another, giving way between two: a topic of many partitions
must not stall other requests.

A log that is written before its turn comes is put there by its first append.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import final

from millstream.broker.long_work import LongWork
from millstream.errors import KafkaStorageError
from millstream.log.partition_log import PartitionLog

_LOGGER = logging.getLogger(__name__)


@final
class NewLogs:
    def __init__(self, long_work: LongWork) -> None:
        self._long_work = long_work
        self._pending: deque[PartitionLog] = deque()
        """Never more than the partitions of this broker."""
        self._is_needed = asyncio.Event()

    def __len__(self) -> int:
        return len(self._pending)

    def add(self, log: PartitionLog) -> None:
        self._pending.append(log)
        self._is_needed.set()

    async def run(self) -> None:
        """Creates the files of new logs until cancelled."""
        while True:
            await self._is_needed.wait()
            self._is_needed.clear()
            end_s = await self._long_work.begin()
            while self._pending:
                log = self._pending.popleft()
                try:
                    if log.health.failure is None:
                        log.materialize()
                except KafkaStorageError as error:
                    _LOGGER.error("%s", error)  # noqa: TRY400 - the first append says it again, or succeeds
                del log  # it may be deleted before another one comes
                if self._long_work.now_s() >= end_s:
                    end_s = await self._long_work.next_turn()
