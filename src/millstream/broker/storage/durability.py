"""When records that are in a log may be relied on: on the disk where nobody else has them, and on every in-sync replica."""

from __future__ import annotations

import asyncio
from typing import Final

from millstream.broker.node.services import LogFlusher
from millstream.broker.requests.purgatory import Purgatory
from millstream.broker.storage.flush_policy import must_sync
from millstream.replication.partition import ACKS_ALL, Partition

_PAUSE_S: Final = 0.1
_WAIT_MS: Final = 5_000


def is_safe(partition: Partition, end_offset: int, flush_on_ack: str) -> bool:
    """Whether everything below `end_offset` is."""
    is_synced = (
        not must_sync(flush_on_ack, partition, ACKS_ALL, end_offset)
        or partition.log.recovery_point >= end_offset
    )
    return is_synced and partition.high_watermark >= end_offset


async def wait_until_safe(
    partition: Partition,
    end_offset: int,
    flush_on_ack: str,
    *,
    log_flusher: LogFlusher,
    purgatory: Purgatory,
) -> None:
    """As long as this node leads the partition. Raises NotLeaderOrFollower, KafkaStorageError."""
    if must_sync(flush_on_ack, partition, ACKS_ALL, end_offset):
        await log_flusher.flush_to(partition.log, end_offset)
    while partition.high_watermark < end_offset:
        partition.check_leader()
        replicated = purgatory.watch(
            [partition.topic_partition],
            _WAIT_MS,
            lambda _: partition.high_watermark >= end_offset or not partition.is_leader,
        )
        if not await replicated.wait():
            await asyncio.sleep(_PAUSE_S)  # overdue, or too much waits
