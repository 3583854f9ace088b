"""Has the controller asked to alter the partitions that this broker leads: who is in sync,
and that a leader has recovered.

    fetch that makes a follower due, image of a leader that recovers, the look at all of them  -->  due  -->  asked  -->  answered

What is due is decided by `Partition.wanted_alteration`; `PartitionAlterations` sends it. Owns that a partition is asked
for once, and again where the answer says so.

A leader has recovered from an unclean election as soon as it leads: its log recovered when it was opened (KIP-704).
Kafka says so with the next change of the ISR. A partition of one replica has none, and would be told as recovering for
ever: here it is said at once.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from itertools import islice
from typing import Final, NamedTuple, final

from millstream.broker.long_work import LongWork
from millstream.broker.metrics.node_metrics import ReplicationMetrics
from millstream.broker.replication.partition_alterations import PartitionAlterations
from millstream.broker.services import Partitions
from millstream.protocol.generated.alter_partition import AlterPartitionResponsePartitionData
from millstream.replication.isr import Alteration, AlterationOutcome
from millstream.replication.partition import Partition
from millstream.runtime import Clock

_LOGGER = logging.getLogger(__name__)
_PER_TURN: Final = 200
"""Ours: asked for in some two milliseconds; after a kill all partitions of a node recover at once."""


class _Asked(NamedTuple):
    wanted: Alteration
    had: int
    """How many replicas were in sync when it was asked for."""
    why: str
    """For the log; empty where the ISR stays."""


@final
class IsrChanges:
    def __init__(
        self,
        alterations: PartitionAlterations,
        clock: Clock,
        lag_max_ms: int,
        metrics: ReplicationMetrics,
    ) -> None:
        self._alterations = alterations
        self._metrics = metrics
        self._clock = clock
        self._interval_s = max(1, lag_max_ms // 2) / 1000
        """As often as Kafka looks: so a follower leaves after one and a half times its limit at the latest."""
        self._due: dict[Partition, None] = {}
        """Partitions to be looked at; never more than this broker leads."""
        self._is_due = asyncio.Event()

    def note_due(self, partition: Partition) -> None:
        """Takes note that a partition may have something to ask for."""
        self._due[partition] = None
        self._is_due.set()

    async def run(self, long_work: LongWork) -> None:
        """Asks for what is due, a few partitions at a time, until cancelled."""
        while True:
            await self._is_due.wait()
            self._is_due.clear()
            while self._due:
                for each in list(islice(self._due, _PER_TURN)):
                    del self._due[each]
                    self._ask(each)
                await long_work.next_turn()

    async def look(self, partitions: Partitions, long_work: LongWork) -> None:
        """Looks now and then for followers that have not been caught up for too long, until cancelled."""
        while True:
            await asyncio.sleep(self._interval_s)
            async for _, each in long_work.in_turns(partitions.all()):
                if each.is_leader and len(each.replicas) > 1:
                    self._ask(each)

    def _ask(self, partition: Partition) -> None:
        now = self._clock.now()
        wanted = partition.wanted_alteration(now)
        if wanted is None:
            return
        # Here, not above: a node by itself has no ISR that changes.
        from millstream.replication.isr_reasons import describe_isr_change

        # Now: when the answer comes, who was slow may have caught up.
        why = describe_isr_change(partition, wanted, now.monotonic_ms)
        asked = _Asked(wanted, len(partition.isr), why)
        if not self._alterations.propose(wanted, partial(self._take_answer, partition, asked)):
            # One of before an election, or of an older state, is on its way still. Its answer ends it, and brings this one up again.
            partition.withdraw_alteration(wanted)

    def _take_answer(
        self, partition: Partition, asked: _Asked, answer: AlterPartitionResponsePartitionData
    ) -> None:
        answered = partition.take_altered(asked.wanted, answer, self._clock.now())
        if not answer.error_code:
            self._tell_altered(partition, asked, answer)
        match answered:
            case AlterationOutcome.ALTERED:
                pass
            case AlterationOutcome.AGAIN:
                self._metrics.failed_isr_updates += 1
                self._alterations.propose(
                    asked.wanted, partial(self._take_answer, partition, asked)
                )
            case AlterationOutcome.STALE:
                self.note_due(partition)
            case AlterationOutcome.NOT_DONE | AlterationOutcome.UNKNOWN:
                self._metrics.failed_isr_updates += 1
                name = partition.topic_partition
                _LOGGER.info("the ISR of %s was not altered: error %d", name, answer.error_code)

    def _tell_altered(
        self, partition: Partition, asked: _Asked, answer: AlterPartitionResponsePartitionData
    ) -> None:
        """Counts and tells what the controller has done.

        An image may have told the partition before the answer came; Kafka counts it then no more.
        """
        self._metrics.isr_expands += len(answer.isr) > asked.had
        self._metrics.isr_shrinks += len(answer.isr) < asked.had
        if asked.why:
            _LOGGER.info(
                "the ISR of %s %s, partition epoch %d",
                partition.topic_partition, asked.why, answer.partition_epoch,
            )  # fmt: skip
