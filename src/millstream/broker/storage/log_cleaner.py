"""Compacts logs in the background: finds the one with the largest dirty part, cleans it,
notes how far it got, looks again.

Owns when, where and how fast; what is cleaned and how is the matter of `log.compaction`. As many logs as
log.cleaner.threads says are cleaned at a time, each in the disk pool in small steps, so that neither the event loop nor
other work of the pool waits long; between two steps the log's owner, the event loop, swaps finished segments in. A log
that cannot be cleaned is set aside, and the others go on.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from millstream.broker.long_work import LongWork
from millstream.broker.services import Partitions
from millstream.broker.storage.disk_pool import DiskPool
from millstream.broker.storage.pace import Pace
from millstream.config_fields import from_keys
from millstream.errors import KafkaStorageError, MillstreamError
from millstream.log.compaction.compaction import Compaction
from millstream.log.compaction.plan import CompactionPlan
from millstream.log.directory.log_directory import LogDirectory
from millstream.log.directory.log_environment import is_broken_disk
from millstream.log.partition_log import PartitionLog
from millstream.net.client.tasks import TaskGroup
from millstream.runtime import Clock

_LOGGER = logging.getLogger(__name__)


def _bytes_for_keys(buffer_bytes: int, load_factor: float, threads: int) -> int:
    """Of one cleaning; all that go on share the buffer."""
    return int(min(buffer_bytes * load_factor, sys.maxsize)) // max(threads, 1)


def _bytes_at_once(buffer_bytes: int, threads: int) -> int:
    """Half of the buffer is for reading, half for writing."""
    return buffer_bytes // max(threads, 1) // 2


@dataclass(frozen=True, slots=True)
class CleanerSettings:
    """The current values of Kafka's `log.cleaner.*`. Limits that all cleanings share are divided by their number."""

    map_bytes_max: int = from_keys(
        "log.cleaner.dedupe.buffer.size",
        "log.cleaner.io.buffer.load.factor",
        "log.cleaner.threads",
        default=120_795_955,
        convert=_bytes_for_keys,
    )
    bytes_per_second_max: float = from_keys(
        "log.cleaner.io.max.bytes.per.second", default=sys.float_info.max
    )
    backoff_ms: int = from_keys("log.cleaner.backoff.ms", default=15_000)
    threads: int = from_keys("log.cleaner.threads", default=1)
    io_bytes: int = from_keys(
        "log.cleaner.io.buffer.size",
        "log.cleaner.threads",
        default=262_144,
        convert=_bytes_at_once,
    )
    """Read at once, and written at once."""


def _starts_within(log: PartitionLog) -> bool:
    """Whether only a checkpoint can say where the log starts, since its first segment begins earlier.

    A cleaning drops tombstones of which it finds no older record from the start on. If the log began earlier again
    after a crash, what they removed would be back: so the checkpoint is written first. (Kafka's cleaner does not wait
    for it.)
    """
    return log.log_start_offset > log.first_segment_offset


