"""AllocateProducerIds: blocks of ids for idempotent producers, never given out twice."""

from __future__ import annotations

from typing import Final

from millstream.controller.brokers.broker_lifecycle import registered_broker
from millstream.controller.operation import ControllerApi, ControllerContext, ControllerResult
from millstream.errors import UnknownServerError
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from millstream.protocol.generated.metadata_records import ProducerIdsRecord

PRODUCER_ID_BLOCK_SIZE: Final = 1000
"""Kafka's (`ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE`)."""
_PRODUCER_ID_MAX: Final = (1 << 63) - 1


def plan_producer_ids(
    context: ControllerContext, request: AllocateProducerIdsRequest
) -> ControllerResult[AllocateProducerIdsResponse]:
    """Returns the next block. Raises BrokerIdNotRegistered, StaleBrokerEpoch."""
    registered_broker(context.image, request.broker_id, request.broker_epoch)
    first = int(context.image.next_producer_id)
    if first > _PRODUCER_ID_MAX - PRODUCER_ID_BLOCK_SIZE:
        raise UnknownServerError("All producer ids have been given out")
    record = ProducerIdsRecord(
        broker_id=request.broker_id,
        broker_epoch=request.broker_epoch,
        next_producer_id=first + PRODUCER_ID_BLOCK_SIZE,
    )
    response = AllocateProducerIdsResponse(
        producer_id_start=first, producer_id_len=PRODUCER_ID_BLOCK_SIZE
    )
    return ControllerResult((record,), response)


ALLOCATE_PRODUCER_IDS: Final = ControllerApi(ApiKey.ALLOCATE_PRODUCER_IDS, plan_producer_ids)
