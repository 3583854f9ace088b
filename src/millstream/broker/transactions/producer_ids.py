"""Producer ids out of blocks that the controller allocates; a block is asked for when the last one is used up."""

from __future__ import annotations

import asyncio
import logging

from millstream.broker.services import ControllerClient
from millstream.controller.producer_ids import ALLOCATE_PRODUCER_IDS
from millstream.errors import CoordinatorLoadInProgress, KafkaError
from millstream.model import BrokerId, ProducerId
from millstream.protocol.generated.allocate_producer_ids import AllocateProducerIdsRequest

_LOGGER = logging.getLogger(__name__)


class NoProducerIdAtHand(CoordinatorLoadInProgress):
    """The last block is used up. Clients know it as an error to ask again after."""


class ProducerIds:
    """The producer ids of this broker. None is given out twice, by any broker, even after restarts."""

    def __init__(self, controller: ControllerClient, broker_id: BrokerId) -> None:
        self._controller = controller
        self._broker_id = broker_id
        self._broker_epoch = -1
        self._next = 0
        self._end = 0
        self._one_allocates = asyncio.Lock()

    def set_broker_epoch(self, broker_epoch: int) -> None:
        """Notes the broker epoch with which blocks are requested."""
        self._broker_epoch = broker_epoch

    async def next(self) -> ProducerId:
        """Returns the next producer id.

        Raises CoordinatorLoadInProgress where the controller gives none: clients know it as one to ask again after.
        """
        async with self._one_allocates:
            if self._next == self._end:
                try:
                    await self._allocate()
                except KafkaError as error:
                    _LOGGER.info("no producer id is at hand: %s", error)
                    raise CoordinatorLoadInProgress(
                        f"no producer id is at hand ({error}); retry"
                    ) from error
            return self.take()  # nothing is waited for since the look above: there is one

    async def reserve(self) -> None:
        """Returns when there is an id to `take`, although another request may be faster.

        Raises errors of the controller.
        """
        if self._next == self._end:
            async with self._one_allocates:
                if self._next == self._end:
                    await self._allocate()

    def take(self) -> ProducerId:
        """Takes the next id. Raises NoProducerIdAtHand while the next block has not arrived yet.

        On the loop: of the operations of transactions a thread runs only those that add partitions, which take none.
        """
        if self._next == self._end:
            raise NoProducerIdAtHand("no producer id is at hand; retry")
        given = self._next
        self._next += 1
        return ProducerId(given)

    async def _allocate(self) -> None:
        request = AllocateProducerIdsRequest(
            broker_id=self._broker_id, broker_epoch=self._broker_epoch
        )
        # Cancelled here, the block that the controller gives is nobody's: ids have gaps, and are given once.
        block = await self._controller.ask(ALLOCATE_PRODUCER_IDS, request)
        self._next = block.producer_id_start
        self._end = block.producer_id_start + block.producer_id_len