@final
class LogCleaner:
    def __init__(
        self,
        partitions: Partitions,
        directory_of: Callable[[PartitionLog], LogDirectory],
        pool: DiskPool,
        clock: Clock,
        settings: Callable[[], CleanerSettings],
        *,
        long_work: LongWork,
    ) -> None:
        """`settings` is asked before each cleaning: they may change while the node runs."""
        self._partitions = partitions
        self._directory_of = directory_of
        self._pool = pool
        self._clock = clock
        self._settings = settings
        self._long_work = long_work
        self._pace = Pace(lambda: settings().bytes_per_second_max)
        self._in_work: set[PartitionLog] = set()
        self._uncleanable: set[PartitionLog] = set()

    @property
    def uncleanable_partitions_count(self) -> int:
        return len(self._uncleanable)

    async def run(self) -> None:
        """Cleans logs until cancelled."""
        async with TaskGroup() as group:
            running: set[asyncio.Task[bool]] = set()
            while True:
                backoff_s = max(self._settings().backoff_ms, 1) / 1000
                while len(running) < self._settings().threads and (
                    found := await self._take_filthiest()
                ):
                    running.add(group.create_task(self._clean_or_set_aside(*found)))
                if not running:
                    await asyncio.sleep(backoff_s)
                    continue
                done, running = await asyncio.wait(
                    running, timeout=backoff_s, return_when=asyncio.FIRST_COMPLETED
                )
                if not all(task.result() for task in done):
                    await asyncio.sleep(backoff_s)

    async def clean_filthiest(self) -> bool:
        """Cleans the log that needs it most; False when none does."""
        found = await self._take_filthiest()
        return found is not None and await self._clean_or_set_aside(*found)

    async def _clean_or_set_aside(self, log: PartitionLog, plan: CompactionPlan) -> bool:
        """False when the disk refused it."""
        try:
            return await self._clean(log, plan)
        except OSError as error:
            log.fail_compaction(error)
            if is_broken_disk(error):
                self._set_aside(log, error)
            else:
                _LOGGER.error("%s could not be compacted: %s", log.partition, error)  # noqa: TRY400 - the sentence says it
            return False  # the disk may be full: the next round tries again
        except Exception as error:  # noqa: BLE001 - whatever the log holds, the others go on; it is logged
            if log.health.failure is None:
                self._set_aside(log, error)
        finally:
            self._in_work.discard(log)
        return True

    def _set_aside(self, log: PartitionLog, error: Exception) -> None:
        self._uncleanable.add(log)
        _LOGGER.error(
            "%s cannot be compacted and is left as it is until the next start: %s",
            log.partition,
            error,
            exc_info=None if isinstance(error, (MillstreamError, OSError)) else error,
        )

    async def _take_filthiest(self) -> tuple[PartitionLog, CompactionPlan] | None:
        """The log counts as one in work from now on."""
        now = self._clock.now()
        hosted = list(self._partitions.all())
        if self._uncleanable:
            self._uncleanable &= {partition.log for _, partition in hosted}
        due: list[tuple[PartitionLog, CompactionPlan]] = []
        async for _, partition in self._long_work.in_turns(hosted):
            log = partition.log
            passed_over = log in self._in_work or log in self._uncleanable
            # What a checkpoint says of a log that was cut does not count until all are written, once a minute: its
            # notes go then.
            passed_over |= _starts_within(log) and bool(log.cut_notes.names)
            if passed_over or not log.config.is_compacted or log.health.failure:
                continue
            try:
                plan = log.plan_compaction(partition.high_watermark, now)
            except Exception as error:  # noqa: BLE001 - see `_clean_or_set_aside`
                self._set_aside(log, error)
                continue
            if plan is not None and plan.is_due:
                due.append((log, plan))
        found = max(due, key=lambda each: each[1].dirty_ratio, default=None)
        if found is not None:
            self._in_work.add(found[0])
        return found

    async def _clean(self, log: PartitionLog, plan: CompactionPlan) -> bool:
        """False when the disk refused to take note of where the log starts."""
        directory = self._directory_of(log)
        try:
            if _starts_within(log):
                await self._pool.run(directory.checkpoint_log_start_offsets)
        except KafkaStorageError as error:
            _LOGGER.error("%s is not compacted: %s", log.partition, error)  # noqa: TRY400 - the sentence says it
            return False
        settings = self._settings()
        compaction = Compaction(
            plan,
            map_bytes_max=settings.map_bytes_max,
            io_bytes=settings.io_bytes,
            now_ms=self._clock.now().wall_ms,
        )
        steps = compaction.steps()
        before = log.size_bytes
        while (step := await self._pool.run(lambda: next(steps, None))) is not None:
            # While a thread copied, the log may have been cut, or have lost segments to retention: it looks
            # whether those that the copy stands for are all there.
            if step.finished is not None and not log.replace_segments(
                step.finished, self._clock.now()
            ):
                _LOGGER.info(
                    "%s changed while it was compacted; the next round begins anew", log.partition
                )
                return True
            await self._pace.maybe_throttle(step.moved_bytes)
        log.complete_compaction(compaction.end_offset, plan.cut_count)
        _LOGGER.info(
            "%s is compacted up to offset %d: %d bytes became %d",
            log.partition, compaction.end_offset, before, log.size_bytes,
        )  # fmt: skip
        try:
            await self._pool.run(directory.checkpoint_cleaner)
        except KafkaStorageError as error:
            _LOGGER.error("%s", error)  # noqa: TRY400 - the sentence says it
        return True
