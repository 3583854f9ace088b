"""Sends AlterPartition: what the leaders on this broker want changed goes to the controller, one
request at a time with all of it.

    propose -> waits for the request in flight -> sent with others that wait -> answered

Owns that nothing is given up: an answer may be lost, the request is made again. Decides nothing about partitions:
whoever proposes hears what the controller said of its partition, and reads the rest from the metadata.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Final, final

from millstream.broker.metadata_log.broker_session import BrokerSession
from millstream.broker.services import ControllerClient
from millstream.controller.partitions.alter_partition import ALTER_PARTITION
from millstream.errors import MillstreamError
from millstream.model import BrokerId, Uuid
from millstream.protocol.generated.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionRequestPartitionData,
    AlterPartitionRequestTopicData,
    AlterPartitionResponse,
    AlterPartitionResponsePartitionData,
    BrokerState,
)
from millstream.replication.isr import Alteration

_LOGGER = logging.getLogger(__name__)
_RETRY_S: Final = 0.05
"""Kafka's pause after a request that failed as a whole (`DefaultAlterPartitionManager`)."""
_PER_REQUEST: Final = 500
"""Kafka sends all that wait. When a broker comes back thousands do, and the controller plans and this broker takes each
request in one step: some twenty milliseconds for so many.
"""

PartitionKey = tuple[Uuid, int]
OnAltered = Callable[[AlterPartitionResponsePartitionData], None]


@final
class PartitionAlterations:
    def __init__(
        self, controller: ControllerClient, session: BrokerSession, broker_id: BrokerId
    ) -> None:
        self._controller = controller
        self._session = session
        self._broker_id = broker_id
        self._pending: dict[PartitionKey, tuple[Alteration, OnAltered]] = {}
        """In flight or not: never more than the partitions of this broker."""
        self._is_needed = asyncio.Event()

    def propose(self, alteration: Alteration, on_altered: OnAltered) -> bool:
        """Has an alteration sent; `on_altered` is given the answer.

        False where one of the same partition is not answered yet.
        """
        if alteration.key in self._pending:
            return False
        self._pending[alteration.key] = alteration, on_altered
        self._is_needed.set()
        return True

    async def run(self) -> None:
        """Sends what is pending, until cancelled. To be started once the broker is registered."""
        told = ""
        while True:
            await self._is_needed.wait()
            self._is_needed.clear()
            sent = dict(islice(self._pending.items(), _PER_REQUEST))
            request = self._request(alteration for alteration, _ in sent.values())
            try:
                answer = await self._controller.ask(ALTER_PARTITION, request)
            except MillstreamError as error:
                # It may have altered them all the same. Asked again from the old partition epoch it refuses, and the
                # image tells.
                if str(error) != told:
                    told = str(error)
                    _LOGGER.warning(
                        "the controller altered no partition, it is asked again: %s", error
                    )
            else:
                told = ""
                self._take(answer)
            if self._pending.keys() & sent.keys():  # refused as a whole, or left out of the answer
                await asyncio.sleep(_RETRY_S)
            if self._pending:
                self._is_needed.set()

    def _take(self, answer: AlterPartitionResponse) -> None:
        for topic in answer.topics:
            for altered in topic.partitions:
                # One at a time for each partition: what is pending now is what was sent.
                found = self._pending.pop((topic.topic_id, altered.partition_index), None)
                if found is not None:
                    found[1](altered)

    def _request(self, alterations: Iterable[Alteration]) -> AlterPartitionRequest:
        topics: dict[Uuid, list[AlterPartitionRequestPartitionData]] = {}
        for each in alterations:
            topics.setdefault(each.topic_id, []).append(_partition(each))
        return AlterPartitionRequest(
            broker_id=self._broker_id,
            broker_epoch=self._session.broker_epoch,
            topics=[
                AlterPartitionRequestTopicData(topic_id=topic_id, partitions=partitions)
                for topic_id, partitions in topics.items()
            ],
        )


def _partition(alteration: Alteration) -> AlterPartitionRequestPartitionData:
    return AlterPartitionRequestPartitionData(
        partition_index=alteration.partition,
        leader_epoch=alteration.leader_epoch,
        new_isr_with_epochs=[
            BrokerState(broker_id=broker_id, broker_epoch=broker_epoch)
            for broker_id, broker_epoch in alteration.isr
        ],
        leader_recovery_state=alteration.leader_recovery_state,
        partition_epoch=alteration.partition_epoch,
    )
