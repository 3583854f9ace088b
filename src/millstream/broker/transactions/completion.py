"""Completes transactions that a coordinator has ended: sends markers to every partition until all have one.

Owns the retries. Who leads a partition is asked anew each time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from types import NoneType
from typing import Final, final

from millstream.broker.coordination.coordinator_partition import CoordinatorPartition
from millstream.broker.coordination.coordinator_topic import ask_shard
from millstream.broker.long_work import LongWork
from millstream.broker.services import Metadata
from millstream.broker.transactions.marker_channel import TransactionMarkerChannel
from millstream.coordinator.result import NODE_ITSELF
from millstream.coordinator.transaction.context import MarkersWritten, PreparedTransaction
from millstream.coordinator.transaction.shard import TransactionShard
from millstream.errors import (
    InvalidProducerEpoch,
    KafkaError,
    NotCoordinator,
    TransactionCoordinatorFenced,
)
from millstream.model import TopicPartition
from millstream.quoting import counted
from millstream.records.control import TransactionMarker

_LOGGER = logging.getLogger(__name__)
_RETRY_PAUSE_S: Final = 0.1
"""Ours: doubled at each attempt, up to the next one."""
_RETRY_PAUSE_MAX_S: Final = 5.0
"""A partition whose log is offline may stay so for long."""


@final
class TransactionCompletion:
    def __init__(
        self, markers: TransactionMarkerChannel, metadata: Metadata, long_work: LongWork
    ) -> None:
        self._markers = markers
        self._metadata = metadata
        self._long_work = long_work

    async def complete(
        self, coordinator: CoordinatorPartition[TransactionShard], prepared: PreparedTransaction
    ) -> None:
        """Completes a transaction; gives up only when another coordinator has taken over, which then completes it."""
        transaction = prepared.transaction
        marker = TransactionMarker(
            transaction.producer_id,
            transaction.producer_epoch,
            coordinator.leader_epoch,
            transaction.is_commit,
            transaction.client_version,
        )
        try:
            await self._mark_all(sorted(transaction.partitions), marker, coordinator)
            await _tell(coordinator, prepared)
        except (NotCoordinator, TransactionCoordinatorFenced) as error:
            _LOGGER.info(
                "transaction of %s is completed by another coordinator: %s",
                transaction.transactional_id,
                error,
            )

    async def _mark_all(
        self,
        partitions: Sequence[TopicPartition],
        marker: TransactionMarker,
        coordinator: CoordinatorPartition[TransactionShard],
    ) -> None:
        without = partitions
        pause_s = _RETRY_PAUSE_S
        while (
            not coordinator.is_closed
        ):  # closed, `_tell` finds it so: the next coordinator goes on where the log says
            done = await self._write(without, marker)
            without = [each for each in without if each not in done]
            if not without:
                return
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _RETRY_PAUSE_MAX_S)

    async def _write(
        self, partitions: Sequence[TopicPartition], marker: TransactionMarker
    ) -> set[TopicPartition]:
        """Those that need no marker any more: they have it, or were deleted and the records
        of the transaction with them.

        An old epoch means that this transaction has been ended there. Raises TransactionCoordinatorFenced.
        """
        # A topic that is deleted from here on refuses its marker, and is not there at the next attempt.
        image = self._metadata.image
        existing = [
            each
            async for each in self._long_work.in_turns(partitions)
            if image.partition(*each) is not None
        ]
        done = set(partitions).difference(existing)
        refused: dict[type[KafkaError], list[TopicPartition]] = {}
        refusals = await self._markers.write(existing, marker)
        async for partition, error in self._long_work.in_turns(refusals.items()):
            if error is None or isinstance(error, InvalidProducerEpoch):
                done.add(partition)
            if error is not None:
                refused.setdefault(type(error), []).append(partition)
        for them in refused.values():
            first = them[0]
            _LOGGER.info(
                "not taken by %s: %s; the first is %s: %s",
                counted(len(them), "partition"), marker, first, refusals[first],
            )  # fmt: skip
        for error in refusals.values():
            if isinstance(error, TransactionCoordinatorFenced):
                raise error
        return done


async def _tell(
    coordinator: CoordinatorPartition[TransactionShard], prepared: PreparedTransaction
) -> None:
    """Raises NotCoordinator."""
    while True:
        try:
            await ask_shard(
                coordinator,
                MarkersWritten(prepared.transaction),
                NoneType,
                NODE_ITSELF,
            )
        except NotCoordinator:
            raise
        except KafkaError as error:
            _LOGGER.info("a completed transaction is not noted yet: %s", error)
            await asyncio.sleep(_RETRY_PAUSE_S)
        else:
            return
