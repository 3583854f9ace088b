"""Group-commit fsync: whatever waits for one log shares the next sync of it.

A sync that has begun may not cover what was appended after it began, so a waiter joins at most two: the running one and
the next. The sync itself runs in a task of the node: a client that goes away does not stop it for the others.
"""

from __future__ import annotations

import asyncio

from millstream.broker.metrics.node_metrics import NodeMetrics
from millstream.broker.services import BackgroundTasks
from millstream.broker.storage.disk_pool import DiskPool
from millstream.errors import KafkaStorageError, NotLeaderOrFollower
from millstream.log.partition_log import PartitionLog
from millstream.runtime import Clock


class GroupCommitFlusher:
    """The flusher of logs; implements `node.LogFlusher`."""

    def __init__(
        self, pool: DiskPool, tasks: BackgroundTasks, clock: Clock, metrics: NodeMetrics
    ) -> None:
        self._pool = pool
        self._tasks = tasks
        self._clock = clock
        self._metrics = metrics
        self._running: dict[int, asyncio.Event] = {}
        """By id of the log, whose entry is removed before the log can go."""

    async def flush_to(self, log: PartitionLog, offset: int) -> None:
        """Returns once every record below `offset` is on the disk.

        Raises KafkaStorageError when fsync failed, LogGone when the replica was taken away meanwhile, and
        NotLeaderOrFollower when the log was cut below `offset`.
        """
        while log.recovery_point < offset:
            log.health.check()
            if log.log_end_offset < offset:
                raise NotLeaderOrFollower(
                    f"the records of {log.partition} from offset {log.log_end_offset} on were cut off"
                )
            await self._next_flush(log).wait()

    def start_flush(self, log: PartitionLog) -> None:
        """Brings the log to the disk, while no request waits for it."""
        self._next_flush(log)

    def _next_flush(self, log: PartitionLog) -> asyncio.Event:
        running = self._running.get(id(log))
        if running is None:
            # While the node ends nothing is started any more and nobody sets the event: who waits is cancelled, too.
            running = self._running[id(log)] = asyncio.Event()
            self._tasks.start(self._flush(log, running), f"flush {log.partition}")
        return running

    async def _flush(self, log: PartitionLog, finished: asyncio.Event) -> None:
        """One plan, sync, complete. A failure stays in the log, which refuses everything from then on."""
        try:
            plan = log.plan_flush()
            if plan is not None:
                begin_ns = self._metrics.now_ns()
                try:
                    # Cut meanwhile, the log counts nothing of it as synced (`Unflushed.complete`): one more is made.
                    await self._pool.run(plan.sync)
                except OSError as error:
                    log.fail_flush(plan, error)
                self._metrics.flushes.observe((self._metrics.now_ns() - begin_ns) // 1_000)
                log.complete_flush(plan, self._clock.now())
        except KafkaStorageError:
            assert log.health.failure is not None, "a log that failed to flush refuses everything"
        finally:
            del self._running[id(log)]
            finished.set()
