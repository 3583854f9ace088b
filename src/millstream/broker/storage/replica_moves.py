"""Moves replicas from one data directory of this broker to another, while they are written and read (KIP-113).

    current log ─ copied batch by batch ─▶ future log, in a directory `*-future` ─ caught up, synced ─▶ takes its place

The future log is this module's until it takes over; the last step happens without giving way to other work, so that no
record is written to a log that is about to leave. A move that a restart interrupts begins anew. All moves together keep
to `replica.alter.log.dirs.io.max.bytes.per.second`, but for the last step of each.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, final

from millstream.broker.services import BackgroundTasks, Partitions
from millstream.broker.storage.disk_pool import DiskPool
from millstream.broker.storage.pace import Pace
from millstream.errors import KafkaError, KafkaStorageError
from millstream.log.directory.log_directories import LogDirectories
from millstream.log.directory.log_directory import LogDirectory
from millstream.log.file_range import FileRange
from millstream.log.leader_epochs import UNKNOWN_EPOCH, EpochEnd
from millstream.log.log_health import LogGone
from millstream.log.partition_log import PartitionLog
from millstream.model import TopicPartition
from millstream.replication.divergence import divergence_offset, truncate
from millstream.replication.partition import Partition
from millstream.runtime import Clock, Instant

_LOGGER = logging.getLogger(__name__)
_COPY_BYTES: Final = 1 << 20
_CUT_S: Final = 0.01
"""How soon it is seen that a cut of the log is on the disk; it takes about as long."""
_LAST_STEP_BYTES: Final = 256 * 1024
"""What is copied in one go in the end; until less is missing, the copying gives way."""


@dataclass(slots=True, eq=False)
class _Move:
    hosted: Partition
    future: PartitionLog
    target: LogDirectory
    has_begun: bool = False
    """Whether it has its turn, and a thread may write into the copy."""


@final
class ReplicaMoves:
    def __init__(
        self,
        directories: LogDirectories,
        pool: DiskPool,
        tasks: BackgroundTasks,
        clock: Clock,
        *,
        on_moved: Callable[[Partition, LogDirectory], None],
        copies_at_once: int,
        bytes_per_second_max: Callable[[], float] = lambda: math.inf,
    ) -> None:
        """`on_moved` is told once a replica lives in another directory.

        `copies_at_once`: as many replicas move at a time, the others wait.
        `bytes_per_second_max` may change at any time.
        """
        self._directories = directories
        self._pool = pool
        self._tasks = tasks
        self._clock = clock
        self._on_moved = on_moved
        self._bytes_per_second_max = bytes_per_second_max
        self._pace = Pace(bytes_per_second_max)
        self._copying_now = asyncio.Semaphore(copies_at_once)
        self._moves: dict[TopicPartition, _Move] = {}
        """The move of each replica that moves. A copier that finds another one than its own gives up, also where that
        one goes to the same directory: the replica was to go elsewhere in between, or its topic was made anew while the
        copier waited for its turn, and the copy was begun anew."""

    def move(self, hosted: Partition, target: LogDirectory) -> None:
        """Begins a move, or ends one when `target` is where the replica is. Raises KafkaStorageError."""
        name = hosted.topic_partition
        under_way = self._moves.get(name)
        if self._directories.of(hosted.log) is target:
            self._call_off(name)
        elif under_way is None or under_way.hosted is not hosted or under_way.target is not target:
            self._call_off(name)
            future = target.open_future_log(hosted.log, hosted.topic_id, self._clock.now())
            move = self._moves[name] = _Move(hosted, future, target)
            self._tasks.start(self._run(move), f"move {name}")

    def _call_off(self, name: TopicPartition) -> None:
        """A copier that waits for its turn may wait for hours: nobody is told meanwhile that the replica moves."""
        move = self._moves.pop(name, None)
        if move is not None and not move.has_begun:
            self._drop_copy(move)

    def resume(self, partitions: Partitions) -> None:
        """Resumes moves that the last stop of the broker interrupted."""
        hosted = dict(partitions.all())
        for target in self._directories.for_partitions:
            for name in target.interrupted_moves:
                if name in hosted:
                    self.move(hosted[name], target)

    async def _run(self, move: _Move) -> None:
        name = move.hosted.topic_partition
        try:
            async with self._copying_now:
                move.has_begun = True
                await self._copy_all(move)
        except LogGone:
            return  # its topic was deleted, or another broker has the replica
        except (KafkaError, OSError) as error:
            if self._moves.get(name) is move:  # else its copy was taken away for another one
                _LOGGER.error("%s could not be moved to %s: %s", name, move.target.path, error)  # noqa: TRY400 - the sentence says it
        finally:
            if self._moves.get(name) is move:
                del self._moves[name]
            self._drop_copy(move)

    def _drop_copy(self, move: _Move) -> None:
        """Drops that of a move that has ended.

        Cancelled with the node, a thread may still write into it: the move begins anew at the next start.
        """
        try:
            move.target.drop_future_log(move.future)
        except OSError as error:  # the disk that has ended the move, too
            _LOGGER.error("%s stays until the next start: %s", move.future.directory, error)  # noqa: TRY400 - the sentence says it

    async def _copy_all(self, move: _Move) -> None:
        """Copies until the future log has taken over, or is wanted no more. Raises KafkaError, OSError."""
        hosted, future = move.hosted, move.future
        while self._is_wanted(move):
            if hosted.log.cuts.is_under_way:
                await asyncio.sleep(_CUT_S)
                continue
            if copied := await self._copy(hosted.log, future):
                await self._pace.maybe_throttle(copied)
                continue
            await self._pool.run(partial(future.flush, self._clock.now()))
            # While it was synced the replica may have grown, been cut or left, or be wanted elsewhere.
            if self._is_wanted(move) and self._take_over(hosted, future, move.target):
                _LOGGER.info("%s lives in %s now", hosted.topic_partition, move.target.path)
                return

    def _is_wanted(self, move: _Move) -> bool:
        return (
            self._moves.get(move.hosted.topic_partition) is move
            and move.hosted.log.health.failure is None
            and move.target.failure is None
        )

    async def _copy(self, current: PartitionLog, future: PartitionLog) -> int:
        """One piece of at most what may be copied in a second; 0 when so little is missing
        that the last step can copy it.
        """
        follow_truncation(current, future, self._clock.now())
        if current.readable_bytes(future.log_end_offset, current.log_end_offset) < _LAST_STEP_BYTES:
            return 0
        bytes_max = int(min(_COPY_BYTES, max(self._bytes_per_second_max(), 1)))
        return await self._pool.run(self._copying(current, future, bytes_max))

    def _copying(
        self, current: PartitionLog, future: PartitionLog, bytes_max: int
    ) -> Callable[[], int]:
        now = self._clock.now()
        if future.log_end_offset < current.log_start_offset:
            future.truncate_fully_and_start_at(current.log_start_offset, now)
        records = current.read(future.log_end_offset, bytes_max, current.log_end_offset).records

        def copy() -> int:
            data = records.read() if isinstance(records, FileRange) else records
            if data:
                future.append_as_follower(memoryview(bytearray(data)), now)
            return len(data)

        return copy

    def _take_over(self, hosted: Partition, future: PartitionLog, target: LogDirectory) -> bool:
        """Without giving way.

        False when too much was written since the future log was synced, or a thread is at work on the files.
        """
        current, now = hosted.log, self._clock.now()
        if current.cuts.is_under_way:
            return False
        follow_truncation(current, future, now)
        if current.readable_bytes(future.log_end_offset, current.log_end_offset) > _LAST_STEP_BYTES:
            return False
        while future.log_end_offset < current.log_end_offset:
            self._copying(current, future, _COPY_BYTES)()
        future.flush(now)
        current.flush(now)
        future.delete_records_before(current.log_start_offset)
        future.update_config(current.config)  # its own is that of when the move began
        source = self._directories.of(current)
        # The copy has the name before the log gives it up, as in Kafka. A node that is killed in between finds both,
        # with the same records, and keeps one; the other way round it would find neither: what is called -future or
        # -delete goes at a start.
        target.adopt_future_log(future)
        hosted.log = future
        self._on_moved(hosted, target)
        try:
            source.delete_log(hosted.topic_partition, now, is_synced=True)
        except KafkaStorageError as error:
            _LOGGER.error(  # noqa: TRY400 - the sentence says it
                "%s has moved, and what it leaves stays: %s", hosted.topic_partition, error
            )
        return True


def follow_truncation(current: PartitionLog, future: PartitionLog, now: Instant) -> None:
    """Cuts from the copy what was cut from the log, whose leader did not have it, as a follower cuts its log.

    Raises KafkaStorageError.
    """
    epoch = future.leader_epochs.latest_epoch
    if epoch < 0:
        return
    end = current.leader_epochs.end_offset(epoch, current.log_end_offset)
    if end == UNKNOWN_EPOCH:  # all of that epoch is gone, and every later one
        end = EpochEnd(current.leader_epochs.latest_epoch, current.log_end_offset)
    if end.epoch < epoch or end.end_offset < future.log_end_offset:
        truncate(future, divergence_offset(future, end), now)
