"""Closes the logs of a node whose tasks have ended: syncs several at a time, then writes checkpoints."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial

from millstream.broker.storage.disk_pool import DiskPool
from millstream.log.directory.log_directories import LogDirectories
from millstream.model import TopicPartition
from millstream.runtime import Instant


async def close_directories(
    directories: LogDirectories,
    high_watermarks: Mapping[TopicPartition, int],
    broker_epoch: int,
    pool: DiskPool,
    now: Instant,
) -> None:
    """Marks as cleanly shut down the directories of which everything is on the disk."""
    for directory in directories:
        closings = [partial(directory.close_log, log, now) for log in directory]
        await asyncio.gather(*map(pool.run, closings))
        await pool.run(partial(directory.close, high_watermarks, broker_epoch, now))
