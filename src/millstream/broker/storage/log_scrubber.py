"""Reads all logs again and again, slowly, and compares batches with their checksums: what a disk has changed
is found before it is needed.

    round over all replicas, at `millstream.log.scrub.bytes.per.second` --damage--> `HostedPartitions.note_damage`
    a follower that asks again and again for one offset ------------------------^

The second is looked at soon: the follower has refused what it was sent. Owns when and how fast;
what damage is, the log says.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol, final

from millstream.broker.long_work import LongWork
from millstream.broker.services import Partitions
from millstream.broker.storage.disk_pool import DiskPool
from millstream.broker.storage.pace import Pace
from millstream.errors import KafkaStorageError
from millstream.replication.partition import Partition

if TYPE_CHECKING:
    from millstream.log.partition_log import PartitionLog
    from millstream.log.verification import Damage, VerificationPlan

_LOGGER = logging.getLogger(__name__)
_READ_BYTES: Final = 256 * 1024
"""Read and compared in a thread, in 0.4 ms; in 8 ms where all batches are of one small record, and the loop
shares the interpreter with it."""
_LOOK_AGAIN_S: Final = 1.0
"""How soon it is seen that a setting has changed."""
_LOOK_S: Final = 2.0
"""How often followers are looked for that do not get on."""


class ScrubbedPartitions(Partitions, Protocol):
    def note_damage(self, hosted: Partition, damage: Damage) -> None: ...


@final
class LogScrubber:
    def __init__(
        self,
        partitions: ScrubbedPartitions,
        pool: DiskPool,
        bytes_per_second: Callable[[], float],
        *,
        interval_ms: Callable[[], int],
        long_work: LongWork,
    ) -> None:
        """Both may change at any time. `bytes_per_second`: 0 turns rounds off.

        `interval_ms`: from one round to the next, if there is time.
        """
        self._partitions = partitions
        self._pool = pool
        self._bytes_per_second = bytes_per_second
        self._pace = Pace(bytes_per_second)
        self._interval_ms = interval_ms
        self._long_work = long_work

    async def run(self) -> None:
        """Makes round after round, until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            begin_s = loop.time()
            await self.make_round()
            while not self._is_due(begin_s, loop.time()):  # noqa: ASYNC110 - settings tell nobody that they have changed
                await asyncio.sleep(_LOOK_AGAIN_S)

    def _is_due(self, begin_s: float, now_s: float) -> bool:
        return self._bytes_per_second() > 0 and now_s >= begin_s + self._interval_ms() / 1000

    async def make_round(self) -> None:
        """Verifies what each replica holds.

        One whose damage is known waits to be mended, unless it is alone with it.
        """
        async for _, hosted in self._long_work.in_turns(self._partitions.all()):
            if self._bytes_per_second() <= 0:
                return
            is_alone = hosted.is_leader and len(hosted.isr) == 1
            if hosted.damaged_at is None or is_alone:
                await self._verify(hosted, hosted.log_start_offset, pace=self._pace)

    async def look(self) -> None:
        """Verifies what followers ask for again and again, until cancelled."""
        while True:
            await asyncio.sleep(_LOOK_S)
            async for _, hosted in self._long_work.in_turns(self._partitions.all()):
                for offset in hosted.stuck_offsets if hosted.damaged_at is None else ():
                    await self._verify(hosted, offset, offset + 1)

    async def _verify(
        self,
        hosted: Partition,
        first_offset: int,
        end_offset: int | None = None,
        *,
        pace: Pace | None = None,
    ) -> None:
        """Stops at the first damage. Without a pace as fast as the disk allows.

        What the disk refuses is its log's matter; others go on.
        """
        log, known = hosted.log, hosted.damaged_at
        try:
            plan = log.plan_verification(first_offset, end_offset)
            await self._read(log, plan, pace)
            if log.health.failure is not None:
                return
            damage = log.first_damage(plan)
        except KafkaStorageError as error:
            _LOGGER.error("%s", error)  # noqa: TRY400 - the sentence says it
            return
        except OSError as error:
            log.fail_compaction(error)
            _LOGGER.error("%s cannot be verified: %s", hosted.topic_partition, error)  # noqa: TRY400 - the same
            return
        if hosted.log is not log:
            return  # a move to another directory has ended meanwhile
        if damage is not None:
            if damage.offset != hosted.damaged_at:
                self._partitions.note_damage(hosted, damage)
        elif plan.damage is not None:
            # The log was cut or cleaned while it was read, and what was read of it was perhaps half of either.
            await self._verify(hosted, plan.damage.offset, end_offset, pace=pace)
        elif known is not None and known == hosted.damaged_at:
            # Retention or DeleteRecords has taken the damage of one that had nobody to fetch it from.
            hosted.damaged_at = None

    async def _read(self, log: PartitionLog, plan: VerificationPlan, pace: Pace | None) -> None:
        while not plan.is_done and log.health.failure is None:
            had = plan.read_bytes
            await self._pool.run(partial(plan.read_some, _READ_BYTES))
            if pace is not None:
                await pace.maybe_throttle(plan.read_bytes - had)
