"""Runs periodic work: checkpoints, retention, deleted files, flushes. One task each, started with the node.

Owns the schedule and where the work runs, not the work: what only writes files runs in the disk pool, what
changes a log on the loop that owns it. A disk that fails one log is that log's matter: it refuses everything
from then on and is logged here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial

from millstream.broker.config.broker_config import BrokerConfig
from millstream.broker.long_work import LongWork
from millstream.broker.requests.failure_log import FailureLog
from millstream.broker.services import BackgroundTasks
from millstream.broker.storage.disk_pool import DiskPool
from millstream.broker.storage.hosted_partitions import HostedPartitions
from millstream.broker.storage.log_flusher import GroupCommitFlusher
from millstream.errors import KafkaStorageError
from millstream.log.directory.log_directories import LogDirectories
from millstream.model import TopicPartition
from millstream.quoting import counted
from millstream.replication.partition import Partition
from millstream.runtime import Clock

_LOGGER = logging.getLogger(__name__)
_DELETED_FILES_INTERVAL_MS = 10_000
_REFUSED_LOGS_INTERVAL_MS = 5_000
_ROLLED_SEGMENTS_INTERVAL_MS = 5_000
_NEVER_MS = (1 << 63) - 1


class BackgroundWork:
    def __init__(
        self,
        directories: LogDirectories,
        partitions: HostedPartitions,
        flusher: GroupCommitFlusher,
        pool: DiskPool,
        clock: Clock,
        *,
        long_work: LongWork,
        failures: FailureLog,
    ) -> None:
        self._directories = directories
        self._partitions = partitions
        self._flusher = flusher
        self._pool = pool
        self._clock = clock
        self._long_work = long_work
        self._failures = failures
        self._written_high_watermarks: dict[TopicPartition, int] = {}

    def start(self, config: BrokerConfig, tasks: BackgroundTasks) -> None:
        initial_ms = config.log_initial_task_delay_ms
        for name, first_ms, interval_ms, work in (
            ("high watermarks", 0, config.replica_high_watermark_checkpoint_interval_ms, self.checkpoint_high_watermarks),
            ("recovery points", initial_ms, config.log_flush_offset_checkpoint_interval_ms, self.checkpoint_recovery_points),
            ("log start offsets", initial_ms, config.log_flush_start_offset_checkpoint_interval_ms, self.checkpoint_start_offsets),
            ("silent producers", initial_ms, config.producer_id_expiration_check_interval_ms, self.forget_producers),
            ("retention", initial_ms, config.log_retention_check_interval_ms, self.maintain_logs),
            ("deleted files", 0, _DELETED_FILES_INTERVAL_MS, self.remove_deleted_files),
            ("refused logs", 0, _REFUSED_LOGS_INTERVAL_MS, self.open_refused_logs),
            ("rolled segments", 0, _ROLLED_SEGMENTS_INTERVAL_MS, self.flush_rolled_segments),
            ("flush.ms", initial_ms, config.log_flush_scheduler_interval_ms, self.flush_overdue_logs),
        ):  # fmt: skip
            if interval_ms < _NEVER_MS:
                tasks.start(self._repeat(work, first_ms, interval_ms), f"background: {name}")
        if config.log_flush_scheduler_interval_ms < _NEVER_MS:
            _LOGGER.info(
                "logs are looked at for flush.ms every %d ms",
                config.log_flush_scheduler_interval_ms,
            )

    async def _repeat(
        self, work: Callable[[], Awaitable[None]], first_ms: int, interval_ms: int
    ) -> None:
        """An interval of 0 means once, as in Kafka."""
        await asyncio.sleep(first_ms / 1000)
        while True:
            await asyncio.sleep(interval_ms / 1000)
            try:
                await work()
            except KafkaStorageError as error:
                _LOGGER.error("%s", error)  # noqa: TRY400 - the sentence says it; the trace would not help
            if interval_ms == 0:
                return

    def high_watermarks(self) -> dict[TopicPartition, int]:
        return {
            topic_partition: partition.high_watermark
            for topic_partition, partition in self._partitions.all()
        }

    async def checkpoint_high_watermarks(self) -> None:
        """Checkpoints high watermarks; writes nothing while none has moved."""
        current = {
            topic_partition: partition.high_watermark
            async for topic_partition, partition in self._all_in_turns()
        }
        if current != self._written_high_watermarks:
            for directory in self._directories:
                await self._pool.run(partial(directory.checkpoint_high_watermarks, current))
            self._written_high_watermarks = current

    async def checkpoint_recovery_points(self) -> None:
        for directory in self._directories:
            await self._pool.run(directory.checkpoint_recovery_points)

    async def checkpoint_start_offsets(self) -> None:
        for directory in self._directories:
            await self._pool.run(directory.checkpoint_log_start_offsets)

    async def forget_producers(self) -> None:
        now, known = self._clock.now(), 0
        async for _, partition in self._all_in_turns():
            partition.log.remove_expired_producers(now)
            known += len(partition.log.producers)
        for directory in self._directories:
            directory.note_known_producers(known)

    async def maintain_logs(self) -> None:
        """Applies retention, log by log. One that is damaged keeps its segments; the others go on."""
        async for topic_partition, partition in self._all_in_turns():
            if partition.log.health.failure is not None:
                continue
            try:
                removed = partition.log.maintain(partition.high_watermark, self._clock.now())
            except Exception as error:  # noqa: BLE001 - one log must not end the upkeep of all; it is logged
                self._failures.of(str(topic_partition), error)
                continue
            if removed:
                _LOGGER.info(
                    "%s: retention has removed %s", topic_partition, counted(removed, "segment")
                )

    async def remove_deleted_files(self) -> None:
        """Removes the files of deleted topics and segments, once file.delete.delay.ms has passed."""
        now = self._clock.now()
        due = [r for directory in self._directories for r in directory.take_due_removals(now)]
        async for _, partition in self._all_in_turns():
            due += partition.log.take_due_removals(now)
        for remove in due:
            try:
                await self._pool.run(remove)
            except OSError as error:
                _LOGGER.error("deleted files stay until the next start: %s", error)  # noqa: TRY400 - the sentence says it

    async def open_refused_logs(self) -> None:
        """Opens logs that the disk refused before: when it was full, it may have room now."""
        self._partitions.open_refused()

    async def flush_rolled_segments(self) -> None:
        """Flushes segments that were rolled, so that a restart after a crash looks at the newest segment only."""
        async for _, partition in self._all_in_turns():
            if partition.log.health.failure is None and partition.log.has_unflushed_segments:
                self._flusher.start_flush(partition.log)

    async def flush_overdue_logs(self) -> None:
        """Flushes logs whose last flush is flush.ms ago. (flush.messages is checked with each append.)"""
        now = self._clock.now()
        async for _, partition in self._all_in_turns():
            if partition.log.health.failure is None and partition.log.flush_is_overdue(now):
                self._flusher.start_flush(partition.log)

    def _all_in_turns(self) -> AsyncIterator[tuple[TopicPartition, Partition]]:
        """Those that were hosted when the walk began: one that is deleted meanwhile has a log that is retired."""
        return self._long_work.in_turns(self._partitions.all())
