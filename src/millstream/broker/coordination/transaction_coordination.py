"""The transaction coordinator of this node: the shards of `__transaction_state`, told of every new image.

What transactions do is `coordinator.transaction`; what follows from a decision is `broker.transactions.completion`.
"""

from __future__ import annotations

import logging
from typing import TypeVar, final

from millstream.broker.coordination.coordinator_partition import (
    CoordinatorPartition,
    CoordinatorServices,
)
from millstream.broker.coordination.coordinator_topic import (
    CoordinatorKind,
    CoordinatorTopic,
)
from millstream.broker.coordination.internal_topics import TRANSACTION_STATE
from millstream.broker.services import BackgroundTasks, Partitions
from millstream.broker.transactions.completion import TransactionCompletion
from millstream.broker.transactions.producer_ids import NoProducerIdAtHand, ProducerIds
from millstream.coordinator.result import Caller
from millstream.coordinator.transaction.context import (
    PreparedTransaction,
    TransactionCoordinatorConfig,
)
from millstream.coordinator.transaction.shard import TransactionShard
from millstream.coordinator.transaction.state import (
    TRANSACTION_VERSION,
    TransactionVersion,
)
from millstream.errors import KafkaError
from millstream.metadata.image import MetadataImage
from millstream.model import BrokerId, ProducerId
from millstream.protocol.record_frames import decode_transaction_record

_LOGGER = logging.getLogger(__name__)
ResponseT = TypeVar("ResponseT")


@final
class TransactionCoordination:
    """The transaction coordinator.

    `apply` is to be called with every image, after the node's partitions have followed it.
    """

    def __init__(
        self,
        config: TransactionCoordinatorConfig,
        broker_id: BrokerId,
        producer_ids: ProducerIds,
        completion: TransactionCompletion,
        *,
        partitions: Partitions,
        tasks: BackgroundTasks,
        services: CoordinatorServices,
    ) -> None:
        self._config = config
        self._producer_ids = producer_ids
        self._completion = completion
        self._tasks = tasks
        self._level = TransactionVersion.TV_0
        self._is_reserving = False
        self.shards = CoordinatorTopic(
            CoordinatorKind(
                TRANSACTION_STATE, self._new_shard, decode_transaction_record, self._on_notice
            ),
            broker_id,
            partitions=partitions,
            tasks=tasks,
            services=services,
        )

    def apply(self, image: MetadataImage) -> None:
        """Takes on the partitions this node leads now, lets go of the others; follows the
        finalized transaction.version.
        """
        self._level = TransactionVersion(image.features.get(TRANSACTION_VERSION, 0))
        self.shards.apply(image)
        for partition in self.shards:
            partition.change(self._set_level)

    async def ask(
        self,
        transactional_id: str,
        request: object,
        expected: type[ResponseT],
        caller: Caller,
    ) -> ResponseT:
        """Returns the response of the shard. Raises what it refuses with.

        Raises NotCoordinator, CoordinatorLoadInProgress, CoordinatorNotAvailable when there is no shard to ask, or no
        producer id for it to give. Few need one, and they alone wait for the controller: without it transactions go on.
        """
        try:
            return await self.shards.ask(transactional_id, request, expected, caller)
        except NoProducerIdAtHand:  # nothing has changed then
            await self._reserve()
        return await self.shards.ask(transactional_id, request, expected, caller)

    async def _reserve(self) -> None:
        try:
            await self._producer_ids.reserve()
        except KafkaError as error:
            _LOGGER.info("no producer id is at hand: %s", error)

    def _set_level(self, shard: TransactionShard) -> None:
        shard.level = self._level

    def _new_shard(self, index: int) -> TransactionShard:
        del index
        return TransactionShard(self._config, self._take_producer_id)

    def _take_producer_id(self) -> ProducerId:
        """Raises NoProducerIdAtHand: there will be one soon, also where nobody waits for it, as when a transaction
        that takes too long is ended.
        """
        try:
            return self._producer_ids.take()
        except NoProducerIdAtHand:
            if not self._is_reserving:
                self._is_reserving = True
                self._tasks.start(self._reserve_meanwhile(), "producer ids")
            raise

    async def _reserve_meanwhile(self) -> None:
        try:
            await self._reserve()
        finally:
            self._is_reserving = False

    def _on_notice(
        self, coordinator: CoordinatorPartition[TransactionShard], notice: object
    ) -> None:
        assert isinstance(notice, PreparedTransaction), "the only notice of a transaction shard"
        self._tasks.start(
            self._completion.complete(coordinator, notice),
            f"markers of {notice.transaction.transactional_id}",
        )
