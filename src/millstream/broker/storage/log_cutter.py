"""Cuts the logs of followers while the loop goes on: what waits for the disk is done in the pool.

`log.truncation` has the order.

read (pool) ─▶ made, on the loop, if the partition still follows that leader ─▶ settled (pool) ─▶ complete ─▶
whoever wanted it is told
"""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from millstream.broker.services import BackgroundTasks
from millstream.broker.storage.disk_pool import DiskPool
from millstream.log.truncation import LogCut
from millstream.model import LeaderEpoch
from millstream.replication.partition import Partition
from millstream.runtime import Clock


@final
class LogCutter:
    def __init__(self, pool: DiskPool, tasks: BackgroundTasks, clock: Clock) -> None:
        self._pool = pool
        self._tasks = tasks
        self._clock = clock

    def start(
        self, partition: Partition, cut: LogCut, then: Callable[[Exception | None], None]
    ) -> None:
        """Has a cut made that was just planned; `then` is told that it is on the disk, or why it was not made."""
        name = f"cut {partition.topic_partition}"
        self._tasks.start(self._run(partition, cut, partition.leader_epoch, then), name)

    async def _run(
        self,
        partition: Partition,
        cut: LogCut,
        leader_epoch: LeaderEpoch,
        then: Callable[[Exception | None], None],
    ) -> None:
        """Cuts. Cancelled with the node before it is complete, it leaves the rest to whoever closes the log."""
        log = partition.log
        try:
            await self._pool.run(cut.read)
            # An image may have come while it was read: then the partition follows another leader, or leads, and nothing is cut.
            while not partition.make_cut(cut, leader_epoch):
                await self._pool.run(cut.read)
            await self._settle(cut)
            log.cuts.complete(cut, self._clock.now())
        except Exception as error:  # noqa: BLE001 - whoever wanted it logs it
            then(error)
        else:
            then(None)

    async def _settle(self, cut: LogCut) -> None:
        """Returns when a cut that was made is on the disk. Raises KafkaStorageError."""
        try:
            await self._pool.run(cut.settle)
        except OSError as error:
            cut.fail(error)
