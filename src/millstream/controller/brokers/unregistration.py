"""UnregisterBroker: a broker that will not come back is forgotten."""

from __future__ import annotations

from typing import Final

from millstream.controller.brokers.log_lines import unregistration_lines
from millstream.controller.operation import (
    ControllerApi,
    ControllerContext,
    ControllerResult,
    every_partition,
)
from millstream.controller.partitions.leadership import plan_broker_forgotten
from millstream.errors import BrokerIdNotRegistered, InvalidRequest
from millstream.model import BrokerId
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.metadata_records import UnregisterBrokerRecord
from millstream.protocol.generated.unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)


def plan_unregister_broker(
    context: ControllerContext, request: UnregisterBrokerRequest
) -> ControllerResult[UnregisterBrokerResponse]:
    """Removes a broker's registration.

    Raises BrokerIdNotRegistered, and InvalidRequest for a broker that is alive, which Kafka would cut off.
    """
    broker = context.image.brokers.get(BrokerId(request.broker_id))
    if broker is None:
        raise BrokerIdNotRegistered(f"Broker ID {request.broker_id} is not currently registered")
    if not broker.fenced:
        raise InvalidRequest(f"Broker {request.broker_id} is alive: stop it before it is forgotten")
    record = UnregisterBrokerRecord(broker_id=broker.broker_id, broker_epoch=broker.broker_epoch)
    partitions = plan_broker_forgotten(context.partition_changes(), broker.broker_id)
    return ControllerResult(
        (*partitions, record),
        UnregisterBrokerResponse(error_message=None),
        log_lines=unregistration_lines(broker.broker_id),
    )


UNREGISTER_BROKER: Final = ControllerApi(
    ApiKey.UNREGISTER_BROKER, plan_unregister_broker, every_partition
)
