"""Closes the logs of a node whose tasks have ended, and looks at the next start whether they are as
they were closed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from functools import partial

from millstream.broker.storage.disk_pool import DiskPool
from millstream.log.directory.log_directories import LogDirectories
from millstream.model import TopicPartition
from millstream.runtime import Instant

_LOGGER = logging.getLogger(__name__)


async def check_closed_directories(directories: LogDirectories, pool: DiskPool) -> None:
    """Looks at directories that were closed in order, before the node registers and before a log is opened.

    Where something is damaged the node registers as one that stopped uncleanly: it must not
    count as having what it had.
    """
    for directory in directories.for_partitions:
        for damage in await pool.run(directory.check_closed_logs):
            _LOGGER.info(
                "%s was closed in order and is damaged, so its replicas count as unclean: %s",
                directory.path,
                damage,
            )


async def close_directories(
    directories: LogDirectories,
    high_watermarks: Mapping[TopicPartition, int],
    broker_epoch: int,
    pool: DiskPool,
    now: Instant,
) -> None:
    """Closes all logs, then writes checkpoints; marks as cleanly shut down the directories of which
    everything is on the disk.

    Syncs several logs at a time.
    """
    for directory in directories:
        closings = [partial(directory.close_log, log, now) for log in directory]
        await asyncio.gather(*map(pool.run, closings))
        await pool.run(partial(directory.close, high_watermarks, broker_epoch, now))
